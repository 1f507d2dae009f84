"""The sufficient statistics of the rows of a query, added up by its engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from bayesnb.core.families import Bernoulli, Categorical, Histogram, Normal, Poisson
from bayesnb.core.families._bernoulli import BernoulliStatistics
from bayesnb.core.families._categorical import CategoricalStatistics
from bayesnb.core.families._normal_known_variance import NormalKnownVariance
from bayesnb.core.families._poisson import PoissonStatistics
from bayesnb.core.families._views import Views
from bayesnb.core.families.parts._bin_statistics import HistogramStatistics, ViewStatistics
from bayesnb.core.families.parts._bins import spans_of
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from bayesnb.tables.files._table_schema import TableSchema
from bayesnb.tables.files.engines._expressions import log_rising
from bayesnb.tables.files.engines._queries import BIN, COUNT, LABEL, VALUE, Queries, number
from bayesnb.tables.frames._columns import MISSING, Column
from bayesnb.tables.frames._series import Array, DataError, as_series, numbers

Terms = Callable[[int, nw.Expr], Mapping[str, nw.Expr]]
"""Named terms of the numbers of a column, given its position in the block."""

RECIPE = "count its rows with nb.describe_table(part, target) and schema.count(part), and fit the merged statistics"


def count_query(schema: TableSchema, queries: Queries) -> ModelStatistics:
    """The statistics of the rows of a query under a schema, as ``schema.count`` gives them.

    Raises:
        DataError: for a family whose statistics are not sums that engines have, and for a class or a category that the
            schema does not have.
    """
    described = schema.description
    counts = _Counts(schema, queries, described.target, len(described.classes))
    model = schema.model
    rows = np.zeros(counts.num_classes)
    counts.add(rows, queries.labels, queries.labels[COUNT].to_numpy())
    blocks = {
        block: count_block(model.families[block], counts, columns) for block, columns in described.schema.blocks.items()
    }
    return ModelStatistics(rows, blocks)


@dataclass(frozen=True)
class _Counts:
    """The statistics of blocks of columns."""

    schema: TableSchema
    queries: Queries
    target: Column
    num_classes: int

    def add(self, table: Array, found: pa.Table, counts: Array, codes: Array | None = None) -> None:
        """Add counts to the rows of a table [K, ...] of their labels, and to the columns of these codes."""
        k = self.target.encode(as_series(found[LABEL]), self.schema.asked.reading)
        own = k >= 0 if codes is None else (k >= 0) & (codes >= 0)
        places = (k[own],) if codes is None else (k[own], codes[own].astype(int))
        np.add.at(table, places, counts[own])

    def table(self, column: Column, size: int) -> Array:
        """How many rows have each code of a column, [K, C]."""
        table = np.zeros((self.num_classes, size))
        if column.family is not None:
            raise DataError(f"an engine does not check the codes of column '{column.name}': {RECIPE}")
        if column.kind == MISSING:
            return self._gaps(column.name, table)
        found = self.queries.values(column.name)
        if found is not None and found.num_rows:
            codes = column.encode(as_series(found[VALUE]).alias(column.name), self.schema.asked.reading)
            self.add(table, found, found[COUNT].to_numpy(), codes)
        return table

    def _gaps(self, name: str, table: Array) -> Array:
        """How many rows have a cell of a column, and how many lack it, [K, 2]."""
        there: Any = self.queries.counts(nw.when(~nw.col(name).is_null()).then(nw.lit(1)))
        for code, found in enumerate((there, self.queries.labels)):
            self.add(table[:, code], found, found[COUNT].to_numpy())
        return table - table[:, :1] * [0, 1]

    def sums(self, columns: Sequence[Column], terms_of: Terms, edges: Array | None = None) -> list[Array]:
        """How many numbers lie in each bin between edges [D, E], and the sums of their terms, [K, D, G]."""
        edges = np.zeros((len(columns), 0)) if edges is None else edges
        tables: dict[str, Array] = {}
        for d, column in enumerate(columns):
            x, terms = number(column.name, self.queries.types[column.name]), terms_of(d, nw.col(VALUE))
            found = self.queries.bins(x, edges[d][np.isfinite(edges[d])].tolist(), terms)
            for name in (COUNT, *terms):
                shape = self.num_classes, len(columns), edges.shape[1] + 1
                table = tables.setdefault(name, np.zeros(shape))
                self.add(table[:, d], found, found[name].to_numpy().astype(float), found[BIN].to_numpy())
        return [*tables.values()]

    def moments(self, columns: Sequence[Column]) -> NormalStatistics:
        """The statistics of a Normal of each column."""
        return _normal(*self.changes(columns))

    def changes(self, columns: Sequence[Column], edges: Array | None = None) -> tuple[Array, Array, Array, Array]:
        """A number of the sample for each column [D], how many numbers bins have, and the sums of differences from it
        and of their squares, [K, D, G]; so those of a constant are exact.
        """
        centre = np.array([self._middle(column) for column in columns])

        def terms_of(d: int, x: nw.Expr) -> dict[str, nw.Expr]:
            change = x - float(centre[d])
            return {"change": change, "square": change * change}

        count, change, square = self.sums(columns, terms_of, edges)
        return centre, count, change, square

    def _middle(self, column: Column) -> float:
        cells = numbers(as_series(self.schema.sample.rows[column.name]))
        present = np.sort(cells[~np.isnan(cells)])
        return float(present[len(present) // 2]) if len(present) else 0.0


@singledispatch
def count_block(family: Any, counts: Any, columns: Sequence[Column]) -> Any:
    """The statistics of a block of columns under this family, of counts such as ``_Counts``."""
    del family, counts
    raise DataError(
        f"columns of {columns[0].likelihood}, such as '{columns[0].name}', are not counted in an engine, as their "
        f"statistics are more than sums and counts: {RECIPE}"
    )


@count_block.register(Bernoulli)
def _(_: Any, counts: Any, columns: Sequence[Column]) -> BernoulliStatistics:
    table = np.stack([counts.table(column, 2) for column in columns], axis=1)
    return BernoulliStatistics(table[:, :, 1], table.sum(axis=2))


@count_block.register(Categorical)
def _(_: Any, counts: Any, columns: Sequence[Column]) -> CategoricalStatistics:
    sizes = tuple(max(len(column.values), 1) for column in columns)
    tables = [counts.table(column, size) for column, size in zip(columns, sizes, strict=True)]
    return CategoricalStatistics(np.concatenate(tables, axis=1), sizes)


@count_block.register(Normal)
@count_block.register(NormalKnownVariance)
def _(_: Any, counts: Any, columns: Sequence[Column]) -> NormalStatistics:
    found: NormalStatistics = counts.moments(columns)
    return found


def _normal(centre: Array, *sums: Array) -> NormalStatistics:
    count, change, square = (table.sum(axis=2) for table in sums)
    change = np.divide(change, count, out=np.zeros_like(change), where=count > 0)
    mean = np.where(count > 0, centre + change, 0.0)
    return NormalStatistics(count, mean, np.maximum(square - count * change * change, 0.0))


@count_block.register(Poisson)
def _(_: Any, counts: _Counts, columns: Sequence[Column]) -> PoissonStatistics:
    sums = counts.sums(columns, lambda _, x: {"total": x, "base": log_rising(x, 1.0)})
    cells, total, base = (table[:, :, 0] for table in sums)
    return PoissonStatistics(total, cells, 0.0 - base)


@count_block.register(Histogram)
def _(family: Any, counts: _Counts, columns: Sequence[Column]) -> HistogramStatistics:
    if columns[0].kind == "ordered":
        return HistogramStatistics.of_levels([counts.table(column, max(len(column.values), 1)) for column in columns])
    return _in_bins(family, counts, columns)[0]


@count_block.register(Views)
def _(family: Any, counts: _Counts, columns: Sequence[Column]) -> ViewStatistics:
    return ViewStatistics.join(*_in_bins(family.generative, counts, columns))


def _in_bins(family: Any, counts: _Counts, columns: Sequence[Column]) -> tuple[HistogramStatistics, NormalStatistics]:
    """The statistics of bins, and those of a Normal."""
    edges, points = np.asarray(family._edges), np.asarray(family._points)
    centre, count, change, square = counts.changes(columns, edges)
    spans = spans_of(edges, points)
    beyond = (spans.side / spans.width * (change + count * (centre[:, None] - spans.start))).sum(axis=2)
    given = (np.broadcast_to(table[None], (counts.num_classes, *table.shape)) for table in (edges, points))
    return HistogramStatistics(count, 0.0 - beyond, *given), _normal(centre, count, change, square)
