"""Describe the table of a query: kinds, categories, classes and bounds of all rows, and the sample that is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files._summarise_table import Asked, RowSample, ask, summarise_source
from bayesnb.tables.files._table_schema import TableSchema
from bayesnb.tables.files.engines._as_read import as_read
from bayesnb.tables.files.engines._queries import COUNT, LABEL, VALUE, Queries, as_lazy, beyond, number, run
from bayesnb.tables.files.sources._source import Source
from bayesnb.tables.files.sources._tables import open_table
from bayesnb.tables.frames._choices import AUTO
from bayesnb.tables.frames._columns import SKIP
from bayesnb.tables.frames._inferred import infer
from bayesnb.tables.frames._series import Array, DataError, are_missing, as_series
from bayesnb.tables.frames._summaries import Summary, summarise_column
from bayesnb.tables.frames._texts import DATES, Texts, encoded
from bayesnb.tables.frames._values import READING, Reading

SOME_ROW = "in some row of the query"


def describe_query(
    source: Any,
    target: str | None,
    likelihoods: Any,
    weight: str | None,
    sample: Any = None,
    reading: Reading = READING,
    missing: Any = AUTO,
) -> tuple[TableSchema, Queries]:
    """The schema of the table of a query, and the queries of its rows.

    Of text that identifies rows in the sample no values are fetched.

    Args:
        source: The query.
        target, likelihoods, weight, missing: As for ``fit_table``.
        reading: Which texts are missing.
        sample: Rows in which edges are found and powers learned; None for the first ones of each class.

    Raises:
        DataError: if it is no query, and as for ``describe_table``.
    """
    lazy = as_lazy(source)
    if lazy is None:
        raise DataError(
            "where='engine' takes a query of an engine, such as polars.scan_parquet(path), duckdb.sql(query) or "
            f"spark.table(name), got a {type(source).__name__}: leave where out"
        )
    if weight is not None:
        raise DataError("rows are not weighted in an engine: leave where out, or repeat rows in the query")
    none = _opened(run(lazy.head(0)), reading)
    asked = ask(none, target, likelihoods, None, missing)
    read = [name for name in (*asked.names, asked.target) if name not in asked.left_out]
    queries = Queries(as_read(lazy, read, reading), asked.target)
    types = lazy.collect_schema() if lazy.implementation.is_polars() else {}
    levels = {name: tuple(dtype.categories) for name, dtype in types.items() if isinstance(dtype, nw.Enum)}
    weights = None
    if sample is None:
        rows, weights = _first_rows(queries)
        opened = _opened(rows, reading)
    else:
        opened = replace(open_table(sample, reading), name="the sample")
        if {*opened.names} != {*none.names}:
            raise DataError(f"the sample must have the columns of the query, {none.names}, got {opened.names}")
    summaries, _, kept, _ = summarise_source(opened, asked, sampled=True)
    summaries |= {name: replace(summaries[name], levels=levels[name]) for name in levels.keys() & summaries.keys()}
    if weights is not None:
        kept = replace(RowSample.of(rows.combine_chunks().to_batches()[0], asked.target, weights), whole=False)
    return TableSchema(asked, _of_all_rows(queries, asked, summaries), kept), queries


def _opened(rows: pa.Table, reading: Reading) -> Source:
    source = open_table(rows, reading)
    return replace(source, data="the query", parts=[replace(part, name="the query") for part in source.parts])


def _first_rows(queries: Queries) -> tuple[pa.Table, Array | None]:
    """All rows if they are few, else the first of each class with weights for the rows that they stand for."""
    found, name = queries.labels.filter(queries.labels[LABEL].is_valid()), queries.target
    total = int(found[COUNT].to_numpy().sum())
    if total <= limits.KEPT_ROWS:
        return run(queries.lazy), None
    most = max(limits.FETCHED_ROWS // max(found.num_rows, 1), limits.FEWEST_OF_CLASS)
    parts, weights = [], []
    for label, count in zip(found[LABEL].to_pylist(), found[COUNT].to_pylist(), strict=True):
        same = nw.col(name) == nw.lit(label)
        if isinstance(label, Decimal):  # Dask says that no two are equal; engines write a zero in one of two ways
            same = nw.col(name).cast(nw.String()).is_in([str(label), f"{label:f}"])
        parts.append(run(queries.lazy.filter(same).head(most)))
        weights.append(np.full(parts[-1].num_rows, count / max(parts[-1].num_rows, 1)))
    return pa.concat_tables(parts, promote_options="permissive"), np.concatenate(weights)


def _of_all_rows(queries: Queries, asked: Asked, sampled: Mapping[str, Summary]) -> dict[str, Summary]:
    """The summaries of all rows, given those of the sample."""
    labels = queries.labels
    found = {asked.target: _of_values(sampled[asked.target], labels, int(labels[COUNT].to_numpy().sum()), None)}
    num_rows, chosen = found[asked.target].num_cells, asked.chosen
    read = [name for name in asked.names if chosen.get(name) != SKIP]
    bounds = _bounds(queries, [name for name in read if queries.types[name].is_numeric() and not sampled[name].text])
    for name in read:
        kind, own, dtype = chosen.get(name), sampled[name], queries.types[name]
        if dtype in DATES and kind is not None:
            raise DataError(
                f"column '{name}' holds {dtype}, which engines write in many ways: make it text or a number"
            )
        coded = kind in ("categorical", "bernoulli", "ordered") or isinstance(kind, tuple)
        if name in bounds:
            own = _of_numbers(own, bounds[name], num_rows)
            if kind is None and _may_number_rows(own) and queries.distinct(name) == own.num_cells:
                own = replace(own, numbers=pd.RangeIndex(own.num_cells))  # as many, whatever they are
            few = coded or (kind is None and sampled[name].distinct <= limits.FEW_VALUES)
            values = queries.values(name, np.inf if coded else limits.MOST_NUMBERS) if few else None
            found[name] = own if values is None else _of_values(own, values, num_rows, kind)
        elif dtype in DATES or (kind is None and own.num_cells and infer(own).kind == SKIP and own.distinct > 1):
            found[name] = own
        else:
            values = queries.values(name, np.inf if coded else limits.MOST_VALUES)
            found[name] = replace(own, texts=None) if values is None else _of_values(own, values, num_rows, kind)
    return found


def _bounds(queries: Queries, names: list[str]) -> dict[str, Any]:
    """How many numbers each column has, their bounds, and whether all are whole."""
    if not names:
        return {}
    cells, totals = {}, []
    for place, name in enumerate(names):
        dtype, x = queries.types[name], nw.col(f"x{place}")
        cells[f"x{place}"] = number(name, dtype)
        totals += [x.count().alias(f"count{place}"), x.min().alias(f"low{place}"), x.max().alias(f"high{place}")]
        if not dtype.is_integer():
            cell = cells[f"x{place}"]
            part = (cell % 1.0 != 0.0) | ((cell * cell < 1.0) & (cell != 0.0))  # DuckDB says that 1e-17 % 1.0 is 0
            cells[f"infinite{place}"] = beyond(name, dtype).cast(nw.Int64())
            cells[f"broken{place}"] = part.cast(nw.Int64())
            totals += [nw.col(f"{what}{place}").sum() for what in ("infinite", "broken")]
    row = queries.totals(cells, *totals)
    found = {}
    for place, name in enumerate(names):
        infinite, broken = (row.get(f"{what}{place}") or 0 for what in ("infinite", "broken"))
        if infinite > 0:
            raise DataError(f"column '{name}' holds an infinite number {SOME_ROW}: leave out the cell or its row")
        low, high = (row[f"{what}{place}"] for what in ("low", "high"))
        found[name] = row[f"count{place}"], low, high, broken == 0
    return found


def _of_numbers(sampled: Summary, bounds: Any, num_rows: int) -> Summary:
    """The summary of numbers in all rows, of which the distinct ones are not known."""
    count, low, high, whole = bounds
    if not count:
        return replace(sampled, num_cells=0, missing=num_rows)
    largest = max(low, high, key=abs)
    return replace(
        sampled,
        num_cells=count,
        missing=num_rows - count,
        text=False,
        texts=None,
        numbers=None,
        whole=whole,
        span=(low, high),
        largest=(largest, SOME_ROW),
    )


def _may_number_rows(column: Summary) -> bool:
    """Whether each whole number of a range may occur once, or half of them, as ``infer`` asks."""
    low, high = column.span
    return column.whole and not column.repeated and column.num_cells >= (high - low + 1) / 2


def _of_values(sampled: Summary, values: pa.Table, num_rows: int, chosen: Any) -> Summary:
    """The summary of all rows, of which the distinct values are known."""
    column = next(c for c in (VALUE, LABEL) if c in values.column_names)
    cells, counts = as_series(values[column]).alias(sampled.name), values[COUNT].to_numpy()
    num_cells = int(counts[~are_missing(cells)].sum())
    found = summarise_column(cells, lambda _: SOME_ROW, chosen=chosen)
    found = replace(found, num_cells=num_cells, missing=num_rows - num_cells)
    found = replace(found, repeated=found.distinct < num_cells, declared=sampled.declared, levels=sampled.levels)
    if found.texts is None or not num_cells:
        return found
    codes, names = encoded(cells)
    cells_of = np.bincount(codes + 1, weights=counts, minlength=len(names) + 1)[1:, None]
    return replace(found, texts=Texts(names, cells_of, found.most))
