"""Logarithms near one against their definitions in extended precision, and ratios of gamma functions against scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln, poch

from bayesnb.compute.numerics import _stable as stable


def test_log1p_minus():
    r = np.array([-0.99, -0.1, -0.021, -0.019, -1e-6, 0.0, 1e-8, 0.019, 0.021, 3.0], np.float32)
    exact = np.log1p(r.astype(np.longdouble)) - r.astype(np.longdouble)
    assert_allclose(stable.log1p_minus(jnp.asarray(r)), exact.astype(float), rtol=3e-5)
    assert np.isfinite(jax.jit(jax.vmap(jax.grad(stable.log1p_minus)))(jnp.asarray(r))).all()


def test_log_ratio_excess():
    """And its slope r / (1 + r)^2, which a sampler follows home from far away."""
    r = np.array([-0.99, -0.021, -0.019, -1e-6, 0.0, 1e-8, 0.019, 0.021, 3.0, 4e7], np.float32)
    x = r.astype(np.longdouble)
    assert_allclose(stable.log_ratio_excess(jnp.asarray(r)), (np.log1p(x) - x / (1 + x)).astype(float), rtol=1e-4)
    slope = jax.jit(jax.vmap(jax.grad(stable.log_ratio_excess)))(jnp.asarray(r))
    assert_allclose(slope, (x / (1 + x) ** 2).astype(float), rtol=1e-4)


@pytest.mark.slow
def test_log_gamma_ratio():
    a, x = np.meshgrid([1e-3, 0.5, 1.0, 6.9, 8.0, 50.0, 1e4, 1e7], [0.0, 0.5, 1.0, 2.0, 7.0, 30.0, 1000.0])
    a, x = a.astype(np.float32).astype(np.float64), x.astype(np.float64)
    with np.errstate(over="ignore"):
        exact = np.log(poch(a, x))
    exact = np.where(np.isfinite(exact), exact, gammaln(a + x) - gammaln(a))
    single = stable.log_gamma_ratio(jnp.asarray(a, jnp.float32), jnp.asarray(x, jnp.float32))
    assert_allclose(single, exact, rtol=2e-6, atol=2e-6)
    with jax.enable_x64(True):
        double = stable.log_gamma_ratio(jnp.asarray(a), jnp.asarray(x))
        # five terms of Stirling's series above 8 leave 2e-13; large log-gammas of scipy's own leave more
        assert_allclose(double, exact, rtol=1e-11, atol=1e-11)
