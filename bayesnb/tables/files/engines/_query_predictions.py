"""The predictions for the rows of a query as expressions of its engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce, singledispatch
from operator import or_
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from bayesnb.compute.arrays._cells import LARGEST_CELL
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products._student import Student
from bayesnb.core.families import Histogram, Poisson
from bayesnb.core.families._normal_known_variance import NormalKnownVariance
from bayesnb.core.families._views import Views, start_powers
from bayesnb.core.fits._empirical import EmpiricalPosterior
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._combine import raise_class_probs, raised_tables
from bayesnb.tables.files.engines._expressions import log1p, log_rising, look_up, total
from bayesnb.tables.files.engines._queries import LARGEST, TEXTS, beyond, number
from bayesnb.tables.frames._columns import CODED, Column
from bayesnb.tables.frames._series import Array, DataError
from bayesnb.tables.frames._texts import DATES
from bayesnb.tables.frames._values import FLAGS

RECIPE = "read the rows, nb.predict_table(clf, query, where='here'), or predict each part of them where it lies"

Odds = list[nw.Expr]
"""What a column adds to the log odds of each class but the first against the first, [K - 1]; null where missing."""


class Cells(NamedTuple):
    """A block's ``columns``, and the name of each that holds its cells: numbers, or the values of categories."""

    columns: Sequence[Column]
    names: Sequence[str]

    @property
    def numbers(self) -> list[nw.Expr]:
        return [nw.col(name) for name in self.names]


class Wide(NamedTuple):
    """A column of so many values that their log odds [K - 1, C] are joined as a table."""

    name: str
    values: Sequence[Any]
    odds: Array


def predict_query(
    classifier: Any, query: nw.LazyFrame[Any], keep: Sequence[str], names: Sequence[str], costs: Array | None
) -> Any:
    """The query of the columns ``keep``, `prediction`, and the probabilities of the classes with these names.

    Raises:
        DataError: for a column of another type, and by name for what has no expression.
    """
    fit, schema, labels = classifier.fit_, classifier.schema_, classifier.classes_.tolist()
    if type(fit) not in (Posterior, EmpiricalPosterior):
        what = "dependence between columns" if hasattr(fit, "apart") else f"a fit that is a {type(fit).__name__}"
        raise DataError(f"{what} has no expression in an engine: fit with dependence=False, or {RECIPE}")
    types = dict(query.collect_schema())
    places = {column.name: f"bayesnb_{place}" for place, column in enumerate(schema.used)}
    cells = {places[column.name]: cell_of(column, types[column.name]) for column in schema.used}
    refused = [outside(column, types[column.name]) for column in schema.used]
    probs = np.asarray(raise_class_probs(fit.model, fit.all_powers, np.asarray(fit.model.class_mean())), float)
    with np.errstate(divide="ignore"):
        start = np.clip(np.log(probs[1:]) - np.log(probs[0]), -LARGEST_ODDS, LARGEST_ODDS)
    terms: list[Odds] = [[nw.lit(float(one)) for one in start]]
    wide: list[Wide] = []
    for block, columns in schema.blocks.items():
        family = fit.model.families[block]
        powers = start_powers(family, len(columns)) if fit.powers is None else np.asarray(fit.powers[block], float)
        found = block_odds(family, powers, Cells(columns, [places[column.name] for column in columns]))
        terms += [[one.fill_null(0.0) for one in odds] for odds in found if not isinstance(odds, Wide)]
        wide += [one for one in found if isinstance(one, Wide)]
    added = [f"bayesnb_o{k}" for k in range(1, len(labels))]
    joined = [_in_engine(query, one, added) for one in wide]  # first, as DuckDB binds all that is built again
    query = query.with_columns(**cells, bayesnb_refused=reduce(or_, refused, nw.lit(False)))
    scores = [f"bayesnb_s{k}" for k in range(len(labels))]
    odds = dict(zip(scores, [nw.lit(0.0), *map(total, zip(*terms, strict=True))], strict=True))
    query = query.select(*keep, "bayesnb_refused", *(one.name for one in wide), **odds)
    for place, one in enumerate(wide):  # each join asks about all columns, so the others are gone
        query = query.join(joined[place], left_on=one.name, right_on="bayesnb_value", how="left")
        sums = {score: nw.col(score) + nw.col(own).fill_null(0.0) for score, own in zip(scores[1:], added, strict=True)}
        left = [later.name for later in wide[place + 1 :]]
        query = query.select(*keep, "bayesnb_refused", *left, scores[0], **sums)
    query = query.with_columns(bayesnb_most=nw.max_horizontal(*map(nw.col, scores)))
    query = query.with_columns(**{name: (nw.col(name) - nw.col("bayesnb_most")).exp() for name in scores})
    probs_of = [nw.col(name) / total([nw.col(one) for one in scores]) for name in scores]
    query = query.select(*keep, "bayesnb_refused", **dict(zip(scores, probs_of, strict=True)))
    worth = [nw.col(name) for name in scores]
    if costs is not None:
        worth = [total([p * -float(cost) for p, cost in zip(worth, one, strict=True)]) for one in np.asarray(costs).T]
    query = query.with_columns(bayesnb_most=nw.max_horizontal(*worth)).with_columns(bayesnb_best=_best(worth, labels))
    given = zip(("prediction", *names), ("bayesnb_best", *scores), strict=True)  # SQLFrame reads no name with a quote
    return query.select(*keep, **{name: _unless_refused(nw.col(own)) for name, own in given}).to_native()


