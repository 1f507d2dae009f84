"""The sufficient statistics of words: counts by class, which are sparse where classes are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from bayesnb.arrays.class_table import ClassTable, is_class_table, whole
from bayesnb.arrays.placement import Array
from bayesnb.arrays.pytree import pytree
from bayesnb.families.parts.class_tables import class_rows
from bayesnb.families.parts.statistics import Statistics
from bayesnb.families.parts.subtraction import require_sums, without


@pytree
class MultinomialStatistics(Statistics):
    """``counts`` [K, D]: sum of z x; ``log_base`` [K, 1]: sum of z times the log multinomial coefficients.

    Counts of many classes, of which most never saw most words, are a ``ClassTable``.
    """

    counts: Any
    log_base: Array

    axes = (("counts", "KD"), ("log_base", "K1"))

    def check(self, block: str, num_classes: int) -> None:
        if not is_class_table(self.counts):
            return super().check(block, num_classes)
        self.counts.check(f"statistics of block {block!r}", "counts")
        if np.any(self.counts.base) or np.any(np.asarray(self.counts.total) != 1):
            raise ValueError(f"statistics of block {block!r}: counts that are not stored must be 0")
        # the sums of the classes stand for the cells, which are checked
        return Statistics.check(replace(self, counts=self.counts.sum(axis=1)), block, num_classes)

    def merge(self, other: Self) -> Self:
        return self.map(lambda _, a, b: a + b, other)

    def pool(self) -> Self:
        return self.map(lambda _, a: a.sum(axis=0, keepdims=True))

    def spread_classes(self, places: Array) -> Self:
        counts = self.counts.take(places) if is_class_table(self.counts) else class_rows(self.counts, places)
        return type(self)(counts, class_rows(self.log_base, places))

    def minus(self, part: Self) -> Self:
        if is_class_table(self.counts) and is_class_table(part.counts):
            cells = without(self.counts.values, part.counts.at(self.counts.rows, self.counts.columns))
            left = ClassTable.of_cells(replace(self.counts, values=cells).own().copy())
        else:
            left = without(whole(self.counts), whole(part.counts))
        return type(self)(left, self.log_base - part.log_base)

    def require_part(self, part: Self, block: str) -> None:
        total, less, classes = self.counts, part.counts, None
        if is_class_table(total) and is_class_table(less):
            total, less, classes = total.at(less.rows, less.columns), less.values, less.rows
        require_sums(f"block {block!r}", "counts", whole(total), whole(less), classes=classes)

    def spread(self, codes: Sequence[Array], sizes: Sequence[int]) -> Self:
        """The same counts over more words: word d becomes word ``codes[0][d]`` of ``sizes[0]``."""
        if is_class_table(self.counts):
            return replace(self, counts=self.counts.spread(codes[0], *sizes))
        counts = np.zeros((self.counts.shape[0], *sizes))
        counts[:, codes[0]] = self.counts
        return replace(self, counts=counts)
