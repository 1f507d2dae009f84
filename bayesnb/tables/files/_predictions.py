"""Predict the rows of a table of any size, and write the predictions to a file, block by block."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, Unpack

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayesnb.compute.arrays._typing import ArrayLike, ByLabel
from bayesnb.core.results._decisions import decide
from bayesnb.core.storage._whole_file import whole_file
from bayesnb.inspection.sensitivity._robustness import own_s_star
from bayesnb.tables.files._progress import progress
from bayesnb.tables.files.sources._csv import line
from bayesnb.tables.files.sources._paths import as_pandas, open_data
from bayesnb.tables.files.sources._places import require_table_name
from bayesnb.tables.files.sources._source import RowBatch, Source, at_row, read_ahead
from bayesnb.tables.files.sources._tables import open_table
from bayesnb.tables.frames._refusals import named
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import DataError, closest, label, listing, plain_text
from bayesnb.tables.frames._values import ReadingOptions
from bayesnb.tables.sklearn._held import Held
from bayesnb.tables.sklearn._settings import costs_by_label

if TYPE_CHECKING:
    from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier


def predict_table(
    classifier: NaiveBayesClassifier,
    source: Any,
    *,
    keep: str | Sequence[str] | None = None,
    costs: ArrayLike | ByLabel[ByLabel[float]] | None = None,
    to: str | os.PathLike[str] | TextIO | None = None,
    where: str | None = None,
    robustness: bool = False,
    progress_bar: bool = True,
    **reading: Unpack[ReadingOptions],
) -> Any:
    """The predictions for all rows of a table of any size, as `bayesnb predict` writes them, in constant memory.

    Columns: those of ``keep``, `prediction`, and `p(class)` for each class. Columns that the fit did not have, such as
    that of the classes, are left out; missing cells and unknown categories count as in ``clf.predict_proba``. Kept
    columns have their own types; those of a CSV file, which has none, are text. In CSV, text that a spreadsheet would
    run, such as `=1+1`, gets a leading apostrophe.

    The rows of a query, such as a LazyFrame of polars, a query of DuckDB or a table of Spark, are read block by block
    too. Its engine may give them in any order, so keep what tells them apart.

    Args:
        classifier: A classifier that was fitted to a table, whose columns have names.
        source: Any source of ``fit_table``, such as a path, a frame, a query or a stream.
        keep: Columns of the source to copy, such as `["id"]`.
        costs: As for ``clf.predict``: the prediction is then the decision of least expected cost.
        to: A .csv or .parquet file to write, which appears when it is whole; or an open text file, which gets CSV.
        where: "here" or None: an engine counts rows, ``fit_table(where="engine")``, and predicts none.
        robustness: Whether a column `s_star` says how many pseudo-rows of any content would change each prediction:
            ``clf.robustness``, for tables of categories.
        progress_bar: Whether to show a progress bar on stderr if that is a terminal.
        **reading: As for ``fit_table``, in place of what was given there.

    Returns:
        The number of rows if they were written; otherwise a frame of the library of a ``source`` that is a frame, or a
        table of Arrow.

    Raises:
        ValueError: if the columns or cells do not fit the classifier, ``keep`` is not possible, or the file cannot be
            written.

    Example:
        >>> import pandas as pd, bayesnb as nb
        >>> frame = pd.DataFrame({"leaf": [1.0, 1.2, 3.0, 3.1], "kind": ["rose", "rose", "lily", "lily"]})
        >>> clf = nb.NaiveBayesClassifier({"leaf": "normal"}).fit(frame[["leaf"]], frame["kind"])
        >>> new = pd.DataFrame({"id": [7, 8], "leaf": [1.1, 2.9]})
        >>> nb.predict_table(clf, new, keep=["id"]).round(2)
           id prediction  p(lily)  p(rose)
        0   7       rose     0.08     0.92
        1   8       lily     0.90     0.10
    """
    schema = _schema(classifier)
    schema = replace(schema, reading=schema.reading.declare(reading))
    classifier.require_prior_of_fit()
    if where not in (None, "here"):
        raise DataError(
            f"where is 'here' or None, got {where!r}: predictions are made here, of rows that are read block by block; "
            "an engine counts rows, nb.fit_table(query, where='engine')"
        )
    labels, table = pa.array(classifier.classes_), None if costs is None else costs_by_label(costs, classifier.classes_)
    probs = [pa.field(f"p({label(value)})", pa.float64()) for value in classifier.classes_.tolist()]
    own = [pa.field("prediction", labels.type), *probs, *([pa.field("s_star", pa.float64())] if robustness else [])]
    if robustness and table is not None:
        raise DataError("s_star is of the most probable class, not of the decision of least cost: give one of the two")
    taken = {field.name for field in own}
    rows = open_table(source, schema.reading)
    if isinstance(to, str | os.PathLike) and os.path.realpath(to) == os.path.realpath(rows.data):
        raise DataError(f"'{to}' holds the rows, and would be overwritten: write the predictions to another file")
    copied = _kept(keep, rows.names, rows.title, taken)
    fields = [pa.field(name, _plain_type(rows.schema.field(name).type)) for name in copied]
    columns = pa.schema([*fields, *own])

    def predict(batch: RowBatch) -> pa.RecordBatch:
        def score(some: slice) -> tuple[Any, Any]:
            X = schema.encode(batch.frame[some])
            return X, np.asarray(classifier.fit_.predict_proba(X))

        place = rows.title if batch.part is None else batch.part.name
        with named(schema, classifier.classes_), at_row(place, batch.rows.num_rows, score, batch.where(place)):
            X, proba = score(slice(None))
        best = proba.argmax(axis=1) if table is None else np.asarray(decide(proba, table).labels)
        own = {name: batch.rows[name] for name in copied}
        own |= {name: batch.given[name] for name in copied if batch.given and name in batch.given.schema.names}
        cells = [plain_text(own[field.name]).cast(field.type) for field in fields]
        numbers = [*proba.T, *([own_s_star(classifier.fit_, X)] if robustness else [])]
        arrays = [*cells, labels.take(pa.array(best)), *(pa.array(p, pa.float64()) for p in numbers)]
        return pa.RecordBatch.from_arrays(arrays, schema=columns)

    found: list[pa.RecordBatch] = []
    num_rows = 0
    writer = nullcontext(found.append) if to is None else table_file(to, columns)
    blocks = closing(_read(classifier, rows, copied))
    show = progress(f"predicting {rows.title}", 1.0, wanted=progress_bar)
    with show as advance, writer as write, blocks as batches:
        for batch in batches:
            write(predict(batch))
            num_rows += batch.rows.num_rows
            advance(batch.done, num_rows)
    return num_rows if to is not None else _as_given(pa.Table.from_batches(found), source)


def _kept(keep: str | Sequence[str] | None, known: Sequence[str], title: str, taken: Collection[str]) -> list[str]:
    """The columns to copy."""
    names = [] if keep is None else [keep] if isinstance(keep, str) else list(dict.fromkeys(keep))
    for name in names:
        if name not in known:
            hint = closest(str(name), known) or f"; its columns are {listing(known)}"
            raise DataError(f"keep names the column {name!r}, which {title} does not have{hint}")
        if name in taken:
            raise DataError(f"keep names the column '{name}', as a column of the predictions is called: rename it")
    return names


def _plain_type(kind: pa.DataType) -> pa.DataType:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_null(kind) or pa.types.is_string_view(kind)  # the columns of CSV have no types
    return pa.large_string() if text else kind


def _as_given(table: pa.Table, source: Any) -> Any:
    """The table as a frame of the library of the source, with the index of pandas; else a table of Arrow."""
    frame = nw.from_native(source, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return table
    if isinstance(source, pd.DataFrame):
        return table.to_pandas().set_axis(source.index)
    return nw.from_arrow(table, backend=frame.implementation).to_native()


@contextmanager
def table_file(to: str | os.PathLike[str] | TextIO, schema: pa.Schema) -> Iterator[Callable[[Any], None]]:
    """Open a .csv or .parquet file, and yield what appends rows; it appears only if the block succeeds.

    Raises:
        DataError: if the file cannot be written, exists and is not a regular file, or has another ending.
    """
    if not isinstance(to, str | os.PathLike):
        if not hasattr(to, "write"):
            raise DataError(f"to must be a path, or a text file that is open, got {to!r}")
        yield _csv_writer(to, schema)
        return
    out = Path(to)
    require_table_name(out)
    try:
        with whole_file(out) as handle, ExitStack() as stack:
            if out.suffix.lower() == ".parquet":
                yield stack.enter_context(pq.ParquetWriter(handle, schema)).write_batch
            else:
                text = TextIOWrapper(handle, encoding="utf-8", newline="")
                stack.callback(text.detach)  # whole_file closes the file
                yield _csv_writer(text, schema)
    except OSError as error:
        raise DataError(f"'{out}' cannot be written: {error.strerror or error}") from error


def _csv_writer(handle: TextIO, schema: pa.Schema) -> Callable[[Any], None]:
    """A function that writes CSV; the header comes with the first rows, so no rows give no output."""
    for field in schema:
        if pa.types.is_nested(field.type):
            raise DataError(f"column '{field.name}' holds {field.type}, which CSV does not: write .parquet")
    header = [line(schema.names)]

    def write(rows: pa.RecordBatch) -> None:
        while header:
            handle.write(header.pop())
        lines = pc.binary_join_element_wise(*map(_as_written, rows.columns), ",").to_pylist()
        handle.write("\n".join([*lines, ""]))

    return write


def _as_written(column: pa.Array) -> pa.Array:
    """The cells as texts of CSV; numbers at once, other distinct cells one by one."""
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column.cast(pa.string()).fill_null("")
    encoded = column.dictionary_encode()
    texts = pa.array([line([label(value)])[:-1] for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices).fill_null("")


def row_of(classifier: Held, data: str, row: int) -> pd.DataFrame:
    """One row of a file as a frame with the columns of the fit; rows are numbered from 1.

    Raises:
        DataError: if the file has no such row, or lacks columns of the fit.
        StreamError: naming the line of the first cell read with it that does not fit, if the row is refused.
    """
    schema, before = _schema(classifier), 0
    source = open_data(data, schema.reading)
    for batch in _read(classifier, source):
        if row <= before + batch.rows.num_rows:
            one = batch.keep(np.arange(before + 1, before + batch.rows.num_rows + 1) == row)
            place = source.title if one.part is None else one.part.name

            def encode(some: slice, frame: Any = batch.frame) -> Any:
                return schema.encode(frame[some])

            with at_row(place, batch.rows.num_rows, encode, batch.where(place)):
                try:
                    schema.encode(one.frame)
                except DataError:  # one odd cell makes text of a column: it may be of another row
                    encode(slice(None))
                    raise
            return as_pandas(one).reindex(columns=schema.names)
        before += batch.rows.num_rows
    raise DataError(f"'{data}' has {before:,} rows, so there is no row {row:,}; the first is 1")


def _read(classifier: Held, source: Source, kept: Sequence[str] = ()) -> Generator[RowBatch]:
    """The columns of the fit and those to copy; in CSV these are text unless they are numbers of the fit."""
    schema = _schema(classifier)
    schema.require(source.names)
    others = [name for name in source.names if name in schema.names or name not in kept]
    schema.warn_of_extra(others, classifier._target)
    used = {column.name: bool(column.text) for column in schema.used}
    texts = {name for name in (*used, *kept) if used.get(name, True)}
    return read_ahead(source.batches([*used, *(name for name in kept if name not in used)], texts))


def _schema(classifier: Any) -> Schema:
    if not isinstance(classifier, Held):
        raise DataError(f"expected a fitted NaiveBayesClassifier, got a {type(classifier).__name__}")
    classifier._require_fitted()
    if not (isinstance(classifier.schema_, Schema) and classifier.schema_.named):
        raise DataError("the model was fitted to an array, whose columns have no names: give an array to predict_proba")
    return classifier.schema_
