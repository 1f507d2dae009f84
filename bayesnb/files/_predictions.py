"""Predict the rows of a file, and write predictions to a file, block by block."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayesnb.files._whole_file import whole_file
from bayesnb.files.sources._csv import line
from bayesnb.files.sources._paths import as_pandas, open_data
from bayesnb.files.sources._source import RowBatch
from bayesnb.frames._schema import Schema
from bayesnb.frames._series import Array, DataError, label
from bayesnb.frames._summaries import summarise_column
from bayesnb.frames._values import require_finite
from bayesnb.sklearn._estimator import NaiveBayesClassifier

Write = Callable[[Array, Array], None]
"""A function that appends p(y = k | x) [N, K] of the next rows, and the numbers of the predicted classes [N]."""


@contextmanager
def prediction_file(out: Path | None, classes: Sequence[Any]) -> Iterator[Write]:
    """Open a file, or the standard output, for predictions; the file appears only if the block succeeds.

    Columns: `prediction`, and `p(class)` for each class. In CSV, class names that a spreadsheet would run, such as
    `=1+1`, get a leading apostrophe; see ``sources.csv``.

    Raises:
        DataError: if the file cannot be written, exists and is not a regular file, or does not end in .csv or
            .parquet.
    """
    names = [f"p({label(value)})" for value in classes]
    if out is None:
        yield _writer(sys.stdout, names, classes)
        return
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"predictions are written to a .csv or a .parquet file, and '{out}' is neither")
    form = _parquet if out.suffix.lower() == ".parquet" else _csv
    try:
        with whole_file(out) as handle, form(handle, names, classes) as write:
            yield write
    except OSError as error:
        raise DataError(f"'{out}' cannot be written: {error.strerror or error}") from error


@contextmanager
def _csv(handle: BinaryIO, names: list[str], classes: Sequence[Any]) -> Iterator[Write]:
    text = TextIOWrapper(handle, encoding="utf-8", newline="")
    try:
        yield _writer(text, names, classes)
    finally:
        text.detach()  # the caller closes the file


@contextmanager
def _parquet(handle: BinaryIO, names: list[str], classes: Sequence[Any]) -> Iterator[Write]:
    labels = np.array(classes)
    schema = pa.schema([("prediction", pa.array(labels).type), *((name, pa.float64()) for name in names)])
    with pq.ParquetWriter(handle, schema) as writer:
        yield lambda proba, best: writer.write(
            pa.table([pa.array(labels[best]), *map(pa.array, proba.T)], schema=schema)
        )


def _writer(handle: TextIO, names: list[str], classes: Sequence[Any]) -> Write:
    """A function that writes CSV; the header comes with the first rows, so no rows give no output."""
    labels = pa.array([line([label(value)])[:-1] for value in classes])
    header = [line(["prediction", *names])]

    def write(proba: Array, best: Array) -> None:
        while header:
            handle.write(header.pop())
        cells = [labels.take(pa.array(best)), *(pa.array(p).cast(pa.string()) for p in proba.T)]
        handle.writelines(f"{row}\n" for row in pc.binary_join_element_wise(*cells, ",").to_pylist())

    return write


def predict_file(classifier: NaiveBayesClassifier, data: str) -> Iterator[tuple[RowBatch, Array]]:
    """Yield each batch of rows of a file with its predictions p(y = k | x), [N, K].

    Raises:
        DataError: if the file cannot be read, or its columns or cells differ from those of the fit.
    """
    for batch in _batches_for(classifier, data):
        yield batch, np.asarray(classifier.fit_.predict_proba(_schema(classifier).encode(batch.frame)))


def row_of(classifier: NaiveBayesClassifier, data: str, row: int) -> pd.DataFrame:
    """One row of a file as a frame with the columns of the fit; rows are numbered from 1.

    Raises:
        DataError: if the file has no such row, or lacks columns of the fit.
    """
    before = 0
    for batch in _batches_for(classifier, data):
        if row <= before + batch.rows.num_rows:
            return as_pandas(batch)[row - before - 1 : row - before].reindex(columns=_schema(classifier).names)
        before += batch.rows.num_rows
    raise DataError(f"'{data}' has {before:,} rows, so there is no row {row:,}; the first is 1")


def _batches_for(classifier: NaiveBayesClassifier, data: str) -> Iterator[RowBatch]:
    """The columns of the fit, batch by batch; DataError, naming the place, for infinite numbers and for odd text."""
    source, schema = open_data(data), _schema(classifier)
    schema.require(source.names)
    schema.warn_of_extra(source.names)
    texts = {column.name for column in schema.used if column.text}
    for batch in source.batches([column.name for column in schema.used], texts):

        def where(row: int, batch: RowBatch = batch) -> str:
            return f" {batch.place(row)} of '{data}'"

        for column in schema.used:
            cells = batch.frame[column.name]
            if cells.dtype.is_float():
                require_finite(cells.to_numpy(), column.name, where)
            elif column.text is False and not cells.dtype.is_numeric():
                try:
                    column.encode(cells)
                except DataError as error:
                    _, place = summarise_column(cells, batch.place).odd or ("", "")  # numbers as text have no odd cell
                    file = f"{place.partition(' ')[2]} of '{data}'" if place else f"'{data}'"
                    raise DataError(f"{file}: {error}") from error
        yield batch


def _schema(classifier: NaiveBayesClassifier) -> Schema:
    if not (isinstance(classifier.schema_, Schema) and classifier.schema_.named):
        raise DataError("the model was fitted to an array, whose columns have no names: predict in Python")
    return classifier.schema_
