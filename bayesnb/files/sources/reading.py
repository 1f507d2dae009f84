"""Read files, data frames and scikit-learn's data sets as numbers and text alone.

The columns of a batch are float64 (missing is NaN or null) or text (missing is null), which remains encoded: Python
sees each distinct text of a batch, never each cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.files.sources.batches import RowBatch, format_of, in_sentences, row_batch
from bayesnb.files.sources.csv import CsvFile
from bayesnb.files.sources.csv_cells import TEXT
from bayesnb.files.sources.parquet import ParquetFile
from bayesnb.files.sources.source import File, Part, Source, file_part
from bayesnb.frames.series import DataError, closest, factorise, numbers, round_floats, sort_of, texts

BUILT_IN = ("iris", "wine", "breast_cancer", "digits")

BATCH_BYTES = 32 << 20
"""Bytes of a batch of Parquet if all cells are float64; each column of a batch costs about a millisecond besides."""


@dataclass(frozen=True)
class PlainFile:
    """A file read as numbers and text.

    A column is text in a batch if one of its cells is not a number, or is one that float64 would round.
    """

    file: File

    @property
    def schema(self) -> pa.Schema:
        """The columns, with the types that they have in the file."""
        return self.file.schema

    def batches(self, names: Sequence[str], start: int = 0, texts: Collection[str] = ()) -> Iterator[RowBatch]:
        for batch in self.file.batches(names, start, texts):
            yield _as_numbers_and_text(batch, texts)


@dataclass(frozen=True)
class KeptFile:
    """Batches in memory as a file."""

    kept: Sequence[RowBatch]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the first batch."""
        return self.kept[0].rows.schema

    def batches(self, names: Sequence[str], start: int = 0, texts: Collection[str] = ()) -> Iterator[RowBatch]:
        del start, texts
        for batch in self.kept:
            yield replace(batch, rows=batch.rows.select(list(names)))


def open_data(data: str) -> Source:
    """A CSV or Parquet file, or one of the data sets that come with scikit-learn, as numbers and text.

    Args:
        data: The path of a file, or one of `iris`, `wine`, `breast_cancer`, `digits`. Write `./iris` for a
            file with one of these names.

    Raises:
        DataError: if the file does not exist, cannot be read, or is not a table.
    """
    if data in BUILT_IN:
        return of_frame(data, _built_in(data))
    path = Path(data)
    with in_sentences(path):
        exists = path.exists()
    if not exists:
        hint = closest(data, BUILT_IN) or f"; the built-in data sets are {', '.join(BUILT_IN)}"
        raise DataError(f"there is no file '{path}'{hint}")
    if path.is_dir():
        raise DataError(f"'{path}' is a directory; give the CSV or Parquet file inside it")
    parquet = format_of(path) == "parquet"
    file = ParquetFile(path, batch_bytes=BATCH_BYTES) if parquet else CsvFile(path)
    if not file.names:
        raise DataError(f"'{path}' has no columns")
    return Source(data, path.stem, file.schema, [file_part(path, partial(PlainFile, file))], file.warnings)


def of_frame(name: str, frame: pd.DataFrame) -> Source:
    """A data frame in memory, as numbers and text."""
    rows = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    file = PlainFile(KeptFile([row_batch(rows, 0, 1.0)]))
    return Source(name, name, rows.schema, [Part(name, f"{rows.num_rows} rows", rows.num_rows, lambda: file)])


def keep(source: Source, batches: Sequence[RowBatch]) -> Source:
    """The source of these batches, which are all of its first part, in place of that."""
    return replace(source, parts=[replace(source.parts[0], open=lambda: KeptFile(batches))])


def _as_numbers_and_text(batch: RowBatch, as_text: Collection[str]) -> RowBatch:
    columns = {}
    for name in batch.frame.columns:
        columns[name] = batch.rows[name]
        if columns[name].type in (pa.float64(), TEXT):
            continue
        cells = batch.frame[name]
        sort, whole = sort_of(cells), not cells.dtype.is_float()
        # True and False are text, as in a CSV file
        if sort == "flag" or (sort == "number" and whole and (name in as_text or round_floats(cells) is not None)):
            codes, found = factorise(cells)
            positions = pa.array(codes, mask=codes < 0)
            columns[name] = pa.DictionaryArray.from_arrays(positions, pa.array(found, pa.string()))
        elif sort != "text":
            columns[name] = pa.array(np.asarray(numbers(cells), np.float64))
    return replace(batch, rows=pa.RecordBatch.from_pydict(columns))


def as_pandas(batch: RowBatch) -> pd.DataFrame:
    """The rows as a data frame of float64 and object columns, indexed by each row's line or number in the file."""
    index = pd.Index(batch.numbers(), name=batch.unit)
    columns = {}
    for name in batch.frame.columns:
        cells = batch.frame[name]
        columns[name] = numbers(cells) if cells.dtype.is_float() else pd.Series(texts(cells), index, dtype=object)
    return pd.DataFrame(columns, index)


def _built_in(name: str) -> Any:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    frame["class"] = np.array([str(label) for label in bunch.target_names], dtype=object)[bunch.target]
    return frame.astype({"class": object})
