"""Categorical columns laid end to end in tables [K, S], S = sum of their numbers of categories C."""

from __future__ import annotations

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
