"""Log-factorials of cells, and of numpy and sparse rows of counts, block by block in threads."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.special

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._cells import bytes_per_row, cells_by_row, part_of, row_sums, sums_between
from bayesnb.compute.arrays._loops import compiled, in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, on_host


def log_factorial(x: Array) -> Array:
    """log x! = log Gamma(x + 1), on the host or the device."""
    return either.log_gamma(either.floats(x) + 1.0)


def row_log_factorials(x: Any) -> Array:
    """sum_d log x_nd! of rows, [N]; on the host in float64, for sparse rows too."""
    if not on_host(x):
        return log_factorial(x).sum(axis=-1)
    blocks = row_blocks(x.shape[0], bytes_per_row(x))
    parts = in_threads(lambda rows: _log_factorials_between(*cells_by_row(part_of(x, rows))), blocks)
    return np.concatenate(parts) if parts else np.zeros(0)


def row_log_coefficients(x: Any) -> Array:
    """log n! - sum_d log x_nd!, n = sum_d x_nd, of rows, [N]; on the host in float64, for sparse rows too."""
    return log_factorial(row_sums(x)) - row_log_factorials(x)


def _log_factorials_between(cells: Array, pointers: Array) -> Array:
    sums = np.empty(len(pointers) - 1)
    if cells.dtype.kind in "fiu" and _add_looked_up(cells, pointers, _table(), sums):
        return sums
    return sums_between(log_factorial(cells), pointers)


# the exact fit of 2,000 rows of 1,000 counts takes 5 ms, and 26 ms with a log-gamma a cell
@compiled
def _add_looked_up(cells: Array, pointers: Array, table: Array, out: Array) -> bool:
    """out_n = sum of table[cell] between consecutive pointers. Returns False early if a cell is not an index."""
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
def _table() -> Array:
    """log 0!, log 1!, ... log 999!"""
    return scipy.special.gammaln(np.arange(1.0, 1001.0))
