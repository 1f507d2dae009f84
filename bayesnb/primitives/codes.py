"""Cells that are category codes, and the place of each category in one table of all columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayesnb.arrays.placement import Array, as_array, namespace


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


def starts_of(sizes: tuple[int, ...]) -> Array:
    """The start of each column in the table [0, S), and S at the end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
