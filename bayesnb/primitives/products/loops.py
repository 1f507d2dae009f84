"""Compiled loops for products of numpy rows: stored cells times coefficients, and sums of log(1 + z^2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesnb.arrays.compiled import compiled, compiled_unless_few, for_loops, prefetch
from bayesnb.arrays.placement import Array

AHEAD = 32
"""The number of cells whose coefficients are prefetched before they are needed."""

LINE = 64
"""The size of a cache line in bytes."""

HEAD = 8 * LINE
"""Bytes of a row of coefficients that are prefetched; the processor prefetches the others by itself."""

TOGETHER = 16
"""The number of factors 1 + z^2 that are multiplied in the precision of the tables."""

ROWS = 256
"""The number of rows scored together; they stay in the first-level cache."""

LARGE = 1e150
"""A double-precision product larger than this is not multiplied any further: its logarithm is taken."""


def multiply_stored(x: Any, coefficients: Array) -> Array:
    """x @ coefficients [D, K] in float64, for a sparse matrix [N, D]."""
    out = np.zeros((x.shape[0], coefficients.shape[1]))
    _add_products(for_loops(x.data), x.indices, x.indptr, np.ascontiguousarray(coefficients), out)
    return out


# half of the time without prefetch, a third of scipy's: 11,314 rows of 170 of 130,000 words, 20 classes
@compiled
def _add_products(cells: Array, columns: Array, pointers: Array, coefficients: Array, out: Array) -> None:
    begin, row_bytes, last = coefficients.ctypes.data, coefficients.shape[1] * coefficients.itemsize, pointers[-1] - 1
    reach = min(row_bytes + LINE - 1, HEAD)  # a row need not begin at a cache line
    for n in range(out.shape[0]):
        for cell in range(pointers[n], pointers[n + 1]):
            soon = begin + np.intp(columns[min(cell + AHEAD, last)]) * row_bytes
            for offset in range(0, reach, LINE):
                prefetch(soon + offset)
            value, d = np.float64(cells[cell]), np.uintp(columns[cell])
            for k in range(out.shape[1]):
                out[n, k] += value * coefficients[d, k]


def log_squares(x: Array, centre: Array, loc: Array, precision: Array) -> Array:
    """sum_d log(1 + z^2) with z = (x_nd - centre_d - loc_kd) precision_kd, float64 [N, K]; NaN cells add nothing.

    Tables are [D] and [K, D], all of the dtype in which z is computed; the result is not finite on overflow. Factors
    1 + z^2 are multiplied and one logarithm is taken of many, in 0.1 of the time of numpy's log1p.
    """
    return _log_squares(for_loops(x), centre, loc, precision)


@compiled_unless_few
def _log_squares(x: Array, centre: Array, loc: Array, precision: Array) -> Array:
    out = np.zeros((x.shape[0], loc.shape[0]))
    # a product is kept as 1 + excess, so that no digits are lost when all squares are small
    tile, excess = np.empty((TOGETHER, ROWS), centre.dtype), np.empty(ROWS, centre.dtype)
    total = np.zeros((out.shape[1], ROWS))
    for begin in range(0, x.shape[0], ROWS):
        rows = min(ROWS, x.shape[0] - begin)
        for first in range(0, x.shape[1], TOGETHER):
            columns = min(TOGETHER, x.shape[1] - first)
            for d in range(columns):
                for n in range(rows):
                    tile[d, n] = x[begin + n, first + d] - centre[first + d]
            for k in range(out.shape[1]):
                excess[:rows] = 0
                for d in range(columns):
                    of_class, unit = loc[k, first + d], precision[k, first + d]
                    for n in range(rows):
                        z = (tile[d, n] - of_class) * unit
                        square = z * z if z == z else centre.dtype.type(0)
                        excess[n] = excess[n] + square + excess[n] * square
                large = 0
                for n in range(rows):
                    total[k, n] = total[k, n] + excess[n] + total[k, n] * excess[n]
                    large += not total[k, n] < LARGE
                if large > 0 or first + TOGETHER >= x.shape[1]:
                    for n in range(rows):
                        product = 1.0 + total[k, n]
                        # adds what 1 + total lost to rounding
                        out[begin + n, k] += math.log(product) + (total[k, n] - (product - 1.0)) / product
                        total[k, n] = 0
    return out
