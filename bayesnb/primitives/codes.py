"""Cells that are codes of categories, and where each category has its place in one table of all columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayesnb.arrays.placement import Array, as_array, namespace


class Codes(NamedTuple):
    """Codes 0, 1, ... [N, D], of any type of numbers; a cell that is no code of its column is missing.

    The categories of column d are at ``starts[d]`` to ``starts[d + 1] - 1`` of the table, [D + 1]. ``look`` tells
    which cells are codes, None where all are; compiled loops see for themselves, and take the whole part of a fraction,
    which families refuse where it is no code.
    """

    cells: Array
    starts: Array
    look: Callable[[Array], Array | None]

    def places(self) -> tuple[Array, Array | None]:
        """starts_d + code, int32 [N, D], and where it is one; elsewhere that of the column's first category."""
        seen = self.look(self.cells)
        cells = self.cells if seen is None else namespace(self.cells).where(seen, self.cells, 0)
        return cells.astype(np.int32) + self.starts[None, :-1], seen


def declared_sizes(given: Any) -> int | tuple[int, ...]:
    """The number of categories of every column, or those of each, as a hashable part of the model.

    Raises:
        ValueError: for anything but positive ints.
    """
    sizes = as_array(given)
    whole = not sizes.size or np.issubdtype(sizes.dtype, np.integer)  # a block may have no columns
    if sizes.ndim > 1 or not whole or (sizes < 1).any():
        raise ValueError(f"Categorical: num_categories must be a positive int or one a column, got {given!r}")
    return tuple(int(size) for size in sizes) if sizes.ndim else int(sizes)


def starts_of(sizes: tuple[int, ...]) -> Array:
    """Where each column begins in the table [0, S), and S at the end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