LARGEST_ODDS = 1e300
"""What stands for infinite log odds."""

PRECISE_POWER = 1e6
"""Of Student's t, beyond which the rounding of 1 + z^2 is felt in the tenth decimal."""

MOST_BRANCHES = 32
"""Categories that are compared one by one; those of wider columns are joined."""


def _unless_refused(x: nw.Expr) -> nw.Expr:
    return nw.when(~nw.col("bayesnb_refused").fill_null(False)).then(x)


def _best(worth: Sequence[nw.Expr], labels: Sequence[Any]) -> nw.Expr:
    """The first label whose worth is the largest, `bayesnb_most`."""
    most, found = nw.col("bayesnb_most"), nw.lit(labels[-1])
    for one, label in zip(worth[-2::-1], labels[-2::-1], strict=True):
        found = nw.when(one >= most).then(nw.lit(label)).otherwise(found)
    return found


def cell_of(column: Column, dtype: Any) -> nw.Expr:
    """The cells as numbers or as texts, as ``Column.encode`` reads them; null where they are missing.

    Raises:
        DataError: for text in a column of numbers, or numbers in one of text.
    """
    x = nw.col(column.name)
    flags = bool(column.values) and all(isinstance(value, bool) for value in column.values)
    if column.text is None:
        return nw.lit(None).cast(nw.Float64())
    held = "numbers" if dtype.is_numeric() else "dates" if dtype in DATES else "text"
    if dtype == nw.Boolean:
        if not column.text:
            return x.cast(nw.Float64())
        return nw.when(x).then(nw.lit("True")).otherwise(nw.when(~x).then(nw.lit("False")))
    if dtype in TEXTS and (column.text or flags):
        x = x.cast(nw.String())
        low, other = x.str.to_lowercase(), x if column.text else nw.lit(None).cast(nw.Float64())
        if not flags and not {*FLAGS.values()} & {*column.values}:
            return x
        for text, spelt in FLAGS.items():
            other = nw.when(low == text).then(nw.lit(spelt if column.text else float(text == "true"))).otherwise(other)
        return other
    if column.text or not dtype.is_numeric():
        fitted = "text" if column.text else "numbers"
        raise DataError(f"column '{column.name}' holds {held}, and the model was fitted to {fitted} in it")
    return number(column.name, dtype)


def outside(column: Column, dtype: Any) -> nw.Expr:
    """Whether a cell is a number that ``Column.check`` refuses."""
    if column.text is not False or not dtype.is_numeric():
        return nw.lit(False)
    most = LARGEST if column.kind in (*CODED, "own") else LARGEST_CELL
    found = beyond(column.name, dtype, most) if dtype.is_float() else nw.lit(False)
    if column.likelihood.lower() == "poisson":
        x = number(column.name, dtype)
        found = found.fill_null(False) | (x < 0.0).fill_null(False) | (x % 1.0 != 0.0).fill_null(False)
    return found.fill_null(False)


@singledispatch
def block_odds(family: Any, powers: Array, cells: Cells) -> list[Any]:
    """The ``Odds`` of each column of a block, or ``Wide`` ones, with the terms raised to powers."""
    width = len(cells.columns)
    tables = None if family.one_feature else raised_tables(family, np.broadcast_to(powers, (width,)))
    if tables is None:
        name = type(family).__name__
        raise DataError(f"{name}, as of '{cells.columns[0].name}', has no expression in an engine: {RECIPE}")
    if isinstance(tables, Student):
        return _student_odds(tables, cells.numbers)
    sizes = family.category_sizes(width)
    logs = np.split(tables.finite, np.cumsum(sizes)[:-1], axis=1)
    return [_category_odds(*given) for given in zip(cells.columns, cells.names, logs, strict=True)]


@block_odds.register(Poisson)
def _(family: Any, powers: Array, cells: Cells) -> list[Any]:
    shape, rate = (np.asarray(table, float) for table in (family.shape, family.rate))
    powers = np.broadcast_to(powers, (len(cells.columns),))

    def log(x: nw.Expr, d: int, k: int) -> nw.Expr:
        a, r = shape[k, d], rate[k, d]
        return (log_rising(x, float(a)) - x * float(np.log1p(r)) - float(a * np.log1p(1.0 / r))) * float(powers[d])

    return [[log(x, d, k) - log(x, d, 0) for k in range(1, len(shape))] for d, x in enumerate(cells.numbers)]


