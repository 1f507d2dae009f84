"""The labels of rows with their weights, and the sums by class that families use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from bayesnb.arrays.placement import Array
from bayesnb.primitives.codes import Codes


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


class ClassSums(Protocol):
    """The sums by class that families use; ``seen`` [N, D] is False where a cell is missing, or None."""

    num_classes: int

    def counts(self) -> Array:
        """sum_n z_nk, [K]."""

    def cell_counts(self, seen: Array | None, num_columns: int) -> Array:
        """sum_n z_nk seen_nd, [K, D]."""

    def sum(self, values: Array, seen: Array | None = None) -> Array:
        """sum_n z_nk values_nd over seen cells, [K, D]."""

    def cells(self, values: Array, seen: Array | None = None) -> Any:
        """As ``sum``; of sparse values, a ``ClassTable`` if it is large and few of its cells are not 0."""

    def base(self, measure: Callable[[], Array], seen: Array | None = None) -> Array:
        """The sum of a base measure [N, F], which only the evidence needs; NaN [K, 1] if it is not needed."""

    def trials(self, x: Array) -> tuple[Array, Array]:
        """sum_n z_nk x_nd of zeros and ones, and sum_n z_nk of cells that are not NaN, [K, D]."""

    def table(self, codes: Codes, size: int) -> Array:
        """sum_n z_nk 1[place of x_nd = c] over all columns d, [K, size]."""

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        """Count, mean and sum of squared deviations from it, each [K, D]; NaN is missing."""

    def scatter(self, x: Array) -> tuple[Array, Array, Array]:
        """Mean [K, D], count [K] and scatter matrix [K, D, D] about the mean, of the rows without a missing cell."""
