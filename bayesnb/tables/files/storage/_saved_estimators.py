"""Estimators from files: classes, columns, statistics and fit must be valid and consistent."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.core.rows._model_statistics import check_classes
from bayesnb.core.storage._encoding import require_types
from bayesnb.core.storage._kinds import STORED, Kind, no_result, rebuild, store
from bayesnb.core.storage._saved_results import check_statistics, same_result
from bayesnb.tables.files._summarise_table import RowSample
from bayesnb.tables.frames._blocks import AnySchema, BlocksSchema
from bayesnb.tables.frames._columns import CODED, KINDS, SKIP, Column
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._summaries import Summary
from bayesnb.tables.frames._texts import Texts
from bayesnb.tables.frames._values import Reading
from bayesnb.tables.frames._words import Vectorizer, WordColumn, make, plain_params, vectorizer_of
from bayesnb.tables.sklearn._fitted import model_like
from bayesnb.tables.sklearn._held import Held, hold
from bayesnb.tables.sklearn._kept_rows import KeptRows
from bayesnb.tables.sklearn._settings import Parameters, has_views, specification

LEARNED = (
    *("classes_", "schema_", "statistics_", "fit_"),
    *("feature_names_in_", "_declared", "_num_learned", "_has_too_many_pairs", "_target", "_unlabelled"),
)
"""Attributes of a fitted estimator, besides its parameters. Those of the second line are not in each file: names of
columns, whether classes were declared, from how many rows powers were learned, why there is no dependence, the
column of labels, and what rows without a label did. Rows that ``partial_fit`` keeps stand apart, if at all."""


def _write_arrow(value: Any) -> list[Any]:
    table, sink = value if isinstance(value, pa.Table) else pa.table({"": value}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return [isinstance(value, pa.Table), np.frombuffer(sink.getvalue(), np.uint8)]


def _read_arrow(is_table: bool, content: Any) -> Any:
    table = pa.ipc.open_stream(content.tobytes()).read_all()
    table.validate(full=True)
    return table if is_table else table.column(0).combine_chunks()


def _write_estimator(estimator: Any) -> list[Any]:
    learned = {name: getattr(estimator, name) for name in LEARNED if hasattr(estimator, name)}
    if "fit_" not in learned:
        raise ValueError("it has not been fitted")
    if type(estimator) is not Held and type(estimator) is not _public_class():
        raise ValueError("a class derived from NaiveBayesClassifier has no file: give a NaiveBayesClassifier")
    estimator.require_prior_of_fit()
    return [{name: getattr(estimator, name) for name in sorted(Parameters._fields)}, learned]


def _read_estimator(params: dict[str, Any], learned: dict[str, Any]) -> Held:
    if not set(LEARNED[:4]) <= set(learned) <= set(LEARNED):
        raise ValueError(f"an estimator has the attributes {', '.join(LEARNED)}, got {', '.join(learned)}")
    if odd := {*params} - {*Parameters._fields}:
        raise ValueError(f"an estimator has no parameter {min(odd)}")
    require_types("NaiveBayesClassifier", Held, learned)
    estimator = hold(Held(), params | learned)
    estimator.prior_of_fit_, estimator.n_features_in_ = estimator.class_prior, len(estimator.schema_.names)
    return estimator


def _public_class() -> Any:
    from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier  # imports scikit-learn

    return NaiveBayesClassifier


def _check_estimator(estimator: Held) -> Any:
    estimator._asked()
    schema, statistics = estimator.schema_, estimator.statistics_
    check_schema(schema)
    names = list(getattr(estimator, "feature_names_in_", schema.names))
    if len(names) != len(schema.names) or (schema.named and names != schema.names):
        raise ValueError(f"feature_names_in_ are {names}, the schema has {schema.names}")
    fit = estimator.fit_ = rebuild(estimator.fit_)
    labels = estimator.classes_.tolist()
    check_classes(labels)
    views = has_views(schema, fit.model)
    model = specification(Parameters(class_prior=estimator.class_prior), schema, estimator.classes_, views=views)
    for one in (model, fit.model):
        check_statistics(statistics, one)
    if model.single != fit.model.single:
        raise ValueError("the schema and fit_ must both have one block, or both several")
    if statistics.classes not in (None, tuple(labels)):
        raise ValueError(f"statistics_ are of the classes {list(statistics.classes)}, classes_ are {labels}")
    no_rows = {block: np.zeros((0, len(columns))) for block, columns in schema.names_by_block.items()}
    num_classes = fit.predict_proba(no_rows["x"] if fit.model.single else no_rows).shape[1]
    if num_classes != len(labels):
        raise ValueError(f"classes_ has {len(labels)} labels, fit_ has {num_classes} classes")
    return estimator


def describe_rows(fit: Any) -> dict[str, Any]:
    """The rows that an estimator keeps, as arrays; ValueError if it keeps none."""
    kept: KeptRows | None = getattr(fit, "_kept", None)
    if kept is None:
        raise ValueError(
            "rows=True writes the rows that partial_fit has kept, and it has none: leave it out, or fit by partial_fit "
            "from the first rows on, with keep_rows=True"
        )
    arrays = {
        block: (x.data, x.indices, x.indptr, *x.shape) if is_sparse(x) else x for block, x in kept.rows.arrays.items()
    }
    return {"arrays": arrays, **kept.rows.labels._asdict(), "single": kept.single, "whole": kept.whole}


def keep_rows(estimator: Held, described: dict[str, Any]) -> None:
    """Give an estimator its rows again; ValueError unless its statistics are theirs, or those of more rows."""
    given = {
        block: scipy.sparse.csr_array(x[:3], shape=x[3:]) if isinstance(x, tuple) else x
        for block, x in described["arrays"].items()
    }
    schema, classes = estimator.schema_, estimator.classes_
    labels = Labels(described["y"], described["weight"])
    rows = LabelledRows({}, given, labels, len(classes))
    kept = KeptRows(rows, described["single"], described["whole"])
    model = model_like(estimator._asked(), schema, classes, estimator._fitted())
    grown, counted = schema.count(model, *kept.given)
    whole = estimator.statistics_.named(None)
    if kept.whole:
        known = same_result(counted, whole)
    else:
        known = bool((counted.class_counts <= whole.class_counts * (1.0 + 1e-9)).all())
    if grown != schema or not known:
        raise ValueError("the rows that it keeps are not those of its statistics")
    estimator._kept = kept


def check_schema(schema: AnySchema) -> None:
    """Raise ValueError unless columns are used, and each is one that fitting could have produced."""
    for name, part in (schema.parts if isinstance(schema, BlocksSchema) else {schema.prefix: schema}).items():
        if part.prefix != name:
            raise ValueError(f"part {name!r} of the schema must have its name, got {part.prefix!r}")
        for column in part.columns:
            _check_column(column, named=part.named)
        for family in (part.family, *(column.family for column in part.columns)):
            if family is not None:
                family.__post_init__()  # the checks of its constructor
    if len({*schema.names}) < len(schema.names):
        raise ValueError(f"columns of the schema must have different names, got {schema.names}")
    if not schema.blocks:
        raise ValueError("columns of the schema must not all be left out")


def _check_column(column: Column, *, named: bool) -> None:
    kind, values = column.kind, column.values
    most = 1 if named or kind == "categorical" else limits.MOST_SAVED_COLUMNS
    read = isinstance(column, WordColumn) and vectorizer_of(column.vectorizer) is not None
    if (
        kind not in (*KINDS, "words", "own", SKIP)
        or (kind == "words") != read
        or (kind == "own") != bool(column.family)
    ):
        raise ValueError(f"column {column.name!r} must have the vectorizer or the family of its kind, got {column!r}")
    if column.text and kind not in (*CODED, "words", SKIP):
        raise ValueError(f"column {column.name!r} is {kind} and cannot contain text")
    if not 0 < column.width <= most:
        raise ValueError(f"width of column {column.name!r} must be a number of columns of an array, got {column.width}")
    if not named:
        if values != (range(len(values)) if kind == "categorical" else ()) or values == range(0):
            raise ValueError(f"values of a column of an array must be codes 0, 1, ..., got {values!r}")
        return
    types: set[type] = {str} if column.text else {bool, int, float}
    if not {*map(type, values)} <= types or any(value != value for value in values[:1]):
        raise ValueError(f"values of column {column.name!r} must be texts or numbers, as its cells are, got {values!r}")
    ordered = kind == "ordered" and len({*values}) == len(values)
    if not (ordered or all(map(operator.lt, values, values[1:]))) or (kind == "bernoulli" and len(values) != 2):
        raise ValueError(f"values of column {column.name!r} must be different, and in order, got {values!r}")


store(Schema, Reading, BlocksSchema, Column, WordColumn, Summary, Texts, RowSample)(no_result)
STORED["index"] = Kind("index", pd.Index, write=pd.Index.to_numpy, read=pd.Index)
STORED["arrow"] = Kind("arrow", pa.Array | pa.Table, write=_write_arrow, read=_read_arrow)
STORED["vectorizer"] = Kind(
    "vectorizer",
    Vectorizer,
    write=lambda one: [type(one).__name__, plain_params(one)],
    read=lambda name, params: vectorizer_of(make(name, params)),
)
STORED["estimator"] = Kind(
    "estimator",
    Held,
    check=_check_estimator,
    write=_write_estimator,
    read=_read_estimator,
    rows=(describe_rows, keep_rows),
    public=lambda held: hold(_public_class()(), vars(held)),
)
