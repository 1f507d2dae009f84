"""Stored cells of sparse rows times class weights, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays import Array
from bayesnb.compiled import compiled, for_loops
from bayesnb.prefetch import AHEAD, prefetch

LINE = 64
"""Bytes that memory hands over at once."""

HEAD = 8 * LINE
"""Bytes of a row of weights that are asked for; that the others follow the processor sees by itself."""

CACHED_BYTES = 1 << 20
"""Weights that stay in cache: nothing is waited for, and scipy's product is as quick."""


def weigh_stored(x: Any, weights: Array) -> Array:
    """x @ weights, [N, K], of a sparse matrix [N, D] and weights [D, K]; of many weights sums are float64."""
    if weights.nbytes <= CACHED_BYTES:
        return x @ weights
    out = np.zeros((x.shape[0], weights.shape[1]))
    _add_weights(for_loops(x.data), x.indices, x.indptr, np.ascontiguousarray(weights), out)
    return out


@compiled
def _add_weights(cells: Array, columns: Array, pointers: Array, weights: Array, out: Array) -> None:
    # the weights of rare columns lie anywhere in a table larger than the cache
    begin, row_bytes = weights.ctypes.data, weights.shape[1] * weights.itemsize
    for n in range(out.shape[0]):
        for cell in range(pointers[n], pointers[n + 1]):
            soon = begin + np.intp(columns[min(cell + AHEAD, pointers[-1] - 1)]) * row_bytes
            # a row need not begin where a line does
            for offset in range(0, min(row_bytes + LINE - 1, HEAD), LINE):
                prefetch(soon + min(offset, row_bytes - 1))
            value, row = np.float64(cells[cell]), weights[columns[cell]]
            for k in range(out.shape[1]):
                out[n, k] += value * row[k]
