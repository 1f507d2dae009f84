"""Log-factorials of cells, and differences of log-gammas that keep their digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.placement import Array, on_host
from bayesnb.arrays.sparse import bytes_per_row, cells_by_row, part_of, sums_between
from bayesnb.arrays.threads import in_threads, row_blocks


def log_factorial(x: Array) -> Array:
    """log x! = log Gamma(x + 1), on the host or the device."""
    return either.log_gamma(either.floats(x) + 1.0)


def row_log_factorials(x: Any) -> Array:
    """sum_d log x_nd! of rows, [N]; on the host in float64, for sparse rows too."""
    return _of_rows(_log_factorials_between, x) if on_host(x) else log_factorial(x).sum(axis=-1)


def row_log_coefficients(x: Any) -> Array:
    """log n! - sum_d log x_nd!, n = sum_d x_nd, of rows, [N]; on the host in float64, for sparse rows too."""
    if not on_host(x):
        return log_factorial(x.sum(axis=-1)) - row_log_factorials(x)
    return _of_rows(lambda *cells: log_factorial(sums_between(*cells)) - _log_factorials_between(*cells), x)


def _of_rows(function: Callable[[Array, Array], Array], x: Any) -> Array:
    """``function`` of cells and row pointers, by blocks of numpy or sparse rows."""
    parts = in_threads(lambda rows: function(*cells_by_row(part_of(x, rows))), row_blocks(x.shape[0], bytes_per_row(x)))
    return np.concatenate(parts) if parts else np.zeros(0)


def _log_factorials_between(cells: Array, pointers: Array) -> Array:
    return sums_between(log_factorial(cells), pointers)


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
