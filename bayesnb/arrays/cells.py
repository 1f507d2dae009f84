"""Which cells of rows are missing, and whether the cells are category codes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.placement import Array, namespace


def all_codes(x: Array, size: float) -> bool:
    """True if every cell is known to be one of 0..size-1, of any numeric dtype; ``size`` may be infinite."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fiu":
        return False
    return _count_others(x.ravel(order="K"), size) == 0


def largest_codes(x: np.ndarray[Any, Any]) -> Array:
    """The largest number of each column, [D], in float64, and at least 0; NaN is ignored."""
    return np.fmax.reduce(x, axis=0, initial=0).astype(np.float64)


@compiled
def _count_others(cells: Array, size: float) -> int:
    """The number of cells other than 0..size-1. Counting them all vectorises; stopping at the first would not.

    A Bernoulli prediction takes 0.7 of the time that it takes with numpy's comparisons.
    """
    others = 0
    for i in range(cells.shape[0]):
        cell = cells[i]
        others += not ((cell >= 0) & (cell < size) & (cell == np.floor(cell)))
    return others


def unless_all(seen: Array) -> Array | None:
    """The mask, or None if it is known to be all True."""
    return None if isinstance(seen, np.ndarray) and seen.all() else seen


def observed(x: Array) -> Array | None:
    """A mask of the cells that are not NaN, [N, D]; None if it is known that none is missing."""
    if scipy.sparse.issparse(x) or not jnp.issubdtype(x.dtype, jnp.inexact):
        return None
    missing = namespace(x).isnan(x)
    return None if isinstance(missing, np.ndarray) and not missing.any() else ~missing
