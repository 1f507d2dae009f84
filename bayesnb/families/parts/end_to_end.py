"""Categorical columns laid end to end, in tables [K, S] and one-hot rows [N, S], S = sum of their categories C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.primitives.codes import starts_of


class EndToEnd(NamedTuple):
    """The number of categories of each column."""

    sizes: tuple[int, ...]

    @property
    def uniform(self) -> bool:
        """True if all columns have the same number of categories."""
        return len(set(self.sizes)) <= 1

    @property
    def largest(self) -> int:
        """The largest number of categories of a column."""
        return max(self.sizes, default=1)

    @property
    def columns(self) -> np.ndarray[Any, Any]:
        """The column of each entry, [S]."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def total(self, flat: Array) -> Array:
        """For each entry, the sum over its column, [K, S]."""
        sums = self.of_columns(flat)
        return jnp.repeat(sums, self.largest, axis=1) if self.uniform else self.at_entries(sums)

    def of_columns(self, flat: Array) -> Array:
        """Sums over each column's entries, [K, D]."""
        if self.uniform:  # a vectorised sum; ``segment_sum`` adds one entry at a time
            return jnp.asarray(flat).reshape(len(flat), len(self.sizes), self.largest).sum(axis=2)
        return jax.ops.segment_sum(jnp.asarray(flat).T, self.columns, len(self.sizes)).T

    def at_entries(self, by_column: Array) -> Array:
        """The values of columns [K, D], repeated at each column's entries, [K, S]."""
        return jnp.take(by_column, self.columns, axis=1, mode="clip")  # no index is out of bounds: skip the check

    def split(self, flat: Array) -> list[Array]:
        """A table [K, S] as [K, D, C], or as one table [K, C_d] per column if their sizes differ."""
        if self.uniform:
            return [flat.reshape(flat.shape[0], len(self.sizes), self.largest)]
        return jnp.split(flat, starts_of(self.sizes)[1:-1], axis=1)


def codes_of_one_hot(one_hot: Any, num_categories: int | Sequence[int], block: str) -> Array:
    """Codes [N, D] of one-hot columns laid end to end in a CSR matrix [N, S]; -1 where there is no 1.

    Raises:
        ValueError: for a wrong width, for cells other than 0 and 1, and for two ones in a row's cells of one column.
    """
    num_rows, width = one_hot.shape
    sizes = (num_categories,) * (width // num_categories) if isinstance(num_categories, int) else num_categories
    starts = np.cumsum((0, *sizes))
    column = np.searchsorted(starts, one_hot.indices, side="right") - 1
    row = np.repeat(np.arange(num_rows), np.diff(one_hot.indptr))
    ones = one_hot.data != 0
    codes = np.full(num_rows * len(sizes), -1, np.int32)
    if starts[-1] == width:
        codes[row[ones] * len(sizes) + column[ones]] = one_hot.indices[ones] - starts[column[ones]]
    # two ones in one column set only one code
    if starts[-1] != width or (one_hot.data[ones] != 1).any() or np.count_nonzero(codes >= 0) < ones.sum():
        raise ValueError(
            f"block {block!r}: a sparse matrix for Categorical holds the columns one-hot and end to end, "
            f"{starts[-1]} wide for these categories, with at most one 1 per column; got {width} columns; give codes, "
            "or use Bernoulli for flags that do not exclude each other"
        )
    return codes.reshape(num_rows, len(sizes))
