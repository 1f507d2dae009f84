"""Statistics of all classes pooled at once are those that merge one by one."""

from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.core.families.priors._normal_inverse_wishart import MultivariateNormalStatistics


def one_by_one(statistics):
    """The classes merged in their order."""
    classes = [jax.tree.map(lambda a, k=k: a[k : k + 1], statistics) for k in range(len(statistics.count))]
    return reduce(lambda a, b: a.merge(b), classes)


def normal_classes(rng, scale, weight, offset):
    shape = (7, 3)
    count = weight * rng.integers(0, 9, shape).astype(float)
    count[2], count[:, 2] = 0.0, 0.0  # a class without rows, and a column without cells
    mean = np.where(count > 0, scale * (offset + rng.normal(size=shape)), 0.0)
    return NormalStatistics(count, mean, count * (scale * rng.uniform(size=shape)) ** 2)


def covariance_classes(rng, scale, weight, offset):
    count = weight * np.array([3.0, 0.0, 5.0, 1.0, 9.0])
    mean = np.where(count[:, None] > 0, scale * (offset + rng.normal(size=(5, 3))), 0.0)
    half = np.sqrt(count)[:, None, None] * scale * rng.normal(size=(5, 3, 3))
    return MultivariateNormalStatistics(mean, count, half @ half.mT)


@pytest.mark.parametrize("classes", [normal_classes, covariance_classes])
@pytest.mark.parametrize("scale", [1.0, 1e-130, 1e120])
@pytest.mark.parametrize("weight", [1.0, 1e30, 1e-30])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_pooled_at_once_as_one_by_one(rng, classes, scale, weight, offset):
    statistics = classes(rng, scale, weight, offset)
    found, expected = statistics.pool(), one_by_one(statistics)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        # off the diagonal a scatter matrix adds up numbers of either sign
        assert_allclose(one, other, rtol=1e-9, atol=1e-12 * np.abs(other).max())


@pytest.mark.parametrize("classes", [normal_classes, covariance_classes])
def test_pooled_in_single_precision(rng, classes):
    statistics = classes(rng, 1.0, 1.0, 1e3)
    found = jax.jit(lambda s: s.pool())(jax.tree.map(lambda a: a.astype(np.float32), statistics))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(statistics.pool()), strict=True):
        assert_allclose(one, other, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("xp", [np, jnp])
def test_a_constant_stays_one_when_it_is_pooled(xp):
    count, value = xp.asarray([[0.3], [0.0], [7.1], [1e9]]), xp.asarray([[0.1], [0.0], [0.1], [0.1]])
    pooled = NormalStatistics(count, value, 0 * value).pool()
    assert_array_equal(pooled.mean, value[:1])
    assert_array_equal(pooled.squares, 0.0)


def test_a_distant_class_of_little_weight_does_not_blur_the_mean(rng):
    mean = np.r_[1e9, rng.normal(size=5)].astype(np.float32)[:, None]
    count = np.r_[1e-12, np.full(5, 4.0)].astype(np.float32)[:, None]
    pooled = NormalStatistics(count, mean, np.ones_like(mean)).pool()
    assert_allclose(pooled.mean[0], np.average(mean.astype(float), weights=count), atol=1e-6)
