"""Cells that are category codes with their places in one table of all columns, and numbers as codes of bins."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._loops import compiled_unless_few, for_loops
from bayesnb.compute.arrays._placement import Array, as_array, namespace, on_host


class Codes(NamedTuple):
    """Codes 0, 1, ... [N, D], of any numeric dtype; a cell that is not a code of its column is missing.

    The categories of column d are at ``starts[d]`` to ``starts[d + 1] - 1`` of the table; ``starts`` is [D + 1].
    ``look`` returns a mask of the cells that are codes, or None if all are. Compiled loops check for themselves, and
    truncate fractions, which families refuse because they are not codes.
    """

    cells: Array
    starts: Array
    look: Callable[[Array], Array | None]

    def places(self) -> tuple[Array, Array | None]:
        """starts_d + code, int32 [N, D], and the mask of codes; other cells get their column's first place."""
        seen = self.look(self.cells)
        cells = self.cells if seen is None else namespace(self.cells).where(seen, self.cells, 0)
        return cells.astype(np.int32) + self.starts[None, :-1], seen


def declared_sizes(given: Any) -> int | tuple[int, ...]:
    """The number of categories, one int or one for each column, as a hashable part of the model.

    Raises:
        ValueError: for anything but positive ints.
    """
    sizes = as_array(given)
    whole = not sizes.size or np.issubdtype(sizes.dtype, np.integer)  # a block may have no columns
    if sizes.ndim > 1 or not whole or (sizes < 1).any():
        raise ValueError(f"Categorical: num_categories must be a positive int or one a column, got {given!r}")
    return tuple(int(size) for size in sizes) if sizes.ndim else int(sizes)


@lru_cache(maxsize=256)  # a row asks for them eleven times
def starts_of(sizes: tuple[int, ...]) -> Array:
    """The start of each column in the table [0, S), and S at the end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


MISSING = -1
"""The code of a missing cell."""


def find_bins(x: Array, edges: Array) -> Array:
    """How many of its column's edges each number reaches, codes 0..E [N, D]; ``MISSING`` for NaN.

    ``edges`` [D, E] rise; a column with fewer has infinite ones at its end, which no number reaches.
    """
    if not on_host(x, edges):
        x = jnp.asarray(x, jnp.result_type(float))
        # NaN is sorted behind all edges
        found = jax.vmap(lambda e, of: jnp.searchsorted(e, of, side="right"), (0, 1), 1)(jnp.asarray(edges, x.dtype), x)
        return jnp.where(jnp.isnan(x), MISSING, jnp.minimum(found, edges.shape[1])).astype(jnp.int32)
    num_columns, num_edges = edges.shape
    if len(x) <= limits.ROWS_IN_PYTHON:
        return np.where(np.isnan(x), MISSING, (x[..., None] >= edges).sum(axis=-1)).astype(np.int32)
    width = 1 << num_edges.bit_length()
    table = np.full((num_columns, width), np.inf)
    table[:, :num_edges] = edges
    codes = np.empty(x.shape, np.int32)
    _search(for_loops(x), table.ravel(), width, num_edges, codes)
    return codes


@compiled_unless_few
def _search(x: Array, table: Array, width: int, num_edges: int, codes: Array) -> None:
    """Each column's edges, ``width`` of them end to end in ``table``, are halved until one place is left.

    5,000 x 57 numbers among 31 edges take .7 ms, by ``np.searchsorted`` column by column 7. A fit of such rows as
    Histogram, whose goal is 50 ms, searches twice, and one of powers more often.
    """
    num_columns = x.shape[1]
    for n in range(x.shape[0]):
        for d in range(num_columns):
            codes[n, d] = d * width
        step = width >> 1
        while step > 0:
            for d in range(num_columns):
                place = codes[n, d]
                codes[n, d] = place + (step if x[n, d] >= table[np.uintp(place + step - 1)] else 0)
            step >>= 1
        for d in range(num_columns):
            code = min(codes[n, d] - d * width, num_edges)  # infinity reaches the padding, too
            codes[n, d] = code if x[n, d] == x[n, d] else MISSING
