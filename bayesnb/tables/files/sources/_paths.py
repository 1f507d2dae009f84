"""Files and folders at a path, and scikit-learn's data sets, as sources.

CSV is read as numbers and text, and Parquet in its types, but for whole numbers that float64 would round: they are
text. Text remains encoded: Python sees each distinct text of a batch, never each cell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.tables.files.sources._csv import CsvFile
from bayesnb.tables.files.sources._parquet import ParquetFile
from bayesnb.tables.files.sources._places import BUILT_IN, require_data
from bayesnb.tables.files.sources._source import Part, RowBatch, Source, format_of, in_sentences, plain_rows, row_batch
from bayesnb.tables.frames._series import DataError, numbers, texts
from bayesnb.tables.frames._values import READING, Reading

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What Hive writes in a folder's name for a missing value."""


@dataclass(frozen=True)
class KeptFile:
    """Batches in memory as a file."""

    kept: Sequence[RowBatch]
    schema: pa.Schema

    def batches(self, names: Sequence[str], texts: Collection[str] = ()) -> Iterator[RowBatch]:
        del texts
        for batch in self.kept:
            yield replace(batch, rows=batch.rows.select(list(names)))


def open_data(data: str, reading: Reading = READING) -> Source:
    """A CSV or Parquet file, a folder of such files, or one of the data sets that come with scikit-learn.

    All Parquet or all CSV files under a folder are read, sorted by name; folder names such as ``year=2020`` in
    ``year=2020/part.parquet`` become columns.

    Args:
        data: The path of a file or a folder, or one of `iris`, `wine`, `breast_cancer`, `digits`. Write `./iris` for a
            file with one of these names.
        reading: What the user has declared of its cells.

    Raises:
        DataError: if the file does not exist, cannot be read, or is not a table.
    """
    if data in BUILT_IN:
        return of_frame(data, _built_in(data)).read_as(reading)
    require_data(data)
    path = Path(data)
    files = _files_of(path)
    keys = _folder_keys([file.relative_to(path) for file in files])
    opener: Any = ParquetFile if format_of(files[0]) == "parquet" else partial(CsvFile, reading=reading)
    first = opener(files[0])
    schema = first.schema
    if not schema.names:
        raise DataError(f"'{files[0]}' has no columns")
    for name, value in keys[0].items():
        schema = schema if name in schema.names else schema.append(pa.field(name, value.type))
    parts = [_file_part(file, opener, some) for file, some in zip(files, keys, strict=True)]
    return Source(data, path.stem, schema, parts, first.warnings).read_as(reading)


def of_frame(name: str, frame: pd.DataFrame) -> Source:
    """A data frame in memory; whole numbers that float64 would round are text."""
    rows, _ = plain_rows(pa.RecordBatch.from_pandas(frame, preserve_index=False))
    file = KeptFile([row_batch(rows, 0, 1.0)], rows.schema)
    return Source(name, name, rows.schema, [Part(f"'{name}'", rows.num_rows, lambda: file)])


def _built_in(name: str) -> Any:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    frame["class"] = np.array([str(label) for label in bunch.target_names], dtype=object)[bunch.target]
    return frame.astype({"class": object})


def keep(source: Source, batches: Sequence[RowBatch]) -> Source:
    """The source with these batches, which are all of its rows, in place of its parts."""
    of_part: dict[Part, list[RowBatch]] = {part: [] for part in source.parts}
    for batch in batches:
        of_part[batch.part or source.parts[0]].append(batch)
    schema = batches[0].rows.schema
    return replace(source, parts=[replace(p, open=partial(KeptFile, rows, schema)) for p, rows in of_part.items()])


def as_pandas(batch: RowBatch) -> pd.DataFrame:
    """The rows as a data frame of numbers, dates and text, indexed by each row's line or number in the file."""
    index = pd.Index(batch.numbers(), name=batch.unit)
    columns = {}
    for name in batch.frame.columns:
        cells = batch.frame[name]
        if cells.dtype in (nw.Date, nw.Datetime):
            columns[name] = cells.to_numpy().astype("datetime64[ns]")
        else:
            columns[name] = numbers(cells) if cells.dtype.is_numeric() else pd.Series(texts(cells), index, dtype=object)
    return pd.DataFrame(columns, index)


def _file_part(file: Path, opener: Callable[[Path], Any], keys: Mapping[str, pa.Scalar]) -> Part:
    """A file at a path of this machine as a part of a source; when it has changed since, it is not opened."""
    before = file.stat()

    def open_unchanged() -> Any:
        with in_sentences(file):
            now = file.stat()
            if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise DataError(f"'{file}' has changed while the files were read: read them when all are written")
        return opener(file)

    return Part(f"'{file}'", before.st_size, open_unchanged, keys)


def _files_of(path: Path) -> list[Path]:
    """The files under a folder, of one kind; a file alone is read as CSV unless its name says otherwise."""
    if not path.is_dir():
        return [path]
    shown = (
        file for file in path.rglob("*") if not any(p.startswith((".", "_")) for p in file.relative_to(path).parts)
    )
    files = sorted(file for file in shown if format_of(file))
    kinds = {format_of(file) for file in files}
    if len(kinds) > 1:
        raise DataError(f"'{path}' holds {' and '.join(sorted(kinds))} files: give a folder with files of one kind")
    if not kinds:
        raise DataError(
            f"'{path}' holds no files that end in .parquet, .csv or .tsv: give a folder that does, or a file"
        )
    return files


def _folder_keys(files: Sequence[Path]) -> list[dict[str, pa.Scalar]]:
    """The columns in each file's folder names: whole numbers if they are so in all files, otherwise text."""
    pairs = [[part.partition("=") for part in file.parent.parts if "=" in part] for file in files]
    keys = [{unquote(name): unquote(value) for name, _, value in some} for some in pairs]
    texts = {name for some in keys for name, value in some.items() if not value.isdecimal() and value != NULL_FOLDER}

    def scalar(name: str, value: str) -> pa.Scalar:
        text = pa.scalar(None if value == NULL_FOLDER else value, pa.string())
        return text if name in texts else text.cast(pa.int32())

    return [{name: scalar(name, value) for name, value in some.items()} for some in keys]
