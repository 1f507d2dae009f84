"""What is counted by class while a table is described: a fit without powers then needs no second pass over the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import LARGEST_CELL
from bayesnb.core.families import FAMILIES
from bayesnb.core.families._bernoulli import BernoulliStatistics
from bayesnb.core.families._categorical import CategoricalStatistics
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._model_statistics import ModelStatistics, merge, places_of
from bayesnb.core.rows._sufficient_statistics import sufficient_statistics
from bayesnb.tables.files.sources._source import RowBatch
from bayesnb.tables.frames._columns import CODED, Column
from bayesnb.tables.frames._series import Array, as_series, numbers, sort_of
from bayesnb.tables.frames._summaries import Summary
from bayesnb.tables.frames._texts import factorise

COUNTED = {BernoulliStatistics, CategoricalStatistics, NormalStatistics}
"""What is made of counts and moments."""


@dataclass
class ClassCounts:
    """How often the values of columns occur in rows of each class, and the moments of numbers.

    Attributes:
        rows: The number of rows of each class, in the order of appearance.
        sums: The moments of numbers, by the names of the columns that are numbers in a batch.
        few: How often each number of a column occurs in each class; None if it has more than a few.
        summaries: Those of the columns, which count texts.
        possible: Whether all could be counted.
    """

    rows: Counter[Any] = field(default_factory=Counter)
    sums: dict[tuple[str, ...], ModelStatistics] = field(default_factory=dict)
    few: dict[str, dict[float, Array] | None] = field(default_factory=dict)
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    possible: bool = True

    def codes(self, labels: pa.Array) -> tuple[Array | int, int]:
        """The class of each row [N], and the number of classes so far; 0 and 1 if rows are not counted by class."""
        if not self.possible:
            return 0, 1
        cells = as_series(labels)
        is_text = sort_of(cells) in ("text", "flag")
        own, found = factorise(cells) if is_text else pd.factorize(np.asarray(numbers(cells), np.float64))
        values = found.tolist()
        self.rows.update(dict(zip(values, np.bincount(own, minlength=len(values)).tolist(), strict=True)))
        self.possible &= len(self.rows) <= limits.COUNTED_CLASSES and len({*map(type, self.rows)}) < 2
        return (places_of(values, [*self.rows])[own], len(self.rows)) if self.possible else (0, 1)

    def add(self, batch: RowBatch, classes: tuple[Array | int, int], found: Mapping[str, Summary]) -> None:
        """Count the numbers of rows of these classes, which have these summaries."""
        names = tuple(name for name, summary in found.items() if summary.num_cells and not summary.text)
        self.possible &= all(abs(found[name].largest[0]) <= LARGEST_CELL for name in names)
        if not names or not self.possible:
            return
        y, k = classes
        X = np.stack([numbers(as_series(batch.rows[name])) for name in names], axis=1).astype(np.float64, copy=False)
        counted = sufficient_statistics(NaiveBayes(FAMILIES["normal"]()), X, y, classes=[*self.rows])
        self.sums[names] = merge(self.sums[names], counted) if names in self.sums else counted
        for name, x in zip(names, X.T, strict=True):
            before, values = self.few.setdefault(name, {}), found[name].numbers
            if before is None or values is None or len(before.keys() | {*values}) > limits.FEW_VALUES:
                self.few[name] = None
                continue
            table = np.bincount((values.get_indexer(x) + 1) * k + y, minlength=(len(values) + 1) * k)
            for value, counts in zip(values.tolist(), table.reshape(-1, k)[1:], strict=True):
                old = before.get(value, counts[:0])
                counts[: len(old)] += old
                before[value] = counts

    def has(self, model: NaiveBayes, columns: Sequence[Column]) -> bool:
        """Whether the statistics of a model with these columns were counted."""
        possible = self.possible and {family.statistics_type for family in model.families.values()} <= COUNTED
        given = {column.family.statistics_type for column in columns if column.family is not None}
        possible &= given <= {NormalStatistics}  # codes of a family that was given are checked where rows are counted
        return possible and all(self._values(column) is not None for column in columns if column.kind in CODED)

    def class_counts(self) -> Array:
        """The number of rows of each class [K]."""
        return np.array([*self.rows.values()], np.float64)

    def _values(self, column: Column) -> tuple[pa.Array, Array] | None:
        """The values of a column, and how often each occurs by class [V, K]; None if they were not counted."""
        found = self.summaries[column.name]
        if found.text:
            return None if found.texts is None else found.texts.counted
        few = self.few.get(column.name, {})
        return few if few is None else (pa.array([*few], pa.float64()), np.array([*map(self._tall, few.values())]))

    def _tall(self, counts: Array) -> Array:
        """Counts of the first classes [..., k] as those of all."""
        return np.pad(counts, [*[(0, 0)] * (counts.ndim - 1), (0, len(self.rows) - counts.shape[-1])])

    def table(self, column: Column, size: int) -> Array:
        """How many rows have each code of a column, [K, C]."""
        table, found = np.zeros((size, len(self.rows))), self._values(column)
        if found is not None and len(found[0]):
            values = as_series(found[0]).alias(column.name)
            codes = column.codes_of(found[0]) if column.text else column.encode(values).astype(int)
            table[codes] = self._tall(found[1])
        return table.T

    def moments(self, columns: Sequence[Column]) -> NormalStatistics:
        """The statistics of a Normal of each column."""
        labels, zeros = [*self.rows], np.zeros((len(self.rows), 1))
        found = {column.name: NormalStatistics(zeros, zeros, zeros) for column in columns}
        for names, counted in self.sums.items():
            block = counted.spread_classes(places_of(labels, counted.classes or ())).blocks["x"]
            for d, name in enumerate(names):
                if name in found:
                    found[name] = found[name].merge(block.map(lambda _, a, d=d: a[:, [d]]))
        return reduce(lambda one, two: one.map(lambda _, a, b: np.hstack([a, b]), two), found.values())
