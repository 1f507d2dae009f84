"""Rows of three classes whose probabilities are others than those of the fit."""

import numpy as np

import bayesnb as nb

CENTRES = np.array([[0.0, 0.0], [1.0, 0.5], [0.5, 2.0]])
SHIFTED = np.array([0.1, 0.7, 0.2])
KNOWN = nb.PointEstimate(
    nb.NaiveBayes(nb.Normal()), {"class_probs": [0.4, 0.3, 0.3], "x_loc": CENTRES, "x_variance": np.ones((3, 2))}
)
TABLE = KNOWN.with_class_probs([1 / 3] * 3)


def rows(probs, num_rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(CENTRES[rng.choice(3, size=num_rows, p=probs)], 1.0)


def by_em(X, pseudo=0.0, steps=20_000):
    """The class probabilities of Saerens, Latinne and Decaestecker's iteration, with pseudo-counts for the MAP."""
    likelihood, probs = TABLE.predict_proba(X), np.full(3, 1 / 3)
    for _ in range(steps):
        share = probs * likelihood
        counts = (share / share.sum(axis=1, keepdims=True)).sum(axis=0) + pseudo
        probs = counts / counts.sum()
    return probs
