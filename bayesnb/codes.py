"""Cells that are codes of categories, and where each category has its place in one table of all columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesnb.arrays import Array, namespace


class Codes(NamedTuple):
    """Codes 0, 1, ... [N, D], of any type of numbers; the categories of column d begin at ``starts`` [D] of the table.

    ``seen`` [N, D] is False where a cell is missing, and None where none is.
    """

    cells: Array
    starts: Array
    seen: Array | None

    def places(self) -> Array:
        """starts_d + code, int32 [N, D]; for a missing cell that of the column's first category."""
        cells = self.cells if self.seen is None else namespace(self.cells).where(self.seen, self.cells, 0)
        return cells.astype(np.int32) + self.starts[None]
