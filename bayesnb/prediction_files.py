"""Predictions in a file: the most probable class of each row and the probability of every class, block by block."""

from __future__ import annotations

import csv
import os
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from bayesnb.frames import Array, DataError, label

Write = Callable[[Array], None]
"""Writes p(y = k | x) [N, K] of the rows that follow."""


@contextmanager
def prediction_file(out: Path | None, classes: Sequence[Any]) -> Iterator[Write]:
    """A file, or the standard output, to write predictions to; it appears as a whole when the block ends well.

    Columns: `prediction`, and `p(class)` for each class.

    Raises:
        DataError: where it cannot be written, or its name does not end in .csv or .parquet.
    """
    names = [f"p({label(value)})" for value in classes]
    if out is None:
        yield _writer(sys.stdout, names, classes)
        return
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"predictions are written to a .csv or a .parquet file, and '{out}' is neither")
    target = out.resolve()  # a link stays one
    beside = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex}")
    try:
        with (_parquet if out.suffix.lower() == ".parquet" else _csv)(beside, names, classes) as write:
            yield write
        os.replace(beside, target)
    except OSError as error:
        raise DataError(f"'{out}' cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _csv(path: Path, names: list[str], classes: Sequence[Any]) -> Iterator[Write]:
    with path.open("x", encoding="utf-8", newline="") as handle:
        yield _writer(handle, names, classes)


@contextmanager
def _parquet(path: Path, names: list[str], classes: Sequence[Any]) -> Iterator[Write]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise DataError("Parquet files are written by pyarrow: pip install 'bayesnb[parquet]'") from error
    labels = np.array(classes)
    schema = pa.schema([("prediction", pa.array(labels).type), *((name, pa.float64()) for name in names)])
    with pq.ParquetWriter(path, schema) as writer:
        yield lambda proba: writer.write(
            pa.table([pa.array(labels[proba.argmax(axis=1)]), *map(pa.array, proba.T)], schema=schema)
        )


def _writer(handle: TextIO, names: list[str], classes: Sequence[Any]) -> Write:
    """Writes CSV, whose header comes with the first rows: where there are none to come there is no output."""
    writer = csv.writer(handle, lineterminator="\n")
    header = [["prediction", *names]]

    def write(proba: Array) -> None:
        while header:
            writer.writerow(header.pop())
        writer.writerows(_rows(proba, classes))

    return write


def _rows(proba: Array, classes: Sequence[Any]) -> Iterator[list[Any]]:
    best = proba.argmax(axis=1)
    return ([label(classes[k]), *shares] for k, shares in zip(best.tolist(), proba.tolist(), strict=True))
