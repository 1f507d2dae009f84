"""Columns of several categories each, laid end to end in tables [K, S], S = sum of their C."""

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
        """True if all columns have as many categories."""
        return len(set(self.sizes)) <= 1

    @property
    def largest(self) -> int:
        """C of the column with most categories."""
        return max(self.sizes, default=1)

    @property
    def columns(self) -> np.ndarray[Any, Any]:
        """The column of each entry, [S]."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def total(self, flat: Array) -> Array:
        """The sum over each entry's column, [K, S]."""
        sums = self.of_columns(flat)
        return jnp.repeat(sums, self.largest, axis=1) if self.uniform else self.at_entries(sums)

    def of_columns(self, flat: Array) -> Array:
        """Sums over each column's entries, [K, D]."""
        if self.uniform:  # a sum of vectors, where segments are added one entry at a time
            return jnp.asarray(flat).reshape(len(flat), len(self.sizes), self.largest).sum(axis=2)
        return jax.ops.segment_sum(jnp.asarray(flat).T, self.columns, len(self.sizes)).T

    def at_entries(self, by_column: Array) -> Array:
        """Each column's number at its entries, [K, S]."""
        return jnp.take(by_column, self.columns, axis=1, mode="clip")  # none is outside, and so none is looked at

    def split(self, flat: Array) -> list[Array]:
        """[K, S] as [K, D, C], or as a table [K, C_d] for each column where they differ."""
        if self.uniform:
            return [flat.reshape(flat.shape[0], len(self.sizes), self.largest)]
        return jnp.split(flat, starts_of(self.sizes)[1:-1], axis=1)
