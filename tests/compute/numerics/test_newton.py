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


FUNCTIONS = {
    "straight": (lambda x, a: x - a, None),
    "convex": (lambda x, a: jnp.exp(x) - jnp.exp(a), None),
    "flat at the ends": (lambda x, a: jnp.arctan(20.0 * (x - a)), None),
    "triple root": (lambda x, a: (x - a) ** 3, None),
    "wrong slope": (lambda x, a: x - a, -1.0),
    "sign alone": (lambda x, a: jnp.sign(x - a), jnp.nan),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_roots_are_those_of_bisection(name):
    """Also where a step of Newton's method leaves the bounds, or has no number."""
    value, slope = FUNCTIONS[name]
    with jax.enable_x64(True):
        a = jnp.array([0.3, 1.7, 2.999, 0.001])
        lower, upper = jnp.zeros(4), jnp.full(4, 3.0)

        def function(x):
            own, change = jax.jvp(lambda x: value(x, a), (x,), (jnp.ones(4),))
            return own, change if slope is None else slope + 0.0 * x

        found = newton.find_root(function, lower, upper, upper, lambda _: 1e-9)
        expected = [scipy.optimize.bisect(value, 0.0, 3.0, args=(one,), xtol=1e-12) for one in a]
    assert_allclose(found, expected, atol=1e-6 if name == "triple root" else 2e-9)


def test_without_a_change_of_sign_it_is_the_bound():
    with jax.enable_x64(True):
        ends = jnp.full(2, 1e-6), jnp.full(2, 1e6)
        signs = jnp.array([1.0, -1.0])
        for slope in (1e-9, np.nan):  # by Newton's method, and by halving
            found = newton.find_root(
                lambda x, slope=slope: (signs, slope + 0.0 * x),
                *ends,
                jnp.ones(2),
                lambda x: 1e-9 * x,
                lambda low, high: jnp.sqrt(low * high),
            )
            assert_allclose(found, [1e-6, 1e6], rtol=1e-8)