@block_odds.register(NormalKnownVariance)
def _(family: Any, powers: Array, cells: Cells) -> list[Any]:
    loc, scale = (np.asarray(table, float) for table in (family.loc, family.scale))
    variance = np.broadcast_to(np.asarray(family.variance, float) + scale**2, loc.shape)
    powers = np.broadcast_to(powers, (len(cells.columns),))

    def log(x: nw.Expr, d: int, k: int) -> nw.Expr:
        z = x - float(loc[k, d])
        return (z * z * float(1.0 / variance[k, d]) + float(np.log(variance[k, d]))) * float(-0.5 * powers[d])

    return [[log(x, d, k) - log(x, d, 0) for k in range(1, len(loc))] for d, x in enumerate(cells.numbers)]


@block_odds.register(Histogram)
def _(family: Any, powers: Array, cells: Cells) -> list[Any]:
    width = len(cells.columns)
    return _bin_odds(family, raised_tables(family, np.broadcast_to(powers, (width,))), cells.numbers)


@block_odds.register(Views)
def _(family: Any, powers: Array, cells: Cells) -> list[Any]:
    tables = raised_tables(family, powers)
    bins, *normal = tables if isinstance(tables, tuple) and not isinstance(tables, LogProb) else (tables,)
    found = _bin_odds(family.generative, bins, cells.numbers)
    return found + [odds for one in normal for odds in _student_odds(one, cells.numbers)]


def _student_odds(tables: Student, numbers: Sequence[nw.Expr]) -> list[Odds]:
    loc, precision, power, offset = (np.asarray(table, float) for table in tables[:4])
    middle = np.asarray(tables.centre, float).reshape(-1, len(numbers))[0]

    def log(x: nw.Expr, d: int, k: int) -> nw.Expr:
        z = (x - float(middle[d] + loc[k, d])) * float(precision[k, d])
        squares = log1p(z * z) if power[k, d] > PRECISE_POWER else (z * z + 1.0).log()
        return squares * -float(power[k, d]) + float(offset[k, d])

    return [[log(x, d, k) - log(x, d, 0) for k in range(1, len(loc))] for d, x in enumerate(numbers)]


def _bin_odds(family: Any, tables: LogProb, numbers: Sequence[nw.Expr]) -> list[Odds]:
    odds = (tables.finite[1:] - tables.finite[:1]).reshape(-1, len(numbers), family.cells)
    edges = [own[np.isfinite(own)].tolist() for own in np.asarray(family._edges)]
    return [
        [nw.when(~x.is_null()).then(look_up(x, edges[d], one.tolist())) for one in odds[:, d]]
        for d, x in enumerate(numbers)
    ]


def _category_odds(column: Column, name: str, logs: Array) -> Odds | Wide:
    odds, values = logs[1:] - logs[:1], [value if column.text else float(value) for value in column.values]
    if not values:
        return [nw.lit(0.0)] * len(odds)
    if len(values) > MOST_BRANCHES:
        return Wide(name, values, odds)
    found = []
    for one in odds:
        term = nw.lit(0.0)
        for value, own in zip(values, one, strict=True):
            term = nw.when(nw.col(name) == nw.lit(value)).then(nw.lit(float(own))).otherwise(term)
        found.append(term)
    return found


def _in_engine(query: nw.LazyFrame[Any], wide: Wide, names: Sequence[str]) -> nw.LazyFrame[Any]:
    """The values and their log odds, by these names, as a table of the engine of a query."""
    engine = str(query.implementation)
    if engine not in UPLOADS:
        raise DataError(f"columns of more than {MOST_BRANCHES} categories are not joined in {engine}: {RECIPE}")
    table = pa.table({"bayesnb_value": pa.array(wide.values), **dict(zip(names, wide.odds, strict=True))})
    return nw.from_native(UPLOADS[engine](query.to_native(), table)).lazy()


def _to_duckdb(native: Any, odds: pa.Table) -> Any:  # noqa: ARG001
    return native.query("bayesnb_rows", "select * from odds")  # DuckDB finds the variable by its name


def _to_ibis(native: Any, odds: pa.Table) -> Any:  # noqa: ARG001
    import ibis

    return ibis.memtable(odds)


def _to_spark(native: Any, odds: pa.Table) -> Any:
    return native.sparkSession.createDataFrame(odds.to_pandas())


# not Dask, which shuffles rows for a join, and then does not find them again
UPLOADS: Mapping[str, Callable[[Any, pa.Table], Any]] = {
    "polars": lambda _, odds: nw.from_arrow(odds, backend="polars").to_native(),
    "duckdb": _to_duckdb,
    "ibis": _to_ibis,
    "sqlframe": lambda native, odds: native.session.createDataFrame(odds.to_pylist()),
    **dict.fromkeys(("pyspark", "pyspark[connect]"), _to_spark),
}
