"""The weights of segments of bins by scipy's log-gammas, by both bodies, and rows that leave a Histogram."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

import bayesnb as nb
from bayesnb.compute.primitives._segment_weights import segment_weights


@pytest.mark.parametrize("by_jax", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_weights_are_ratios_of_gammas(by_jax, size, rng):
    mass, totals = rng.dirichlet(np.ones(5), 3), np.array([1.0, 4.0])
    counts = np.floor(size * rng.gamma(1.0, 2.0, (2, 3, 5)))
    with jax.enable_x64(True):
        weights, rest = (jax.jit(segment_weights) if by_jax else segment_weights)(
            mass, counts, np.tile(totals[:, None], 3)
        )
    rows = counts.sum(axis=-1)
    for a, d in np.ndindex(2, 3):
        unit = totals[a] + rows[:, d]
        whole = gammaln(totals[a]) - gammaln(unit) + rows[:, d] * np.log(unit)
        assert_allclose(rest[a, d], whole.sum(), rtol=1e-8, atol=1e-8)
        for i in range(5):
            for j in range(i, 5):
                q, c = mass[d, i : j + 1].sum(), counts[:, d, i : j + 1].sum(axis=-1)
                expected = gammaln(totals[a] * q + c) - gammaln(totals[a] * q) - c * np.log(q * unit)
                assert_allclose(weights[a, d, i, j], expected.sum(), rtol=1e-8, atol=1e-8 * size)


@pytest.mark.parametrize(
    "weight", [pytest.param(1.0, marks=pytest.mark.slow), 7.0, pytest.param(60.0, marks=pytest.mark.slow)]
)
def test_rows_leave_with_their_weight_as_if_they_had_never_been(weight, rng):
    X, y = rng.normal(size=(40, 2)) + np.arange(40)[:, None] % 2, np.arange(40) % 2
    weights = np.where(np.arange(40) < 8, weight, 1.0)
    prior = nb.NaiveBayes(nb.Histogram(cells=9)).resolve(X, y, sample_weight=weights)
    left = nb.leave_one_out(prior, X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(40), weights.astype(int))
    for n in (0, 3, 20):
        others = np.arange(40) != n
        refit = nb.fit_posterior(prior, X[others], y[others], sample_weight=weights[others])
        assert_allclose(left[n], refit.predict_log_proba(X[n : n + 1])[0], rtol=1e-9)
        rows = repeated[repeated != n]
        assert_allclose(
            left[n], nb.fit_posterior(prior, X[rows], y[rows]).predict_log_proba(X[n : n + 1])[0], rtol=1e-9
        )


def test_rows_of_many_weights_leave_as_if_they_had_never_been(rng):
    """As many weights as rows, some of which outweigh all others: no table of weights, and nothing vanishes."""
    X, y = rng.normal(size=(30, 2)) + np.arange(30)[:, None] % 3, np.arange(30) % 3
    X[4, 1] = np.nan
    weights = rng.gamma(1.0, 3.0, 30) + 1e-3
    weights[:6] *= 1e4
    prior = nb.NaiveBayes(nb.Histogram(cells=9)).resolve(X, y, sample_weight=weights)
    left = nb.leave_one_out(prior, X, y, sample_weight=weights)
    for n in (0, 3, 4, 7, 20):
        others = np.arange(30) != n
        refit = nb.fit_posterior(prior, X[others], y[others], sample_weight=weights[others])
        assert_allclose(left[n], refit.predict_log_proba(X[n : n + 1])[0], rtol=1e-8)
