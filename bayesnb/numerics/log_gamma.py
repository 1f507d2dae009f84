"""Differences of log-gammas that keep their digits."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array


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
