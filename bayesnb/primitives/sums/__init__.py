"""Class sums, the one primitive of fitting: sum over rows n of z_nk · t(x_n), with z the labels times the weights.

Families use it without knowing how it is implemented. On the host a compiled loop reads a block of rows once and adds
each row to its class; on a device integer labels are a segment sum. Counts do not saturate: float64 on the host, int32
on the device if rows are unweighted, pairwise float32 sums otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bayesnb.arrays.placement import Array, on_host
from bayesnb.primitives.codes import Codes
from bayesnb.primitives.sums.device import DeviceSums
from bayesnb.primitives.sums.host import PROVABLE as PROVABLE
from bayesnb.primitives.sums.host import HostSums as HostSums
from bayesnb.primitives.sums.labels import Labels as Labels


class ClassSums(Protocol):
    """The sums by class that families use; ``seen`` [N, D] is False where a cell is missing, or None."""

    num_classes: int

    def counts(self) -> Array:
        """sum_n z_nk, [K]."""

    def cell_counts(self, seen: Array | None, num_columns: int) -> Array:
        """sum_n z_nk seen_nd, [K, D]."""

    def sum(self, values: Array, seen: Array | None = None) -> Array:
        """sum_n z_nk values_nd over seen cells, [K, D]."""

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


def class_sums(labels: Labels, num_classes: int) -> ClassSums:
    """The implementation for these labels: the host's or the device's."""
    if on_host(labels):
        return HostSums(labels, num_classes)
    return DeviceSums(labels, num_classes)
