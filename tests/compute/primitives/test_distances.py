"""Gaussian and Student densities of rows with missing cells are scipy's of the cells that are there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb.compute.jaxpr_numpy._program import _trace
from bayesnb.compute.primitives._distances import (
    Whitening,
    distances,
    log_normal,
    log_student,
    log_student_of_rows,
    whitening,
)
from tests import cases

K, D = 3, 4


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("missing", cases.by_default([0.0, 0.2, 0.9], 0.2))
@pytest.mark.parametrize("shared", [False, True])
def test_densities_are_scipys_of_the_observed_cells(convert, missing, shared, rng):
    loc, half = rng.normal(size=(K, D)), rng.normal(size=(1 if shared else K, D, D + 2))
    covariance, df = half @ half.mT, np.array([[3.0, 7.0, 40.0]])
    x = rng.normal(size=(60, D)) * 3.0
    x[rng.random(x.shape) < missing] = np.nan
    with jax.enable_x64(convert is np.asarray):
        between = distances(whitening(convert(loc), convert(covariance)), convert(x))
        normal, student = map(np.asarray, (log_normal(between), log_student(convert(df), between)))
    digits = {"rtol": 1e-9, "atol": 1e-12} if convert is np.asarray else {"rtol": 1e-4, "atol": 1e-4}
    for n, row in enumerate(x):
        seen = ~np.isnan(row)
        for k in range(K):
            part = loc[k, seen], np.broadcast_to(covariance, (K, D, D))[k][np.ix_(seen, seen)]
            expected = [0.0, 0.0]
            if seen.any():
                expected = [
                    stats.multivariate_normal.logpdf(row[seen], *part),
                    stats.multivariate_t.logpdf(row[seen], *part, df=df[0, k]),
                ]
            assert_allclose([normal[n, k], student[n, k]], expected, **digits)


def test_all_patterns_of_missing_cells_are_one_trace(rng):
    """A trace takes longer than to compute the distances."""
    half = rng.normal(size=(K, D, D + 2))
    whole = Whitening(*map(np.asarray, whitening(np.zeros((K, D)), half @ half.mT)))
    x = rng.normal(size=(400, D))
    x[np.arange(200), rng.integers(0, D, 200)] = np.nan
    x[300:310] = np.nan
    before = _trace.cache_info().misses
    distances(whole, x)
    assert _trace.cache_info().misses <= before + 2  # of the whitening, and of the factors in it


def test_densities_of_rows_are_those_of_distances_by_one_trace_for_any_number_of_rows(rng):
    loc, x = rng.normal(size=(K, D)), rng.normal(size=(60, D)) * 3.0
    x[rng.random(x.shape) < 0.2] = np.nan
    for shared, df in ((False, [[3.0, 7.0, 40.0]]), (True, [[5.0]])):
        half = rng.normal(size=(1 if shared else K, D, D + 2))
        with jax.enable_x64(True):
            whole = Whitening(*map(np.asarray, whitening(loc, half @ half.mT)))
            expected = np.asarray(log_student(np.array(df), distances(whole, x)))
        for some in (slice(0), slice(7), slice(None)):
            assert_allclose(log_student_of_rows(np.array(df), whole, x[some]), expected[some], rtol=1e-12)
        before, seen = _trace.cache_info().misses, x[~np.isnan(x).any(axis=1)]
        for some in (seen, seen[:3]):
            log_student_of_rows(np.array(df), whole, some)
        assert _trace.cache_info().misses == before


@pytest.mark.parametrize("unit", cases.by_default([1e-30, 1.0, 1e10], 1e-30))
@pytest.mark.parametrize("shared", cases.by_default([False, True], False))
def test_far_rows_and_any_unit_are_the_same_in_single_precision(unit, shared, rng):
    """Squares of 1e20, and covariances of 1e-60, are no numbers of float32."""
    loc, half = rng.normal(size=(K, D)), rng.normal(size=(1 if shared else K, D, D + 2))
    whole, df = whitening(unit * loc, unit**2 * (half @ half.mT)), np.array([[3.0, 7.0, 40.0]])
    for missing in (0.0, 0.3):
        x = rng.normal(size=(40, D)) * np.repeat([1e-9, 1.0, 1e9, 1e20, 1e25], 8)[:, None]
        x = (unit * np.where(rng.random(x.shape) < missing, np.nan, x)).astype(np.float32)
        with jax.enable_x64(True):
            exact = np.asarray(log_student(df, distances(whole, x.astype(float))))
        found = jax.jit(lambda x: log_student(jnp.asarray(df, x.dtype), distances(whole, x)))(x)
        assert_allclose(found, exact, rtol=1e-4, atol=1e-3)
