"""Cells that are codes of categories, and where each category has its place in one table of all columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bayesnb.arrays import Array, namespace


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
