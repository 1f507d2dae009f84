"""Special functions: log-gamma differences that keep their digits, and the Dirichlet's mode, mean and log partition."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.scipy.special import gammaln

from bayesnb.arrays import Array, in_threads, on_host, row_blocks
from bayesnb.compiled import compiled
from bayesnb.sparse import bytes_per_row, cells_by_row, part_of, sums_between

MANY = 1000
"""Numbers for which a table of as many log-factorials is worth its while."""

Total = Callable[[Array], Array]
"""Sums the entries of each simplex, in a shape that broadcasts against them."""


def total(x: Array) -> Array:
    """The sum over the last axis, which is kept."""
    return x.sum(axis=-1, keepdims=True)


def log_factorial(x: Array) -> Array:
    """log x! = log Gamma(x + 1), on the host or the device."""
    if on_host(x):
        return _host_log_factorial(np.asarray(x))
    return gammaln(jnp.asarray(x, jnp.promote_types(x.dtype, jnp.result_type(float))) + 1.0)


def _host_log_factorial(x: Array) -> Array:
    """By a table where many numbers are small and whole."""
    if x.size > MANY and x.dtype.kind in "fiu":
        out = np.empty(x.shape)
        if _looked_up(x.ravel(), _log_factorials(), out.reshape(-1)):
            return out
    return scipy.special.gammaln(np.add(x, 1.0, dtype=np.float64))


@compiled
def _looked_up(x: Array, table: Array, out: Array) -> bool:
    """out_i = table[x_i]; False, with a part done, at the first number that is no index."""
    for i in range(x.shape[0]):
        if not (0 <= x[i] < table.shape[0] and x[i] == np.floor(x[i])):
            return False
        out[i] = table[int(x[i])]
    return True


@compiled
def _add_looked_up(cells: Array, pointers: Array, table: Array, out: Array) -> bool:
    """out_n = sum of table[cell] from one pointer to the next; False, with a part done, where a cell is no index."""
    for n in range(out.shape[0]):
        total = 0.0
        for i in range(np.uintp(pointers[n]), np.uintp(pointers[n + 1])):
            cell = cells[i]
            if not (0 <= cell < table.shape[0] and cell == np.intp(cell)):
                return False
            total += table[np.uintp(cell)]
        out[n] = total
    return True


@cache
def _log_factorials() -> Array:
    """log 0!, log 1!, ... log (MANY - 1)!"""
    return scipy.special.gammaln(np.arange(1.0, MANY + 1.0))


def row_log_factorials(x: Any) -> Array:
    """sum_d log x_nd! of rows, [N]; on the host in float64, also of sparse rows."""
    return _of_rows(_log_factorials_between, x) if on_host(x) else log_factorial(x).sum(axis=-1)


def row_log_coefficients(x: Any) -> Array:
    """log n! - sum_d log x_nd!, n = sum_d x_nd, of rows, [N]; on the host in float64, also of sparse rows."""
    if not on_host(x):
        return log_factorial(x.sum(axis=-1)) - row_log_factorials(x)
    return _of_rows(lambda *cells: log_factorial(sums_between(*cells)) - _log_factorials_between(*cells), x)


def _of_rows(function: Callable[[Array, Array], Array], x: Any) -> Array:
    """``function`` of cells and of where each row begins in them, by blocks of numpy or sparse rows."""
    parts = in_threads(lambda rows: function(*cells_by_row(part_of(x, rows))), row_blocks(x.shape[0], bytes_per_row(x)))
    return np.concatenate(parts) if parts else np.zeros(0)


def _log_factorials_between(cells: Array, pointers: Array) -> Array:
    sums = np.empty(len(pointers) - 1)
    if cells.dtype.kind in "fiu" and _add_looked_up(cells, pointers, _log_factorials(), sums):
        return sums
    return sums_between(log_factorial(cells), pointers)


def log_gamma_ratio(a: Array, x: Array, unit: Array | float = 1.0) -> Array:
    """log Gamma(a + x) - log Gamma(a) - x log(unit), a > 0, x >= 0, without the cancellation of two large log-gammas.

    Ratios that are to be subtracted from each other have little left to cancel where they have a large ``unit``.
    Both arguments are shifted above 8 by the recurrence Gamma(z + 1) = z Gamma(z); there the difference of Stirling's
    series (Abramowitz and Stegun 6.1.41) is formed term by term:
    (a - 1/2) log1p(x / a) + x (log(a + x) - 1) + s(a + x) - s(a), s(z) = 1/(12 z) - 1/(360 z^3) + 1/(1260 z^5) - ...
    """
    a, x = jnp.broadcast_arrays(jnp.asarray(a), jnp.asarray(x))
    a = jnp.where((a == 0) & (x == 0), 1.0, a)  # the sums of no entries
    base, base_product = _shifted(a)
    top, top_product = _shifted(a + x)
    step = jnp.where((a < 8) & (a + x >= 8), x - 8, x)
    series = (base - 0.5) * jnp.log1p(step / base) + step * (jnp.log(top / unit) - 1.0)
    shifted = _stirling_tail(top) - _stirling_tail(base) + base_product - top_product
    return series + shifted - jnp.where(step == x, 0.0, (x - step) * jnp.log(unit))


def _shifted(z: Array) -> tuple[Array, Array]:
    """(w, c) with log Gamma(z) = log Gamma(w) - c and w >= 8."""
    small = z < 8
    safe = jnp.where(small, z, 1.0)
    product = safe
    for j in range(1, 8):
        product = product * (safe + j)
    return jnp.where(small, z + 8.0, z), jnp.where(small, jnp.log(product), 0.0)


def _stirling_tail(z: Array) -> Array:
    inverse = 1.0 / z
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))


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
    """log(1 + z^2), which is 2 log |z| where the square would overflow."""
    far = jnp.abs(z) > 1e6
    distance = jnp.minimum(jnp.where(far, jnp.abs(z), 1.0), jnp.finfo(z.dtype).max)
    return jnp.where(far, 2.0 * jnp.log(distance), jnp.log1p(jnp.square(jnp.where(far, 0.0, z))))


def squarable(z: Array) -> Array:
    """z itself, and beyond max^0.4 of the precision a logarithm of it: squares add up, and farther stays farther."""
    limit, largest = jnp.finfo(z.dtype).max ** 0.4, jnp.finfo(z.dtype).max
    far = jnp.abs(z) > limit
    distance = jnp.clip(jnp.where(far, jnp.abs(z), limit), limit, largest)
    return jnp.where(far, jnp.sign(z) * limit * (1.0 + jnp.log(distance / limit)), z)


def sum_of_squares(z: Array, axis: int) -> Array:
    """sum z^2, and beyond max^0.4 of the precision a growing function of the length: farther stays farther."""
    limit = jnp.finfo(z.dtype).max ** 0.4
    largest = jnp.abs(z).max(axis=axis, keepdims=True, initial=0.0)
    far = largest > limit
    near = jnp.square(jnp.where(far, 0.0, z)).sum(axis=axis)
    unit = jnp.where(far, z / jnp.where(far, largest, 1.0), 1.0)
    length = largest * jnp.sqrt(jnp.square(unit).sum(axis=axis, keepdims=True))
    return jnp.where(far, jnp.square(squarable(jnp.where(far, length, 0.0))), 0.0).sum(axis=axis) + near


def safe_log(p: Array) -> Array:
    """log p, and 0 where p is 0: the zeros are counted beside it. The gradient is finite everywhere."""
    positive = p > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, p, 1.0)), 0.0)


def safe_log1p(x: Array) -> Array:
    """log(1 + x), and 0 where x is -1, as ``safe_log``."""
    inside = x > -1
    return jnp.where(inside, jnp.log1p(jnp.where(inside, x, 0.0)), 0.0)


def dirichlet_mean(concentration: Array, total: Total = total) -> Array:
    """E[theta] = a / sum a."""
    return concentration / total(concentration)


def dirichlet_mode(concentration: Array, total: Total = total) -> Array:
    """argmax of Dirichlet(a): max(a - 1, 0) renormalised, and the mean where that is all zero.

    For a >= 1 it is the mode (a - 1) / (sum a - C), in the space of the simplex; below 1 the density is unbounded on
    the edge, and this is the edge that holds the counts.
    """
    raised = jnp.maximum(concentration - 1.0, 0.0)
    return _share(jnp.where(total(raised) > 0, raised, concentration), total)


def dirichlet_mle(counts: Array, total: Total = total) -> Array:
    """counts / sum counts, over classes on axis 0.

    Where a class shows nothing the likelihood leaves it free: it gets the estimate of all classes pooled, and the
    uniform distribution where nothing was seen at all.
    """
    counts = jnp.asarray(counts, jnp.result_type(float))
    pooled = counts.sum(axis=0, keepdims=True)
    pooled = jnp.where(total(pooled) > 0, pooled, 1.0)
    return _share(jnp.where(total(counts) > 0, counts, pooled), total)


def _share(counts: Array, total: Total) -> Array:
    """counts / sum counts, and exactly 1 for all of them: compiled division may be off by a rounding."""
    sums = total(counts)
    return jnp.where(counts == sums, 1.0, counts / jnp.where(sums > 0, sums, 1.0))


def log_multivariate_beta(concentration: Array, total: Total = total) -> Array:
    """The log partition of Dirichlet(a): sum log Gamma(a) - log Gamma(sum a), in the shape that ``total`` gives."""
    sums = total(concentration)
    return total(gammaln(concentration)) - gammaln(jnp.where(sums > 0, sums, 1.0))  # no entries have the sum 0


def log_multivariate_beta_ratio(concentration: Array, counts: Array, total: Total = total) -> Array:
    """The log partition of Dirichlet(a + n) less that of Dirichlet(a), in the shape that ``total`` gives."""
    counts = jnp.asarray(counts, jnp.result_type(concentration))
    before, change = total(concentration), total(counts)
    if not before.size or not concentration.size:
        return jnp.zeros_like(before)
    unit = before + change
    parts = log_gamma_ratio(concentration, counts, unit)
    return total(parts) - log_gamma_ratio(before, change, unit)


def centred_log_likelihood(counts: Array, change: Array, prior: Array) -> Array:
    """sum_c n_c log(theta_c / t_c) over the last axis, with t = (n + a) / sum(n + a) the posterior mean.

    ``change`` is r = (theta - t) / t. Written as sum n (log1p(r) - r) - sum a r: the first order terms of n and of the
    simplex's constraint cancel on paper, where in float32 at 1e8 rows they would leave noise of several nats.
    """
    return (counts * log1p_minus(change) - prior * change).sum(axis=-1)
