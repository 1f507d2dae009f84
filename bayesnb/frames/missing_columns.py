"""Whether a column's cell is missing, as a feature of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.frames.column_kinds import Column
from bayesnb.frames.series import Array, numbers, to_plain

MISSING = "missing"
"""The block of indicators."""


@dataclass(frozen=True)
class MissingColumn(Column):
    """The indicator of the missing cells of the column ``name``, of kind `missing`.

    theta_k ~ Beta(l, l),   m_n | y_n = k ~ Bernoulli(theta_k),   m_n = 1 if the cell of row n is missing, else 0
    """

    @property
    def names(self) -> tuple[str, ...]:
        """What explanations call it."""
        return (indicator_name(self.name),)

    def encode(self, given: Any) -> Array:
        """1 for missing cells and 0 for others, [N]."""
        return are_missing(given).astype(np.float64)


def indicator_name(column: str) -> str:
    """The name of the indicator of a column's missing cells."""
    return f"{column} is missing"


def are_missing(given: Any) -> Array:
    """Whether each cell of a series [N] is missing: null, NaN or None."""
    cells = to_plain(nw.from_native(given, series_only=True))
    return np.isnan(numbers(cells)) if cells.dtype.is_float() else np.asarray(cells.is_null().to_numpy(), bool)
