"""Rows of the batches of ``partial_fit`` that are kept, so that powers can be learned again when more have come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import bytes_per_row
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.core.rows._part import choose_part, number_rows
from bayesnb.tables.frames._blocks import AnySchema


@dataclass(frozen=True)
class KeptRows:
    """Encoded ``rows``, whether they are a ``single`` array, and whether they are the ``whole`` of those that came."""

    rows: LabelledRows
    single: bool
    whole: bool = True

    @classmethod
    def of(cls, encoded: Any, codes: Array, weight: Array | None, num_classes: int) -> Self:
        """A batch."""
        single = not isinstance(encoded, Mapping)
        return cls(LabelledRows({}, {"x": encoded} if single else encoded, Labels(codes, weight), num_classes), single)

    def recode(self, before: AnySchema, after: AnySchema, places: Array) -> Self:
        """The rows under a schema with more values; class k is number ``places[k]``."""
        labels = self.rows.labels._replace(y=places[self.rows.labels.y])
        return replace(self, rows=replace(self.rows, arrays=before.recode(self.rows.arrays, after), labels=labels))

    def discount(self, factor: float) -> Self:
        """The rows with their weights times ``factor``."""
        labels = self.rows.labels._replace(weight=factor * self.rows.weight())
        return self if factor == 1 else replace(self, rows=replace(self.rows, labels=labels))

    def above(self, batch: Self) -> Self:
        """These rows and a batch."""
        return replace(self, rows=replace(self.rows.above(batch.rows), num_classes=batch.rows.num_classes))

    def without(self, batch: Self) -> Self:
        """These rows without those of a batch: rows of the same weight, and else some of the weight of equal rows."""
        ours, theirs = number_rows(self.rows), number_rows(batch.rows)
        left, rest = self.rows.select(~np.isin(ours, theirs)), batch.rows.select(~np.isin(theirs, ours))
        if not rest.num_rows:
            return replace(self, rows=left)
        taken = replace(rest, labels=rest.labels._replace(weight=-rest.weight()))
        rows = choose_part(left.above(taken), np.full(left.num_classes, left.num_rows))
        return replace(self, rows=rows.select(rows.weight() > np.sqrt(np.finfo(float).eps) * self.rows.weight().max()))

    def cut(self) -> Self:
        """The rows that are kept: the whole while they are few, and from then on so many of each class."""
        if self.whole and self.rows.num_rows <= limits.KEPT_ROWS:
            return self
        row_bytes = sum(map(bytes_per_row, self.rows.arrays.values()))
        most = min(
            limits.KEPT_ROWS,
            max(limits.LEARNED_BYTES // max(row_bytes * self.rows.num_classes, 1), limits.FEWEST_OF_CLASS),
        )
        return replace(self, rows=choose_part(self.rows, np.full(self.rows.num_classes, most)), whole=False)

    @property
    def given(self) -> tuple[Any, Array, Array | None]:
        """X, the numbers of the classes and the weights, as they are counted."""
        arrays, labels = self.rows.arrays, self.rows.labels
        return arrays["x"] if self.single else arrays, labels.y, labels.weight
