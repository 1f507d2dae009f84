"""Products and sums of probabilities in which exact zeros are counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

from bayesnb.compute.numerics._log_prob import LogProb, logsumexp

FINITE = np.log([[0.5, 0.2], [0.1, 0.7]])


@pytest.mark.parametrize("xp", [np, jnp])
def test_sums_with_and_without_known_zeros(xp):
    some, none = LogProb(xp.asarray(FINITE), xp.asarray([[0.0, 1.0], [2.0, 0.0]])), LogProb(xp.asarray(FINITE), None)
    both = none.plus(none)
    assert both.zeros is None
    assert_allclose(both.finite, FINITE + np.log(2), rtol=1e-6)
    for total in (some.plus(none), none.plus(some)):
        assert_array_equal(total.zeros, 0.0)  # possible in one of them
        assert_allclose(total.finite, FINITE + np.log([[2, 1], [1, 2]]), rtol=1e-6)
    again = some.plus(some)
    assert_array_equal(again.zeros, some.zeros)
    assert_allclose(again.finite, FINITE + np.log(2), rtol=1e-6)


@pytest.mark.parametrize("xp", [np, jnp])
def test_impossible_classes(xp):
    """-inf loses to anything possible; among the impossible the fewest zeros win, then the finite part."""
    p = LogProb(xp.array([[0.0, -50.0], [-1.0, -2.0], [0.0, -9.0]]), xp.array([[1.0, 0.0], [2.0, 2.0], [3.0, 2.0]]))
    assert_allclose(p.log(), [[-np.inf, -50.0], [-np.inf, -np.inf], [-np.inf, -np.inf]])
    share = 1 / (1 + np.exp(-1.0))
    assert_allclose(xp.exp(p.normalise()), [[0, 1], [share, 1 - share], [0, 1]], rtol=1e-6)
    assert_allclose(p.times(p).zeros, 2 * p.zeros)


@pytest.mark.parametrize("xp", [np, jnp])
@pytest.mark.parametrize("shape", [(1, 3), (30_000, 7), (50, 1), (40, 5, 6), (0, 4)])
def test_shares_of_rows(rng, xp, shape):
    table = xp.asarray(rng.normal(scale=400.0, size=shape))
    p = LogProb(table, None)
    exact = np.asarray(table, np.float64)
    rtol, atol = (1e-12, 1e-14) if table.dtype == np.float64 else (1e-5, 2e-7)
    assert_allclose(p.shares(), softmax(exact, axis=-1), rtol=rtol, atol=1e-37)
    assert_allclose(p.normalise(), log_softmax(exact, axis=-1), rtol=rtol, atol=atol)


@pytest.mark.parametrize("xp", [np, jnp])
def test_sum_of_probabilities(xp):
    a = LogProb(xp.log(xp.array([0.2, 0.2])), xp.array([0.0, 1.0]))
    b = LogProb(xp.log(xp.array([0.3, 0.3])), xp.array([0.0, 0.0]))
    total = a.plus(b)
    assert_allclose(xp.exp(total.finite), [0.5, 0.3], rtol=1e-6)
    assert_allclose(total.zeros, [0, 0])


@pytest.mark.parametrize("xp", [np, jnp])
def test_logsumexp_of_nothing_possible(xp):
    x = xp.array([[-xp.inf, -xp.inf], [1000.0, 1000.0], [-xp.inf, 0.0]])
    assert_allclose(logsumexp(x), [-np.inf, 1000 + np.log(2), 0.0], rtol=1e-6)


def test_gradient_is_finite_where_everything_is_impossible():
    gradient = jax.jit(jax.grad(lambda x: jnp.where(jnp.isneginf(logsumexp(x)), 0.0, logsumexp(x)).sum()))
    assert np.isfinite(gradient(jnp.array([[-jnp.inf, -jnp.inf], [0.0, -jnp.inf]]))).all()
