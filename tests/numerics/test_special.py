"""Special functions against scipy in float64 and against their own definitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy.special import gammaln, log_softmax, poch, softmax

from bayesnb.numerics import dirichlet, log_gamma, stable
from bayesnb.numerics.log_prob import LogProb, logsumexp
from bayesnb.primitives import products


@pytest.mark.slow
def test_log_gamma_ratio():
    a, x = np.meshgrid([1e-3, 0.5, 1.0, 6.9, 8.0, 50.0, 1e4, 1e7], [0.0, 0.5, 1.0, 2.0, 7.0, 30.0, 1000.0])
    a, x = a.astype(np.float32).astype(np.float64), x.astype(np.float64)
    with np.errstate(over="ignore"):
        exact = np.log(poch(a, x))
    exact = np.where(np.isfinite(exact), exact, gammaln(a + x) - gammaln(a))
    single = log_gamma.log_gamma_ratio(jnp.asarray(a, jnp.float32), jnp.asarray(x, jnp.float32))
    assert_allclose(single, exact, rtol=2e-6, atol=2e-6)
    with jax.enable_x64(True):
        double = log_gamma.log_gamma_ratio(jnp.asarray(a), jnp.asarray(x))
        # five terms of Stirling's series above 8 leave 2e-13; large log-gammas of scipy's own leave more
        assert_allclose(double, exact, rtol=1e-11, atol=1e-11)


def test_log1p_minus():
    r = np.array([-0.99, -0.1, -0.021, -0.019, -1e-6, 0.0, 1e-8, 0.019, 0.021, 3.0], np.float32)
    exact = np.log1p(r.astype(np.longdouble)) - r.astype(np.longdouble)
    assert_allclose(stable.log1p_minus(jnp.asarray(r)), exact.astype(float), rtol=3e-5)
    assert np.isfinite(jax.vmap(jax.grad(stable.log1p_minus))(jnp.asarray(r))).all()


def test_log_ratio_excess():
    """And its slope r / (1 + r)^2, which a sampler follows home from far away."""
    r = np.array([-0.99, -0.021, -0.019, -1e-6, 0.0, 1e-8, 0.019, 0.021, 3.0, 4e7], np.float32)
    x = r.astype(np.longdouble)
    assert_allclose(stable.log_ratio_excess(jnp.asarray(r)), (np.log1p(x) - x / (1 + x)).astype(float), rtol=1e-4)
    slope = jax.vmap(jax.grad(stable.log_ratio_excess))(jnp.asarray(r))
    assert_allclose(slope, (x / (1 + x) ** 2).astype(float), rtol=1e-4)


def test_dirichlet_mode_on_the_edge():
    """Below one the mode is where the counts are; with nothing left it is the mean."""
    mode = dirichlet.dirichlet_mode(jnp.array([[0.5, 3.0, 1.5], [0.2, 0.3, 0.5], [2.0, 3.0, 5.0]]))
    assert_allclose(mode, [[0, 0.8, 0.2], [0.2, 0.3, 0.5], [1 / 7, 2 / 7, 4 / 7]], rtol=1e-6)


def test_dirichlet_mle_leaves_nothing_undefined():
    counts = jnp.array([[2.0, 6.0], [0.0, 0.0]])
    assert_allclose(dirichlet.dirichlet_mle(counts), [[0.25, 0.75], [0.25, 0.75]])
    assert_allclose(dirichlet.dirichlet_mle(jnp.zeros((2, 4))), np.full((2, 4), 0.25))


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
    gradient = jax.grad(lambda x: jnp.where(jnp.isneginf(logsumexp(x)), 0.0, logsumexp(x)).sum())
    assert np.isfinite(gradient(jnp.array([[-jnp.inf, -jnp.inf], [0.0, -jnp.inf]]))).all()


def _some_counts(kind: str) -> np.ndarray:
    x = np.random.default_rng(3).poisson(0.7, size=(60, 5)).astype(float)
    if kind == "a long count":
        x[7, 2] = 5_000.0
    if kind == "parts of counts":
        x[3] += 0.25
    if kind == "rare counts":
        x = np.diag(np.arange(1.0, 6.0))
    if kind == "many of each":
        x = np.tile(np.arange(12.0)[:, None], (5, 5)) * [1, 0, 1, 1, 1]
        x[0, 2] = 40.0
    return x


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["whole", "a long count", "parts of counts", "rare counts", "many of each"])
def test_rising_factorials_of_counts(kind, sparse):
    """Tables of whole counts, and cell by cell where a table would not pay, equal scipy's log-gammas."""
    x, a = _some_counts(kind), np.random.default_rng(4).gamma(1.0, size=(3, 5))
    expected = (gammaln(a[None] + x[:, None]) - gammaln(a[None])).sum(axis=-1)
    got = products.log_rising(a, scipy.sparse.csr_array(x) if sparse else x)
    assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
