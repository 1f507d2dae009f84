"""Compiled loops for class sums of numpy rows; each adds to given sums, and skips rows with labels outside 0..K-1.

``y`` are labels [N], ``weight`` their weights [N] or None; sums are float64.
"""

from __future__ import annotations

import numpy as np

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.placement import Array


@compiled
def add_rows(x: Array, y: Array, weight: Array | None, sums: Array) -> None:
    """sums_kd += sum of w_n x_nd over the rows of class k."""
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < sums.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(x.shape[1]):
                sums[k, d] += w * x[n, d]


@compiled
def add_flags(x: Array, y: Array, weight: Array | None, ones: Array) -> None:
    """As ``add_rows`` for zeros and ones; any other cell makes its sum NaN."""
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < ones.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(x.shape[1]):
                value = x[n, d]
                # without a branch the loop vectorises
                ones[k, d] += w * value if (value == 0) | (value == 1) else np.nan


@compiled
def add_trials(x: Array, y: Array, weight: Array | None, ones: Array, cells: Array) -> None:
    """As ``add_flags``, but NaN cells are missing; also adds w_n of the observed cells to ``cells``."""
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < ones.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(x.shape[1]):
                value = x[n, d]
                seen = value == value
                one = w * value if seen else 0.0
                ones[k, d] += one if (value == 0) | (value == 1) | (not seen) else np.nan
                cells[k, d] += w if seen else 0.0


@compiled
def add_cells(data: Array, columns: Array, pointers: Array, y: Array, weight: Array | None, sums: Array) -> None:
    """As ``add_rows`` for the stored cells of a sparse matrix, in any order."""
    for n in range(y.shape[0]):
        if 0 <= y[n] < sums.shape[0]:
            k, w = np.uintp(y[n]), 1.0 if weight is None else weight[n]
            # unsigned indices need no check for negative ones, which would count from the end
            for cell in range(np.uintp(pointers[n]), np.uintp(pointers[n + 1])):
                sums[k, np.uintp(columns[cell])] += w * data[cell]


@compiled
def add_codes(cells: Array, starts: Array, y: Array, weight: Array | None, table: Array) -> None:
    """table_kc += sum of w_n over the cells of class k whose place, starts_d + x_nd < starts_{d+1}, is c."""
    for n in range(cells.shape[0]):
        k = y[n]
        if 0 <= k < table.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(cells.shape[1]):
                if 0 <= cells[n, d] < starts[d + 1] - starts[d]:
                    table[k, starts[d] + np.int64(cells[n, d])] += w


@compiled
def first_values(x: Array, y: Array, origin: Array, found: Array) -> None:
    """origin_kd = the first value of class k that is not NaN; ``found`` marks where there is one."""
    missing = np.empty(found.shape[0], np.int64)
    for k in range(found.shape[0]):
        missing[k] = 0
        for d in range(found.shape[1]):  # ``sum`` of numba takes a second to compile
            missing[k] += not found[k, d]
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < missing.shape[0] and missing[k] > 0:
            for d in range(x.shape[1]):
                value = x[n, d]
                if not found[k, d] and value == value:
                    origin[k, d], found[k, d] = value, True
                    missing[k] -= 1


@compiled
def add_moments(
    x: Array, y: Array, weight: Array | None, origin: Array, count: Array, sums: Array, squares: Array
) -> None:
    """Adds w_n, w_n z and w_n z^2 over the cells of class k that are not NaN, z = x_nd - origin_kd."""
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < count.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(x.shape[1]):
                value = x[n, d]
                seen = value == value
                z = value - origin[k, d] if seen else 0.0
                count[k, d] += w if seen else 0.0
                sums[k, d] += w * z
                squares[k, d] += w * z * z
