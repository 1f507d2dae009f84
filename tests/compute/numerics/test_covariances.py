"""Covariance matrices against scipy's inverse Wishart and NumPyro's divergence, with columns that say nothing."""

from functools import partial

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.numerics import _covariances as covariances
from bayesnb.compute.numerics._one_by_one import factors

D, SEEN = 4, np.array([True, False, True, True])


def matrices(rng, size=3):
    half = rng.normal(size=(size, D, D + 2))
    return half @ half.mT


def log_constant(df, scale):
    """From scipy's density at the unit matrix, where the kernel is exp(-tr S / 2)."""
    return -stats.invwishart.logpdf(np.eye(len(scale)), df, scale) - np.trace(scale) / 2


@pytest.mark.parametrize("seen", [np.ones(D, bool), SEEN])
def test_the_partition_of_an_inverse_wishart_is_scipys(rng, seen):
    df, more, scale, grown = rng.uniform(6.0, 9.0, 3), rng.uniform(1.0, 9.0, 3), matrices(rng), matrices(rng)
    grown[0], more[0] = 3e-4 * scale[0], 0.0  # the prior outweighs the rows
    part = np.ix_(seen, seen)
    expected = [log_constant(d, s[part]) for d, s in zip(df, scale, strict=True)]
    after = [log_constant(d, s[part]) for d, s in zip(df + more, scale + grown, strict=True)]
    every = np.broadcast_to(seen, (3, D))
    grown = np.where(covariances.inside(every), grown, 0.0)
    assert_allclose(interpret(covariances.log_partition_wishart, df, scale, every), expected, rtol=1e-12)
    ratio = interpret(covariances.log_wishart_ratio, df, more, scale, grown, every)
    assert_allclose(ratio, np.subtract(after, expected), rtol=1e-9)


@pytest.mark.parametrize("step", [1.0, 1e-9])
def test_the_excess_of_log_determinants_keeps_its_digits_near_the_old_matrix(rng, step):
    old, count = matrices(rng), np.array([3.0, 0.0, 50.0])
    change = step * old * np.diag(rng.uniform(size=D))
    fitted = count[:, None, None] * old
    found = interpret(covariances.log_determinant_excess, count, fitted, old, old + change, np.ones((3, D), bool))
    # with M = n S it is n (log |I + E| - tr (I + E)^-1 E): n tr E^2 / 2 for small E
    e = np.linalg.solve(old, change)
    exact = np.linalg.slogdet(np.eye(D) + e)[1] - np.trace(np.linalg.solve(np.eye(D) + e, e), axis1=1, axis2=2)
    expected = exact if step == 1.0 else np.trace(e @ e, axis1=1, axis2=2) / 2
    assert_allclose(found, count * expected, rtol=1e-6)


def test_the_divergence_is_numpyros(rng):
    loc, scale = rng.normal(size=(3, D)), matrices(rng)
    with jax.enable_x64(True):
        one = dist.MultivariateNormal(loc[1], scale[1])
        expected = jax.jit(jax.vmap(lambda *other: dist.kl_divergence(one, dist.MultivariateNormal(*other))))(
            loc, scale
        )
    assert_allclose(interpret(partial(covariances.divergence, k=1), loc, scale), expected, rtol=1e-9, atol=1e-12)


def test_whitening_is_the_inverse_of_the_factor(rng):
    scale, vector = matrices(rng), rng.normal(size=(3, D))
    factor, inverse = interpret(factors, scale)
    assert_allclose((factor @ interpret(covariances.whiten, inverse, vector)[..., None])[..., 0], vector, rtol=1e-9)
    assert_allclose(inverse @ scale @ inverse.mT, np.broadcast_to(np.eye(D), scale.shape), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_the_first_singular_matrix_is_found_in_any_unit(rng, unit):
    given = matrices(rng) * unit
    assert covariances.first_singular(given, np.ones(D, bool)) is None
    given[1, 1], given[1, :, 1] = given[1, 0], given[1, :, 0]
    assert covariances.first_singular(given, np.ones(D, bool)) == 1
    assert covariances.first_singular(given, SEEN) is None
