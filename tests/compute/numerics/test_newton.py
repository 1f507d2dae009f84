"""Newton's method between bounds, many problems at once, against scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.compute.numerics import _newton as newton


@pytest.mark.slow
def test_newton_finds_what_scipy_finds():
    """Six problems of two unknowns at once: curved valleys, saddles at the start, and minima beyond a bound."""
    rng = np.random.default_rng(11)
    turn, target = rng.normal(size=(2, 2, 6)), rng.normal(0, 2, (2, 6))

    def loss(x, xp=jnp, f=slice(None)):
        valley = 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
        bowl = sum((sum(turn[i, j, f] * (x[j] - target[j, f]) for j in range(2))) ** 2 for i in range(2))
        return bowl + 0.01 * valley + xp.cos(x[0] + x[1])

    lower, upper = np.full((2, 6), -1.5), np.full((2, 6), 2.0)
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, newton.minimise(loss, lower, upper, 1e-14, 100))
    assert found.converged
    for f in range(6):
        start = scipy.optimize.brute(lambda x, f=f: loss(x, np, f), [(-1.5, 2.0)] * 2, Ns=50, finish=None)
        polish = scipy.optimize.minimize(
            lambda x, f=f: loss(x, np, f), start, bounds=[(-1.5, 2.0)] * 2, method="L-BFGS-B", options={"ftol": 1e-15}
        )
        assert_allclose(loss(found.x[:, f], np, f), polish.fun, rtol=1e-8, atol=1e-10)
    assert_array_equal(found.at_bound != 0, (found.x == lower) | (found.x == upper))
    assert (found.at_bound != 0).any()
