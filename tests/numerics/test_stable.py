"""Logarithms near one against their definitions in extended precision."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from bayesnb.numerics import stable


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
