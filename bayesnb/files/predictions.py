"""Write predictions to a file block by block: each row's most probable class and all class probabilities."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayesnb.files.sources.csv_cells import line
from bayesnb.files.whole_file import whole_file
from bayesnb.frames.series import Array, DataError, label

Write = Callable[[Array, Array], None]
"""A function that appends p(y = k | x) [N, K] of the next rows, and the numbers of the predicted classes [N]."""


@contextmanager
def prediction_file(out: Path | None, classes: Sequence[Any]) -> Iterator[Write]:
    """Open a file, or the standard output, for predictions; the file appears only if the block succeeds.

    Columns: `prediction`, and `p(class)` for each class. In CSV, class names that a spreadsheet would run, such as
    `=1+1`, get a leading apostrophe; see ``csv_cells``.

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
