"""Which cells of rows are missing, and whether the cells are category codes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.placement import Array
from bayesnb.arrays.threads import in_threads, row_blocks


def all_codes(x: Array, size: float) -> bool:
    """True if every cell is known to be one of 0..size-1, of any numeric dtype; ``size`` may be infinite."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fiu":
        return False
    return _count_others(_cells(x), size) == 0


def largest_codes(x: np.ndarray[Any, Any]) -> Array:
    """The largest number of each column, [D], in float64, and at least 0."""

    def of_block(rows: slice) -> Array:
        largest = np.zeros(x.shape[1])
        _raise_to(np.ascontiguousarray(x[rows]), largest)
        return largest

    parts = in_threads(of_block, row_blocks(x.shape[0], x.shape[1] * x.itemsize))
    return np.max(parts, axis=0, initial=0.0) if parts else np.zeros(x.shape[1])


@compiled
def _raise_to(x: Array, largest: Array) -> None:
    for n in range(x.shape[0]):
        for d in range(x.shape[1]):
            largest[d] = x[n, d] if x[n, d] > largest[d] else largest[d]


@compiled
def _count_others(cells: Array, size: float) -> int:
    """The number of cells other than 0..size-1. Counting them all vectorises; stopping at the first would not."""
    others = 0
    for i in range(cells.shape[0]):
        cell = cells[i]
        others += not ((cell >= 0) & (cell < size) & (cell == np.floor(cell)))
    return others


def _cells(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The cells in any order, without a copy if they are contiguous in memory."""
    return x.ravel(order="K")


def unless_all(seen: Array) -> Array | None:
    """The mask, or None if it is known to be all True."""
    return None if isinstance(seen, np.ndarray) and seen.all() else seen


def observed(x: Array) -> Array | None:
    """A mask of the cells that are not NaN, [N, D]; None if it is known that none is missing."""
    if scipy.sparse.issparse(x) or not jnp.issubdtype(x.dtype, jnp.inexact):
        return None
    if isinstance(x, jax.Array):
        return ~jnp.isnan(x)
    with np.errstate(invalid="ignore", over="ignore"):
        # one pass without a temporary: the sum of squares is finite only if no cell is NaN
        whole = x.flags.c_contiguous or x.flags.f_contiguous
        if np.isfinite(np.vdot(_cells(x), _cells(x)) if whole else x.sum(dtype=x.dtype)):
            return None
    return unless_all(~np.isnan(x))
