"""Sums over all rooted forests, against the sum one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from bayesnb.compute.primitives import _forest_sums as forest_sums
from bayesnb.compute.primitives._forest_sums import edge_probabilities, log_forest_sum
from tests.learned.forests.oracle import forests

SCALES = (1.0, 30.0, 640.0, 2000.0)


def one_by_one(weights):
    """log Z and the share of each edge."""
    every = list(forests(len(weights)))
    logs = [sum(weights[i, j] for j, i in enumerate(parents) if i >= 0) for parents in every]
    total, shares = logsumexp(logs), np.zeros(weights.shape)
    for parents, log in zip(every, logs, strict=True):
        for j, i in enumerate(parents):
            shares[i, j] += np.exp(log - total) if i >= 0 else 0.0
    return total, shares


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 3), (3, 16), (4, 125), (5, 1296)])
def test_there_are_so_many_forests(size, count):
    assert len(list(forests(size))) == count
    assert_allclose(log_forest_sum(np.zeros((size, size))), np.log(count), rtol=1e-14)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_sum_over_all_forests(size, rng):
    for scale in SCALES:
        weights = rng.uniform(-scale, scale, (size, size))
        total, shares = one_by_one(weights)
        assert_allclose(log_forest_sum(weights), total, rtol=1e-12, atol=1e-13)
        assert_allclose(edge_probabilities(weights), shares, atol=1e-11)
        traced = jax.jit(log_forest_sum)(jnp.asarray(weights))
        assert_allclose(traced, total, rtol=1e-6, atol=1e-6)


def test_two_circles_that_outweigh_all_else():
    """Nodes 0, 1 and 2, 3 determine each other, at thousands of nats; only slight edges lead from pair to pair."""
    weights = np.full((4, 4), -3.0)
    weights[[0, 1], [1, 0]], weights[[2, 3], [3, 2]] = 1000.0, 3000.0
    total, shares = one_by_one(weights)
    assert_allclose(log_forest_sum(weights), total, rtol=1e-15)
    assert_allclose(edge_probabilities(weights), shares, atol=1e-11)


def test_weights_and_their_logarithms_give_the_same(rng):
    weights = rng.normal(size=(7, 20, 20)) * 40
    logs = np.concatenate([weights, np.zeros((7, 1, 20))], axis=1)
    assert_allclose(forest_sums._eliminate_logs(logs), log_forest_sum(weights), rtol=1e-13)


def test_rows_of_tables_and_an_order_of_nodes_do_not_matter(rng):
    weights = rng.normal(size=(3, 2, 6, 6)) * 300
    order = rng.permutation(6)
    found = log_forest_sum(weights)
    assert found.shape == (3, 2)
    assert_allclose(found[1, 1], log_forest_sum(weights[1, 1]), rtol=1e-14)
    assert_allclose(log_forest_sum(weights[..., order[:, None], order]), found, rtol=1e-12)


def test_an_edge_that_is_not_allowed():
    weights = np.array([[0.0, forest_sums.NEVER], [5.0, 0.0]])
    assert_allclose(log_forest_sum(weights), np.logaddexp(0.0, 5.0), rtol=1e-14)
    gradient = jax.jit(jax.grad(lambda w: log_forest_sum(w).sum()))(jnp.asarray(weights))
    assert_allclose(gradient, [[0.0, 0.0], [1 / (1 + np.exp(-5.0)), 0.0]], atol=1e-6)
