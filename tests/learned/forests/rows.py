"""Rows of mixed columns that depend on each other, few enough for an oracle."""

import numpy as np

import bayesnb as nb

N, K = 14, 2
Y = np.arange(N) % K
BLOCKS = {
    "numbers": nb.Normal(strength=[1.0, 2.0], shape=[1.0, 1.5]),
    "flags": nb.Bernoulli(2.0, 0.5),
    "kinds": nb.Categorical((3, 2), concentration=[0.5, 1.0, 2.0, 1.0, 1.0]),
}
MODEL = nb.NaiveBayes(BLOCKS, class_concentration=2.0)


def _rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    flags = rng.integers(0, 2, (N, 1))
    kinds = np.c_[np.minimum(rng.integers(0, 3, N), 2 - flags[:, 0]), rng.integers(0, 2, N)]
    numbers = rng.normal(size=(N, 2)) @ [[1.0, 0.9], [0.0, 0.5]] + Y[:, None] + flags
    return {"numbers": numbers, "flags": flags, "kinds": kinds}


X = _rows()


def part(index, of=X):
    return {name: x[index] for name, x in of.items()}


def copies(rng, num_rows):
    """Two classes that differ in one column, of which there are six noisy copies: pairs, and not all alike."""
    y = np.arange(num_rows) % 2
    x = rng.normal(size=(num_rows, 1)) + 0.7 * y[:, None]
    return x + 0.3 * rng.normal(size=(num_rows, 6)), y


def log_loss(fit, x, y):
    return -fit.predict_log_proba(x)[np.arange(len(y)), y].mean()
