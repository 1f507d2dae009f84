"""The labels of rows with their weights."""

from __future__ import annotations

from typing import Any, NamedTuple

from bayesnb.arrays.placement import Array


class Labels(NamedTuple):
    """The labels of rows: integer labels [N] with weights [N] or None, or weights [N, K] (soft labels)."""

    y: Array
    weight: Array | None

    @property
    def soft(self) -> bool:
        """True for soft labels, a matrix already multiplied by the sample weights; ``weight`` is then None."""
        return self.y.ndim == 2

    def rows(self, block: Any) -> Labels:
        """The labels of some rows, given by a slice or a mask."""
        return Labels(self.y[block], None if self.weight is None else self.weight[block])
