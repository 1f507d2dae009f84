"""Functions that neither cancel nor overflow: logarithms near 1, squares of large numbers, log 0 as 0."""

from __future__ import annotations

import jax.numpy as jnp

from bayesnb.arrays.placement import Array

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
    far = jnp.abs(z) > 1e6
    distance = jnp.minimum(jnp.where(far, jnp.abs(z), 1.0), jnp.finfo(z.dtype).max)
    return jnp.where(far, 2.0 * jnp.log(distance), jnp.log1p(jnp.square(jnp.where(far, 0.0, z))))


def squarable(z: Array) -> Array:
    """z, but growing only logarithmically beyond max^0.4 of the precision: squares can be summed, and order is kept."""
    limit, largest = jnp.finfo(z.dtype).max ** 0.4, jnp.finfo(z.dtype).max
    far = jnp.abs(z) > limit
    distance = jnp.clip(jnp.where(far, jnp.abs(z), limit), limit, largest)
    return jnp.where(far, jnp.sign(z) * limit * (1.0 + jnp.log(distance / limit)), z)


def sum_of_squares(z: Array, axis: int) -> Array:
    """sum z^2, but beyond max^0.4 of the precision an increasing function of the length that does not overflow."""
    limit = jnp.finfo(z.dtype).max ** 0.4
    largest = jnp.abs(z).max(axis=axis, keepdims=True, initial=0.0)
    far = largest > limit
    near = jnp.square(jnp.where(far, 0.0, z)).sum(axis=axis)
    unit = jnp.where(far, z / jnp.where(far, largest, 1.0), 1.0)
    length = largest * jnp.sqrt(jnp.square(unit).sum(axis=axis, keepdims=True))
    return jnp.where(far, jnp.square(squarable(jnp.where(far, length, 0.0))), 0.0).sum(axis=axis) + near


def safe_log(p: Array) -> Array:
    """log p, or 0 if p is 0: zeros are counted separately. The gradient is finite everywhere."""
    positive = p > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, p, 1.0)), 0.0)


def safe_log1p(x: Array) -> Array:
    """log(1 + x), or 0 if x is -1, as ``safe_log``."""
    inside = x > -1
    return jnp.where(inside, jnp.log1p(jnp.where(inside, x, 0.0)), 0.0)
