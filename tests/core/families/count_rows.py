"""Counts of three classes, with totals in three forms, and sums worked out on paper."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayesnb as nb

K, N = 3, 30
Y = np.repeat(np.arange(K), [14, 10, 6])
RANDOM = np.random.default_rng(11)
CELLS = {
    "number": np.full((N, 3), 7),
    "columns": np.tile([4, 9, 1], (N, 1)),
    "pair": RANDOM.integers(0, 12, (N, 3)),
}
SUCCESSES = {name: RANDOM.binomial(totals, 0.2 + 0.25 * Y[:, None]) for name, totals in CELLS.items()}
EVENTS = RANDOM.poisson([1.0, 20.0, 0.1] * (1 + Y[:, None]), (N, 3))
FITS = [nb.fit_mle, nb.fit_map, nb.fit_posterior]


def host(x):
    return jax.tree.map(np.asarray, x)


def device(x):
    return jax.tree.map(jnp.asarray, x)


both = pytest.mark.parametrize("lane", [host, device])


def tolerance(lane):
    return {"rtol": 1e-9, "atol": 1e-9} if lane is host or jax.config.jax_enable_x64 else {"rtol": 2e-5, "atol": 2e-4}


def rows(name, successes=None):
    """X as the model takes it: successes, beside their totals where those are not part of the model."""
    x = SUCCESSES[name] if successes is None else successes
    return (x, CELLS[name]) if name == "pair" else x


def sums(x):
    return np.array([x[k == Y].sum(axis=0) for k in range(K)])


def class_counts():
    return np.bincount(Y, minlength=K)


def log_class_mean(counts):
    return np.log((counts + 1) / (counts + 1).sum())
