"""The smallest log odds of a class against another: grids, scipy's optimiser, and random priors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

import bayesnb as nb
from bayesnb.compute.arrays._compute import interpret
from bayesnb.core.results._bounds import class_weights, sites_of
from bayesnb.inspection.sensitivity._dominance import classes_of_rows, smallest_margin
from tests.inspection.sensitivity.credal_sets import fitted, tables

X, Y = tables(rows=20)


def margins(post, x, s, prior=None):
    """min phi of every pair [K, K, N], its slope and the share where it is."""
    return interpret(_margins, sites_of(post, prior), class_weights(post, prior), s, {"x": np.asarray(x)})


def _margins(sites, weights, s, arrays):
    classes = classes_of_rows(sites, weights, arrays)
    rows = jnp.full((1, len(arrays["x"])), s)
    return jax.lax.map(lambda k: smallest_margin(classes.take(k), classes, rows), jnp.arange(3))


def counts_of(post, x, prior):
    """n [K], a [K, D] and b [K, D] of a row of three categories."""
    if prior == "vacuous":
        n, cells = post.statistics.class_counts, post.statistics.blocks["x"].counts
    else:
        n, cells = post.model.class_concentration, post.model.families["x"].concentration
    cells = cells.reshape(3, -1, 3)
    return n, np.take_along_axis(cells, x[None, :, None], axis=2)[..., 0], cells.sum(axis=2)


def phi(n, a, b, one, two, x, z):
    """log odds with x pseudo-rows for class two and z for class one."""
    low = np.log(n[one] + z) + (np.log(a[one]) - np.log(b[one] + z[..., None])).sum(axis=-1)
    return low - np.log(n[two] + x) - (np.log(a[two] + x[..., None]) - np.log(b[two] + x[..., None])).sum(axis=-1)


@pytest.mark.parametrize("prior", [None, "vacuous"])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_it_is_the_least_of_all_ways_to_divide_the_pseudo_rows(prior, columns):
    """Also of those that give some to neither class, or where it has two minima, as with one column."""
    rng = np.random.default_rng(0)
    post = fitted(X[:, :columns] if columns < 5 else np.c_[X, X[:, :1]], Y)
    rows = rng.integers(0, 3, (6, columns))
    for s in (0.3, 2.0, 20.0):
        found, *_ = margins(post, rows, s, prior)
        for n, row in enumerate(rows):
            given = counts_of(post, row, prior)
            if (given[1] == 0).any():
                continue
            x = np.linspace(0.0, s, 4001)
            shares = s * rng.dirichlet([1.0, 1.0, 1.0], 10_000)
            for one, two in np.argwhere(~np.eye(3, dtype=bool)):
                line = phi(*given, one, two, x, s - x)
                best = optimize.minimize_scalar(
                    lambda x, pair=(one, two), given=given, s=s: phi(*given, *pair, np.array(x), np.array(s - x)),
                    bounds=(x[max(line.argmin() - 1, 0)], x[min(line.argmin() + 1, 4000)]),
                    method="bounded",
                    options={"xatol": 1e-11},
                ).fun
                assert_allclose(found[one, two, n], min(best, line.min()), atol=1e-8)
                assert (phi(*given, one, two, shares[:, 0], shares[:, 1]) >= found[one, two, n] - 1e-9).all()


def test_two_minima():
    """Ten categories and few rows: log low first rises and then falls, and a Newton step from the middle goes wrong."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        X, y = rng.integers(0, 10, (4, 3)), np.array([0, 1, 2, 0])
        post = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(10, concentration=rng.uniform(0.2, 3.0))), X, y)
        n = post.model.class_concentration
        cells = post.model.families["x"].concentration.reshape(3, 3, 10)
        a, b = np.take_along_axis(cells, X[:1, :, None], axis=2)[..., 0], cells.sum(axis=2)
        x = np.linspace(0.0, 30.0, 30001)
        found, *_ = margins(post, X[:1], 30.0)
        assert_allclose(found[0, 1, 0], phi(n, a, b, 0, 1, x, 30.0 - x).min(), atol=1e-6, err_msg=str(seed))


def test_powers_and_missing_cells():
    """A power of two is a column twice, and a missing cell a column less, but for what the prior counts twice."""
    post = fitted(X, Y)
    twice = fitted(np.c_[X, X[:, :1]], Y)
    rows = X[:5]
    assert_allclose(
        margins(post.with_powers([2.0, 1.0, 1.0, 1.0]), rows, 3.0)[0],
        margins(twice, np.c_[rows, rows[:, :1]], 3.0)[0],
        atol=1e-6,
    )
    missing = rows.astype(float)
    missing[:, 0] = np.nan
    assert_allclose(margins(post, missing, 3.0)[0], margins(fitted(X[:, 1:], Y), rows[:, 1:], 3.0)[0], atol=1e-6)
    assert_allclose(
        margins(post.with_powers([0.0, 1.0, 1.0, 1.0]), rows, 3.0)[0], margins(post, missing, 3.0)[0], atol=1e-6
    )
