"""Sums of log(1 + z^2) over the columns of numpy rows: a compiled loop, in 0.1 of the time of numpy's log1p.

Factors 1 + z^2 are multiplied, and one logarithm is taken of many.
"""

from __future__ import annotations

import math

import numpy as np

from bayesnb.arrays.compiled import compiled, for_loops
from bayesnb.arrays.placement import Array

TOGETHER = 16
"""The number of factors 1 + z^2 that are multiplied in the precision of the tables."""

ROWS = 256
"""The number of rows scored together; they stay in the first-level cache."""

LARGE = 1e150
"""A double-precision product larger than this is not multiplied any further: its logarithm is taken."""


def log_squares(x: Array, centre: Array, loc: Array, precision: Array) -> Array:
    """sum_d log(1 + z^2) with z = (x_nd - centre_d - loc_kd) precision_kd, float64 [N, K]; NaN cells add nothing.

    Tables are [D] and [K, D], all of the dtype in which z is computed; the result is not finite on overflow.
    """
    out = np.zeros((len(x), len(loc)))
    _add_log_squares(for_loops(x), centre, loc, precision, out)
    return out


@compiled
def _add_log_squares(x: Array, centre: Array, loc: Array, precision: Array, out: Array) -> None:
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
