"""Bounds of shares: the formula in logarithms, whatever the numbers' range, and JAX's body beside numpy's."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from bayesnb.compute.primitives._bounded_shares import Weights, bound_shares


def by_logarithms(weights, logs):
    """Entry by entry, [N, K], by sums of logarithms."""
    fewest, most, others, worst = (np.log(np.asarray(part, float)) for part in weights)
    low, high = np.split(logs, 2, axis=1)
    found = np.empty((2, *low.shape))
    for k in range(low.shape[1]):
        rest = np.delete(np.arange(low.shape[1]), k)
        of_others = logsumexp(np.c_[others[rest] + high[:, rest], worst + high[:, rest].max(axis=1)], axis=1)
        for at, own, less in (
            (0, fewest[k] + low[:, k], of_others),
            (1, most[k] + high[:, k], logsumexp(fewest[rest] + low[:, rest], axis=1)),
        ):
            share = np.exp(own - np.logaddexp(own, less))
            found[at, :, k] = np.where(np.isneginf(own), 0.0, share)
    return found


@pytest.mark.parametrize("scale", [1.0, 30.0, 3000.0])
@pytest.mark.parametrize("num_rows", [7, 5000])
def test_any_range_of_logarithms(scale, num_rows):
    rng = np.random.default_rng(0)
    low = scale * rng.normal(size=(num_rows, 5))
    logs = np.c_[low, low + scale * rng.random((num_rows, 5))]
    logs[1, 0] = -np.inf
    logs[2, :5] = -np.inf  # any class may be impossible
    logs[3, 5:] = logs[3].max()  # a tie
    counts = np.array([1.0, 1e5, 3.0, 0.5, 20.0])
    weights = Weights(counts, counts + 2.0, counts, np.array(2.0))
    with np.errstate(divide="ignore"):
        expected = by_logarithms(weights, logs)
    assert_allclose(bound_shares(weights, logs), expected, rtol=1e-12, atol=1e-100)


def test_a_class_without_weight_and_a_single_class():
    counts = np.array([0.0, 1.0])
    low, high = bound_shares(Weights(counts, counts, counts, np.array(0.0)), np.array([[5.0, 0.0, 6.0, 1.0]]))
    assert low.tolist() == high.tolist() == [[0.0, 1.0]]
    one = np.ones(1)
    assert [part.tolist() for part in bound_shares(Weights(one, one, one, one[0]), np.array([[-900.0, -800.0]]))] == [
        [[1.0]],
        [[1.0]],
    ]


def test_of_jax_they_are_the_same():
    rng = np.random.default_rng(1)
    low = 3.0 * rng.normal(size=(40, 4))
    logs, counts = np.c_[low, low + rng.random((40, 4))], np.array([3.0, 1e4, 5.0, 2.0])
    weights = Weights(counts, counts + 1.0, counts + 1.0, np.array(0.5))
    found = jax.jit(bound_shares)(weights, logs)
    assert_allclose(found, bound_shares(weights, logs), rtol=1e-4)
    assert np.isfinite(jax.jit(bound_shares)(weights, 1000.0 * logs)).all()
