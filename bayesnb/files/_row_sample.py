"""A sample of rows that is the same whatever the parts of a table, and their order.

It is all rows while they are few, and then of each class those with the lowest hashes of their cells, each once with
the sum of its weights, as in ``choose_part``. Cells are numbers or text, in the types that all parts share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.arrays import _limits as limits
from bayesnb.frames._series import Array, as_series, numbers, sort_of
from bayesnb.frames._texts import factorise
from bayesnb.rows._part import ODD, lowest_hashes

MISSING = np.uint64(0x2545F4914F6CDD1D)
"""The hash of a missing cell of any type."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some of the rows, or all.

    Attributes:
        rows: Their cells, without weights.
        hashes: A hash of the cells of each row, [N], and one of its class.
        weight: The weight of each row [N].
        whole: Whether it is all rows.
    """

    rows: pa.Table
    hashes: tuple[Array, Array]
    weight: Array
    whole: bool = True

    @classmethod
    def of(cls, rows: pa.RecordBatch | pa.Table, target: str, weight: Array | None) -> Self:
        """The sample of rows that all have a class and a weight that is not zero; the weights are 1 if not given."""
        columns, hashes, of_class = {}, np.zeros(rows.num_rows, np.uint64), np.zeros(rows.num_rows, np.uint64)
        for name in sorted(rows.schema.names):  # so that parts may have them in any order
            columns[name], own = _plain(rows[name])
            hashes = hashes * ODD + own
            of_class = own if name == target else of_class
        found = pa.table({name: columns[name] for name in rows.schema.names})
        return cls(found, (hashes, of_class), np.ones(rows.num_rows) if weight is None else weight)._cut()

    def merge(self, other: Self) -> Self:
        """The sample of the rows of both."""
        both = [self.rows, other.rows.select(self.rows.column_names)]
        rows = pa.concat_tables(both, promote_options="permissive")
        first, second = (np.append(*pair) for pair in zip(self.hashes, other.hashes, strict=True))
        weight = np.append(self.weight, other.weight)
        return type(self)(rows, (first, second), weight, self.whole and other.whole)._cut()

    def _cut(self) -> Self:
        if self.whole and len(self.weight) <= limits.KEPT_ROWS:
            return self
        hashes, of_class = self.hashes
        classes, y = np.unique(of_class, return_inverse=True)
        row_bytes = 8 * max(self.rows.num_columns, 1)
        most = max(limits.LEARNED_BYTES // (row_bytes * len(classes)), limits.FEWEST_OF_CLASS)
        kept, weight = lowest_hashes(y, hashes, self.weight, np.full(len(classes), min(most, limits.KEPT_ROWS)))
        return replace(self._take(kept), weight=weight, whole=False)

    def _take(self, places: Array) -> Self:
        first, second = (hashes[places] for hashes in self.hashes)
        return replace(self, rows=self.rows.take(places), hashes=(first, second), weight=self.weight[places])

    def lowest(self) -> Self:
        """The rows in which the edges of bins are found, in the order of their hashes, whatever their classes."""
        return self._take(np.lexsort((self.weight, self.hashes[0]))[: limits.EDGE_ROWS])

    def weighted(self, weight: str) -> pa.RecordBatch:
        """The rows with a column of their weights."""
        rows = self.rows.append_column(weight, pa.array(self.weight)).combine_chunks()
        return next(iter(rows.to_batches()), pa.RecordBatch.from_pylist([], rows.schema))


def _plain(cells: Any) -> tuple[pa.Array, Array]:
    """The cells as text or float64, and a hash of each, [N]."""
    series = as_series(cells)
    sort = sort_of(series)
    if sort == "nothing" or not len(series):
        return pa.nulls(len(series)), np.full(len(series), MISSING)
    if sort == "number":
        x = np.asarray(numbers(series), np.float64) + 0.0  # -0.0 is 0.0
        gone = np.isnan(x)
        return pa.array(x, mask=gone), np.where(gone, MISSING, pd.util.hash_array(x))
    codes, texts = factorise(series)
    of_text = pd.util.hash_array(np.asarray(texts.to_pylist(), object), categorize=False)
    return texts.take(pa.array(codes, mask=codes < 0)), np.append(of_text, MISSING)[codes]
