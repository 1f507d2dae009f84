"""Categorical columns whose number of categories is unknown until the rows have been counted.

Finding the largest codes first would read the rows twice. Instead the first table has room for the codes in a sample of
the rows, and some more. A block with larger codes is counted again in a larger table; tables of any sizes merge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Self

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import all_codes, largest_codes
from bayesnb.compute.arrays._placement import Array, native
from bayesnb.compute.primitives.sums import ClassSums, HostSums
from bayesnb.core.families._base import pytree
from bayesnb.core.families._categorical import Categorical, CategoricalStatistics


@pytree
class OpenCategorical(Categorical):
    """A Categorical that counts codes 0, 1, ... of numpy rows, also codes beyond ``num_categories``.

    Args:
        positions: The columns' positions in X for error messages, if X has other columns too.
        most: The largest number of categories that a column may have.
    """

    positions: tuple[int, ...] | None = field(default=None, metadata={"static": True})
    most: int = field(default=limits.MOST_CATEGORIES, metadata={"static": True})

    def prepare(self, x: Array, weight: Callable[[], Array | None]) -> Self:
        """A copy with room for the codes in a sample of the rows, and a quarter more."""
        del weight
        sizes = self._sizes_in(native(x[:: 1 + len(x) // limits.SIZED_ROWS]))
        wider = tuple(min(size + (size + 3) // 4, self.most) for size in sizes)
        return self._replace(num_categories=wider if sum(wider) <= limits.MOST_CATEGORIES else sizes)

    def statistics(self, x: Array, z: ClassSums) -> CategoricalStatistics:
        """The counts of a block of rows.

        Raises:
            ValueError: for codes that are too large to have a table.
        """
        counted = super().statistics(x, z)
        if isinstance(z, HostSums) and z.has_counted_all(counted.counts, x.shape[1]):
            return counted
        sizes = self._sizes_in(x)
        return counted if sizes == counted.sizes else Categorical(sizes).statistics(x, z)

    def _sizes_in(self, x: Array) -> tuple[int, ...]:
        """The number of categories of each column, including those in these rows."""
        sizes = np.maximum(largest_codes(x) + 1, self._sizes)
        if (sizes > self.most).any() or sizes.sum() > limits.MOST_CATEGORIES:
            column = int(sizes.argmax())
            raise ValueError(
                f"column {self.positions[column] if self.positions else column} of X would have {sizes[column]:.15g} "
                "categories, which are too many: its cells are codes 0, 1, 2, ...; recode it with "
                "numpy.unique(column, return_inverse=True)"
            )
        return tuple(sizes.astype(int).tolist())


@pytree
class WholeParts(OpenCategorical):
    """Cells whose integer part is a code >= 0, as the host loops read them: unknown codes and NaN are missing."""

    def check(self, x: Array, block: str) -> None:
        """Raise ValueError if a cell is negative or infinite."""
        if not all_codes(x, min(self._sizes)) and ((x < 0).any() or (x.dtype.kind == "f" and np.isinf(x).any())):
            raise ValueError(f"block {block!r} has a cell that is not a code: give finite numbers of 0 or more, or NaN")


def count_codes(sizes: tuple[int, ...], positions: tuple[int, ...], most: int) -> OpenCategorical:
    """The family of columns at these positions that have at least these numbers of categories."""
    return OpenCategorical(sizes, positions=positions, most=most)
