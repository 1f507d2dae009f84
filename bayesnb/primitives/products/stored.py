"""Stored cells of sparse rows times class coefficients, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.compiled import compiled, for_loops
from bayesnb.arrays.placement import Array
from bayesnb.arrays.prefetch import AHEAD, prefetch

LINE = 64
"""The size of a cache line in bytes."""

HEAD = 8 * LINE
"""Bytes of a row of coefficients that are prefetched; the processor prefetches the others by itself."""

CACHED_BYTES = 1 << 20
"""Bytes of coefficients that stay in cache: prefetching gains nothing, and scipy's product is as quick."""

FEW = 4
"""Up to this many classes, a row is read again for every two of them, whose sums stay in registers."""


def weigh_stored(x: Any, coefficients: Array) -> Array:
    """x @ coefficients [D, K] for a sparse matrix [N, D]; float64 for few classes or a large table."""
    cached, few = coefficients.nbytes <= CACHED_BYTES, coefficients.shape[1] <= FEW
    if cached and not few:
        return x @ coefficients
    out = np.zeros((x.shape[0], coefficients.shape[1]))
    add = _add_pairs if cached else _add_coefficients
    add(for_loops(x.data), x.indices, x.indptr, np.ascontiguousarray(coefficients), out)
    return out


@compiled
def _add_pairs(cells: Array, columns: Array, pointers: Array, coefficients: Array, out: Array) -> None:
    for n in range(out.shape[0]):
        for k in range(0, out.shape[1], 2):
            other = min(k + 1, out.shape[1] - 1)
            total = of_other = 0.0
            for cell in range(np.uintp(pointers[n]), np.uintp(pointers[n + 1])):
                value, d = np.float64(cells[cell]), np.uintp(columns[cell])
                total += value * coefficients[d, k]
                of_other += value * coefficients[d, other]
            out[n, k], out[n, other] = total, of_other


@compiled
def _add_coefficients(cells: Array, columns: Array, pointers: Array, coefficients: Array, out: Array) -> None:
    # the coefficients of rare columns lie anywhere in a table larger than the cache
    begin, row_bytes, last = coefficients.ctypes.data, coefficients.shape[1] * coefficients.itemsize, pointers[-1] - 1
    reach = min(row_bytes + LINE - 1, HEAD)  # a row need not begin at a cache line
    for n in range(out.shape[0]):
        cell, end = pointers[n], pointers[n + 1]
        while cell < end:
            for ahead in range(cell + AHEAD, cell + AHEAD + 2):
                soon = begin + np.intp(columns[min(ahead, last)]) * row_bytes
                for offset in range(0, reach, LINE):
                    prefetch(soon + offset)
            # two cells at a time, or the last one alone: the sums are read and written half as often
            pair = min(cell + 1, end - 1)
            value, row = np.float64(cells[cell]), coefficients[columns[cell]]
            other, of_other = np.float64(cells[pair]) if pair > cell else 0.0, coefficients[columns[pair]]
            for k in range(out.shape[1]):
                out[n, k] += value * row[k] + other * of_other[k]
            cell += 2
