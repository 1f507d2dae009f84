"""Queries of the rows of a table, by class: sums of expressions, and how often each value occurs.

A query for each column is planned in no time and reads what it needs; one for all columns took two to three times as
long in polars and in DuckDB. NaN and infinite numbers are told apart by arithmetic and not by ``isnan``, which DuckDB
answers from the bounds in a Parquet file, and these leave NaN out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from bayesnb.tables.files.engines._expressions import look_up
from bayesnb.tables.frames._series import WITH_CATEGORIES, as_series

LABEL, VALUE, BIN, COUNT = "label", "value", "bin", "count"
"""The columns of what a query gives."""

TEXTS = (nw.String, *WITH_CATEGORIES)
LARGEST = float(np.finfo(np.float64).max)


def as_lazy(source: Any) -> Any:
    """The query, of any engine of narwhals; None for what is none, or has its rows in memory."""
    found = nw.from_native(source, pass_through=True)
    return found if isinstance(found, nw.LazyFrame) else None


def run(query: nw.LazyFrame[Any]) -> pa.Table:
    """What a query gives."""
    return query.collect(backend="pyarrow").to_native()


def number(name: str, dtype: Any) -> nw.Expr:
    """A column as float64, null for a number that is not finite."""
    x = nw.col(name).cast(nw.Float64())
    return nw.when(x - x == 0.0).then(x) if dtype.is_float() else x


def beyond(name: str, dtype: Any, most: float = LARGEST) -> nw.Expr:
    """Whether numbers lie beyond this one, up or down; NaN, which engines sort behind all numbers, does not."""
    x = nw.col(name).cast(nw.Float64())
    return (x < -most) | (x * -1.0 < -most) if dtype.is_numeric() else nw.lit(False)


def _in_order(found: pa.Table) -> pa.Table:
    """Groups by their text, because engines give them in an order that changes, and a sentence names the first."""
    of_text = pa.types.is_string(found[VALUE].type) or pa.types.is_large_string(found[VALUE].type)
    return found.sort_by(VALUE) if of_text else found


@dataclass(frozen=True)
class Queries:
    """The rows of a table that have a class.

    Attributes:
        lazy: The table.
        target: The column of classes.
    """

    lazy: nw.LazyFrame[Any]
    target: str
    _values: dict[str, pa.Table | None] = field(default_factory=dict)

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type of each column."""
        return dict(self.lazy.collect_schema())

    @cached_property
    def labels(self) -> pa.Table:
        """The values of the target, null too, and how many rows have each."""
        return run(self.lazy.select(nw.col(self.target).alias(LABEL)).group_by(LABEL).agg(nw.len().alias(COUNT)))

    def totals(self, cells: Mapping[str, nw.Expr], *totals: nw.Expr) -> dict[str, Any]:
        """Sums, bounds and counts of cells of several columns."""
        return run(self._rows.select(**cells).select(*totals)).to_pylist()[0]

    def counts(self, x: nw.Expr, most: float = np.inf) -> pa.Table | None:
        """How many rows of each label have each value that is not null; None for more than so many values."""
        query = self._cells(x).group_by(LABEL, VALUE).agg(nw.len().alias(COUNT))
        if most == np.inf:
            return _in_order(run(query))
        found = _in_order(run(query.head(int(most) * self.labels.num_rows + 1)))
        return None if found.num_rows > most and as_series(found[VALUE]).n_unique() > most else found

    def bins(self, x: nw.Expr, edges: Sequence[float], terms: Mapping[str, nw.Expr]) -> pa.Table:
        """How many numbers of each label lie in each bin, and the sums of terms of ``VALUE``, which is the number."""
        rows = self._cells(x).with_columns(look_up(nw.col(VALUE), edges, range(len(edges) + 1)).alias(BIN), **terms)
        return run(rows.group_by(LABEL, BIN).agg(nw.len().alias(COUNT), *(nw.col(name).sum() for name in terms)))

    def values(self, name: str, most: float = np.inf) -> pa.Table | None:
        """``counts`` of a column."""
        if self._values.get(name) is None:
            self._values[name] = self.counts(nw.col(name), most)
        return self._values[name]

    def distinct(self, name: str) -> int:
        """How many values a column has."""
        return run(self._rows.select(nw.col(name)).drop_nulls().select(nw.col(name).n_unique()))[0][0].as_py()

    def _cells(self, x: nw.Expr) -> nw.LazyFrame[Any]:
        rows = self._rows.select(nw.col(self.target).alias(LABEL), x.alias(VALUE))
        return rows.filter(~nw.col(VALUE).is_null())

    @cached_property
    def _rows(self) -> nw.LazyFrame[Any]:
        return self.lazy.filter(~nw.col(self.target).is_null())
