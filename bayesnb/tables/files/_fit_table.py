"""Fit a table of any size: one pass over its batches describes the columns, and may count; else a second one does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._typing import ArrayLike, ByColumn, ByLabel
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.families import Family
from bayesnb.core.families.parts._bin_statistics import ViewStatistics
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._labelled_rows import LabelledRows, label_rows
from bayesnb.core.rows._model_statistics import ModelStatistics, places_of
from bayesnb.core.rows._part import choose_part, part_of_classes
from bayesnb.core.rows._sufficient_statistics import follow
from bayesnb.learned.forests._layout import Layout, Segments
from bayesnb.learned.forests._pairs import PairStatistics, count_pairs
from bayesnb.learned.validation._ratio_table import count_features
from bayesnb.tables.files._counting import count
from bayesnb.tables.files._description import Description, describe, say_unlabelled
from bayesnb.tables.files._progress import progress
from bayesnb.tables.files._table_schema import TableSchema
from bayesnb.tables.files.engines._engine_counts import count_block, count_query
from bayesnb.tables.files.engines._engine_schema import describe_query
from bayesnb.tables.files.sources._tables import open_table
from bayesnb.tables.frames._choices import AUTO
from bayesnb.tables.frames._classes import warn_of_labels
from bayesnb.tables.frames._inferred import in_python
from bayesnb.tables.frames._refusals import named
from bayesnb.tables.frames._series import Array, DataError, as_series
from bayesnb.tables.frames._values import READING, ReadingOptions
from bayesnb.tables.sklearn._fitted import Counted, Fitted, better_of, fit_counted, may_flag
from bayesnb.tables.sklearn._flags import with_flags
from bayesnb.tables.sklearn._held import Held, hold
from bayesnb.tables.sklearn._kept_rows import KeptRows
from bayesnb.tables.sklearn._settings import Parameters, Plan, plan, require

if TYPE_CHECKING:
    from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier


def fit_table(
    source: Any,
    target: str | None = None,
    likelihoods: str | Family | NaiveBayes | Sequence[object] | ByColumn = AUTO,
    weight: str | None = None,
    *,
    method: str = "default",
    class_prior: ArrayLike | ByLabel[float] | None = None,
    smoothing: float = 1.0,
    temper: bool | str | None = None,
    dependence: bool | str | None = None,
    missing: str | ByColumn | None = AUTO,
    random_state: int | np.random.RandomState | None = None,
    num_samples: int = 1000,
    statistics: ModelStatistics | None = None,
    where: str | None = None,
    sample: Any = None,
    progress_bar: bool = True,
    **reading: Unpack[ReadingOptions],
) -> NaiveBayesClassifier:
    """A classifier fitted to a table of any size, wherever its rows are.

    The first pass over the rows finds the kinds, the categories and the classes, the second counts, a few batches of
    rows at a time; a table of less than 500 MB is read once. Rows without a class are left out, with a warning. The
    result equals ``NaiveBayesClassifier.fit`` to rounding, but for bins: of more than 10,000 rows these are found in
    the first 10,000, which should be in no order. Categories that no row has, and a frame's type declares, do not count
    here. For the powers a table of more than 500 MB is read once more, and again for the pairs of its columns; both
    again with flags of missing cells, where ``missing`` is `auto` and the rows of the powers lack some.

    Args:
        source: A CSV or Parquet file, or a folder of such files; a data frame of pandas, polars or pyarrow, or a
            pyarrow Dataset; a query of DuckDB, Ibis, polars (a LazyFrame), Spark, SQLFrame or Dask, which runs for each
            pass; a stream of Arrow batches (a RecordBatchReader, or an object with ``__arrow_c_stream__``) or a cursor
            of ADBC, which are read once, so that they must be small enough to be kept, or a function without arguments
            that opens one; or a list of these, one after the other, with the columns of the first. Types may differ
            between parts as long as a column is numbers in all, or text in all. Or the schema that
            ``nb.describe_table`` returns, with ``statistics``.
        target: The column of classes; by default the last.
        likelihoods, method, class_prior, smoothing, temper, dependence, missing, random_state, num_samples: As for
            ``NaiveBayesClassifier``. Rows that an engine or a schema counts have flags if ``missing`` asks for them, of
            a schema that of ``nb.describe_table``; `auto` has none there.
        weight: The column of weights, if rows have some; rows of weight zero do not count.
        statistics: Those of all rows, counted under the schema: ``nb.merge(*[schema.count(part) for part in parts])``.
        where: "engine" to have the engine of a query count its rows: a LazyFrame of polars, a query of DuckDB, or a
            table of Spark, Ibis, SQLFrame or Dask. What leaves it are sums and counts, by class and value, and a
            sample. Dependence between columns is not learned, and rows have no weights.
        sample: For an engine, rows in which edges of bins are found and powers are learned: any source. By default the
            engine gives up to 50,000 rows, the first ones of each class.
        progress_bar: Whether to show a progress bar on stderr if that is a terminal.
        **reading: What texts mean, in the words of pandas: ``na_values``, a text or number or a list of them, stand for
            missing cells beside those of docs/how_to/where_is_your_data.md, which ``keep_default_na=False`` leaves out;
            ``decimal``, ``thousands`` and ``sep`` are the marks in numbers and between cells of CSV files. The model
            remembers them for its predictions.

    Raises:
        ValueError: if the source, the target or another argument does not fit, naming the part and the row. A
            ``StreamError`` has the ``statistics`` of the rows before.

    Example:
        >>> import pandas as pd, bayesnb as nb
        >>> frame = pd.DataFrame({"leaf": [1.0, 1.2, 3.0, 3.1], "kind": ["rose", "rose", "lily", "lily"]})
        >>> clf = nb.fit_table([frame[:2], frame[2:]], "kind", {"leaf": "normal"})
        >>> dict(clf.likelihoods_), clf.classes_.tolist(), clf.class_count_.tolist()
        ({'leaf': 'normal'}, ['lily', 'rose'], [2.0, 2.0])
    """
    params: dict[str, Any] = {"method": method, "class_prior": class_prior, "smoothing": smoothing, "temper": temper}
    params |= {"dependence": dependence, "missing": missing, "random_state": random_state, "num_samples": num_samples}
    require(Parameters(**params))
    declared = READING.declare(reading)
    if not isinstance(target, str | None):
        raise DataError(f"target must be the name of a column, got {type(target).__name__}; estimators take X and y")
    if isinstance(source, TableSchema):
        if not (target is weight is None and likelihoods is AUTO and missing == AUTO and declared == READING):
            raise DataError(
                "a schema has its target, likelihoods, weight and flags, and no rows are read: leave these out"
            )
        described, params["missing"] = source.require(statistics), source.asked.missing
    elif where is not None:
        if where != "engine" or statistics is not None or dependence:
            raise DataError(
                f"where is 'engine' or None, got {where!r}; in an engine there are no statistics and no dependence"
            )
        found, queries = describe_query(source, target, likelihoods, weight, sample, declared, missing)
        described, statistics = found.description, count_query(found, queries)
        if dependence is None and method == "default" and temper is None:
            warn("engines do not count pairs of columns, so dependence between them is not learned: dependence=False")
        params["dependence"] = False
    elif sample is not None:
        raise DataError("a sample goes with where='engine'")
    elif statistics is not None:
        raise DataError("statistics go with a schema, nb.fit_table(schema, statistics=...), and this source is none")
    else:
        opened = open_table(source, declared)
        with progress(f"describing {opened.title}", 1.0, wanted=progress_bar) as advance:
            counted = weight is None and not (temper or (method == "default" and temper is None))
            how: Any = {"missing": missing, "counted": counted}
            described = describe(opened, target, likelihoods, advance, in_python, weight, **how)
    if described.num_unlabelled:
        warn(say_unlabelled(described.num_unlabelled, described.target.name))
    for warning in described.warnings:
        warn(warning)
    held = fit_described(described, statistics, progress_bar=progress_bar, **params)
    from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier  # imports scikit-learn

    return hold(NaiveBayesClassifier(), vars(held))


fit_file = fit_table
"""The name of ``fit_table`` for paths."""


def fit_described(
    described: Description,
    counted: ModelStatistics | None = None,
    *,
    progress_bar: bool = True,
    **params: Any,
) -> Held:
    """What a classifier fitted to the rows of a table holds.

    Args:
        described: The description of the table.
        counted: The statistics of its rows in all views, if they have been counted.
        progress_bar: Whether to show a progress bar on stderr.
        **params: Parameters of the classifier other than ``likelihoods``, which are those that the user has chosen.

    Raises:
        StreamError: if a block does not fit the description.
    """
    asked, schema = Parameters(described.chosen or AUTO, **params), described.schema
    with named(schema, described.classes):
        found, some = _fit(described, counted, asked, progress_bar)
    if described.weight is None:
        warn_of_labels(found.classes, np.asarray(found.statistics.class_counts))
    flagged = with_flags(schema, some) if counted is None and some is not None and may_flag(asked, found) else None
    if flagged is not None:
        other, _ = _fit(replace(described, schema=flagged[0], counts=None), None, asked, progress_bar)
        found = better_of(found, other)
    names = {"n_features_in_": len(schema.names), "feature_names_in_": np.array(schema.names, dtype=object)}
    return hold(Held(), asked._asdict() | names)._hold(found, declared=False, target=described.target.name)


def _fit(
    described: Description, counted: ModelStatistics | None, asked: Parameters, progress_bar: bool
) -> tuple[Fitted, KeptRows | None]:
    """The fit, and the rows from which it learned."""
    schema, classes = described.schema, np.array(described.classes)
    sparse = [block for block, columns in schema.blocks.items() if columns[0].kind == "words"]
    planned = plan(asked, schema, classes, num_rows=described.num_rows, sparse=sparse)
    if counted is None and described.counts and described.counts.has(planned.model, schema.used):
        statistics = _count_values(described, planned.model)
    elif counted is None:
        statistics = count(planned.model, described, num_classes=len(classes), progress_bar=progress_bar)
    else:
        blocks = {name: _of_model(block, planned.model.families[name]) for name, block in counted.blocks.items()}
        statistics = replace(counted, blocks=blocks, classes=None, schema=None)
    some = None if planned.powers is False else _some_rows(described, planned, statistics)
    if counted is None and described.num_rows > limits.EDGE_ROWS:
        planned = planned._replace(count_pairs=partial(_count_pairs, described))
    return fit_counted(asked, Counted(schema, planned.model, statistics), classes, planned, some), some


def _count_values(described: Description, model: NaiveBayes) -> ModelStatistics:
    """The statistics of the rows, from what was counted when they were described."""
    counts: Any = described.counts
    blocks = {name: count_block(model.families[name], counts, some) for name, some in described.schema.blocks.items()}
    codes = described.target.encode(as_series(pa.array([*counts.rows])), described.schema.reading)
    places = places_of(range(len(described.classes)), codes.tolist())
    return ModelStatistics(counts.class_counts(), blocks).spread_classes(places)


def _of_model(statistics: Any, family: Any) -> Any:
    """The statistics of a block for this family, which may be one of the views that were counted."""
    seen = isinstance(statistics, ViewStatistics) and not issubclass(family.statistics_type, ViewStatistics)
    return statistics.of(family) if seen else statistics


def _some_rows(described: Description, planned: Plan, statistics: ModelStatistics) -> KeptRows:
    """The rows on which powers are learned; all of a table whose fit is that of its rows."""
    model = follow(planned.model, statistics)  # bins are known
    by_feature = () if planned.powers is True else planned.powers
    part: Any = None
    most: Array | None = None
    for rows in _batches(described, model):
        if part is None and described.num_rows > limits.EDGE_ROWS:
            num_powers = sum(count_features(rows, by_feature).values())
            most = part_of_classes(described.num_rows, np.asarray(statistics.class_counts), num_powers)
        own = choose_part(rows, most)
        part = own if part is None else choose_part(part.above(own), most)
    return KeptRows(part, model.single, whole=False)


def _count_pairs(described: Description, model: NaiveBayes, layout: Layout, segments: Segments) -> PairStatistics:
    """The statistics of pairs of all rows."""
    return reduce(PairStatistics.merge, (count_pairs(layout, rows, segments) for rows in _batches(described, model)))


def _batches(described: Description, model: NaiveBayes) -> Iterator[LabelledRows]:
    """The rows of a table, encoded for the model."""
    for batch in described.source.batches(described.names, described.texts):
        X, codes, weight = described.encode(described.labelled(batch).rows, None)
        yield label_rows(model, X, codes, weight, num_classes=len(described.classes))
