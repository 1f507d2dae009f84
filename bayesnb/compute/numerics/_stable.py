"""Functions that neither cancel nor overflow: log-gamma ratios, logarithms near 1, squares of large numbers, log 0."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._compute import of_numbers
from bayesnb.compute.arrays._placement import Array, on_host

NEVER = -1e30
"""The log of a weight that counts as zero; unlike -inf it has a gradient, and in float32 sums of it are finite."""


def log1p_minus(r: Array) -> Array:
    """log(1 + r) - r without cancellation near 0, r > -1."""
    near = jnp.abs(r) < 0.02
    s = jnp.where(near, r, 0.0)
    series = -s * s * (1 / 2 - s * (1 / 3 - s * (1 / 4 - s * (1 / 5 - s * (1 / 6 - s / 7)))))
    far = jnp.where(near, 1.0, r)
    return jnp.where(near, series, jnp.log1p(far) - far)


def log_ratio_excess(r: Array) -> Array:
    """log(1 + r) - r / (1 + r) without cancellation near 0 or far from it, r > -1; r^2 / 2 near 0."""
    near = jnp.abs(r) < 0.02
    s = jnp.where(near, r, 0.0)
    far = jnp.where(near, 1.0, r)
    return jnp.where(near, log1p_minus(s) + s * s / (1.0 + s), jnp.log1p(far) - far / (1.0 + far))


def log1p_square(z: Array) -> Array:
    """log(1 + z^2), computed as 2 log |z| for large z, whose square could overflow."""
    far = abs(z) > 1e6
    distance = either.minimum(either.where(far, abs(z), 1.0), jnp.finfo(z.dtype).max)
    return either.where(far, 2.0 * either.log(distance), either.log1p(either.square(either.where(far, 0.0, z))))


def squarable(z: Array) -> Array:
    """z, but growing only logarithmically beyond max^0.4 of the precision: squares can be summed, and order is kept."""
    limit, largest = jnp.finfo(z.dtype).max ** 0.4, jnp.finfo(z.dtype).max
    far = jnp.abs(z) > limit
    distance = jnp.clip(jnp.where(far, jnp.abs(z), limit), limit, largest)
    return jnp.where(far, jnp.sign(z) * limit * (1.0 + jnp.log(distance / limit)), z)


def length(z: Array, axis: int) -> Array:
    """The root of sum z^2, which does not overflow; its gradient at 0 is 0."""
    largest = abs(z).max(axis=axis, keepdims=True, initial=0.0)
    largest = largest if on_host(largest) else jax.lax.stop_gradient(largest)
    unit = either.where(largest > 1.0, largest, 1.0)
    return unit.squeeze(axis) * root(either.square(z / unit).sum(axis=axis))


def root(x: Array) -> Array:
    """The square root, whose gradient at 0 is 0."""
    return either.where(x > 0, either.sqrt(either.where(x > 0, x, 1.0)), 0.0)


def safe_log(p: Array) -> Array:
    """log p, or 0 if p is 0: zeros are counted separately. The gradient is finite everywhere."""
    positive = p > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, p, 1.0)), 0.0)


def safe_log1p(x: Array) -> Array:
    """log(1 + x), or 0 if x is -1, as ``safe_log``."""
    inside = x > -1
    return jnp.where(inside, jnp.log1p(jnp.where(inside, x, 0.0)), 0.0)


@of_numbers
def log_gamma_ratio(a: Array, x: Array, unit: Array | float = 1.0) -> Array:
    """log Gamma(a + x) - log Gamma(a) - x log(unit), a > 0, x >= 0, without the cancellation of two large log-gammas.

    Ratios that will be subtracted from each other cancel less if they share a large ``unit``.
    Both arguments are shifted above 8 by the recurrence Gamma(z + 1) = z Gamma(z); there the difference of Stirling's
    series (Abramowitz and Stegun 6.1.41) is formed term by term:
    (a - 1/2) log1p(x / a) + x (log(a + x) - 1) + s(a + x) - s(a), s(z) = 1/(12 z) - 1/(360 z^3) + 1/(1260 z^5) - ...
    """
    a, x = jnp.broadcast_arrays(jnp.asarray(a), jnp.asarray(x))
    a = jnp.where((a == 0) & (x == 0), 1.0, a)  # both are sums of no entries
    base, base_product = _shift(a)
    top, top_product = _shift(a + x)
    step = jnp.where((a < 8) & (a + x >= 8), x - 8, x)
    series = (base - 0.5) * jnp.log1p(step / base) + step * (jnp.log(top / unit) - 1.0)
    shifted = _stirling_tail(top) - _stirling_tail(base) + base_product - top_product
    return series + shifted - jnp.where(step == x, 0.0, (x - step) * jnp.log(unit))


def stirling_log_gamma(z: Array) -> Array:
    """log Gamma(z), z >= 0, from logarithms alone, by the same recurrence and series. Pure JAX."""
    top, product = _shift(z)
    return (top - 0.5) * jnp.log(top) - top + 0.5 * np.log(2.0 * np.pi) + _stirling_tail(top) - product


def _shift(z: Array) -> tuple[Array, Array]:
    """(w, c) with log Gamma(z) = log Gamma(w) - c and w >= 8."""
    small = z < 8
    safe = jnp.where(small, z, 1.0)
    ends = safe * (safe + 7.0)  # (z + 1)(z + 6) = z (z + 7) + 6, and so on
    product = ends * (ends + 6.0) * (ends + 10.0) * (ends + 12.0)
    return jnp.where(small, z + 8.0, z), jnp.where(small, jnp.log(product), 0.0)


def _stirling_tail(z: Array) -> Array:
    inverse = 1.0 / z
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
