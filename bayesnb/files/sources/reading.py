"""Read files and scikit-learn's data sets as numbers and text: in batches of Arrow columns, or whole as a data frame.

The columns of a batch are float64 (missing is NaN) or text (missing is null), which remains encoded: Python sees each
distinct text of a batch, never each cell. In the data frame text is object (missing is None), and the index is the line
on which each row begins, or the row number for Parquet, so that error messages can name the place of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.files.sources.batches import RowBatch, format_of, in_sentences, place_of
from bayesnb.files.sources.csv import CsvFile
from bayesnb.files.sources.parquet import ParquetFile, row_batch
from bayesnb.frames.choices import kind_for_column
from bayesnb.frames.column_kinds import SKIP, require_finite
from bayesnb.frames.series import DataError, Frame, closest, factorise, numbers, round_floats, sort_of, texts

BUILT_IN = ("iris", "wine", "breast_cancer", "digits")

BATCH_BYTES = 32 << 20
"""Bytes of a batch of Parquet if all cells are float64; each column of a batch costs about a millisecond besides."""


@dataclass(frozen=True, eq=False)
class NamedFrame:
    """A data frame read from a file or data set.

    Attributes:
        name: The name of the data; a report's default folder is named after it.
        frame: Rows by columns, float64 or object, indexed by each row's line in the file.
        target: The default column of classes.
        warnings: Sentences about suspicious data.
    """

    name: str
    frame: pd.DataFrame
    target: str
    warnings: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """The place of a row in the file, such as `on line 7`."""
        return place_of("row" if self.frame.index.name == "row" else "line", self.frame.index[row])


@dataclass(frozen=True, eq=False)
class RowData:
    """A file, or a data set of scikit-learn, to be read in batches.

    Attributes:
        data: The path, or the name of the data set.
        name: Its name without the ending.
        names: The names of its columns.
        warnings: Sentences about a header that looks wrong.
        read: Takes names of columns, and of those to read as text, and yields the rows, at least one in total.
            Other columns are text in a batch if one of its cells is not a number, or is one that float64 would round.
            Texts added during iteration apply to the batches that follow.
    """

    data: str
    name: str
    names: Sequence[str]
    warnings: tuple[str, ...]
    read: Callable[[Sequence[str], Collection[str]], Iterator[RowBatch]]


def open_data(data: str) -> RowData:
    """A CSV or Parquet file, or one of the data sets that come with scikit-learn, to be read in batches.

    Args:
        data: The path of a file, or one of `iris`, `wine`, `breast_cancer`, `digits`. Write `./iris` for a
            file with one of these names.

    Raises:
        DataError: if the file does not exist, cannot be read, or is not a table.
    """
    if data in BUILT_IN:
        rows = pa.RecordBatch.from_pandas(_built_in(data), preserve_index=False)
        return RowData(
            data, data, rows.schema.names, (), lambda names, _: iter([row_batch(rows.select(list(names)), 0, 1.0)])
        )
    path = Path(data)
    with in_sentences(path):
        exists = path.exists()
    if not exists:
        hint = closest(data, BUILT_IN) or f"; the built-in data sets are {', '.join(BUILT_IN)}"
        raise DataError(f"there is no file '{path}'{hint}")
    if path.is_dir():
        raise DataError(f"'{path}' is a directory; give the CSV or Parquet file inside it")
    file = _open(path)
    if not file.names:
        raise DataError(f"'{path}' has no columns")
    return RowData(data, path.stem, file.names, file.warnings, partial(_batches, path))


def read(data: str, target: str | None = None, kinds: Mapping[str, str] | None = None) -> NamedFrame:
    """All rows of what ``open_data`` opens; the columns that ``kinds`` leave out are empty."""
    source, as_text = open_data(data), set[str]()
    target, kinds = source.names[-1] if target is None else target, kinds or {}
    names = [name for name in source.names if name == target or kind_for_column(kinds, name, source.names) != SKIP]
    while True:
        frames = [as_pandas(batch) for batch in source.read(names, as_text)]
        texts_of = [{name for name in frame if frame[name].dtype == object} for frame in frames]
        mixed = set.union(*texts_of) - set.intersection(*texts_of)
        if not mixed:
            frame = pd.concat(frames) if len(frames) > 1 else frames[0]
            found = NamedFrame(source.name, frame.reindex(columns=source.names), source.names[-1], source.warnings)
            require_finite_frame(data, nw.from_native(frame), found.place)
            return found
        as_text |= mixed  # a column is text in some blocks only: start over


def require_finite_frame(data: str, rows: Frame, place: Callable[[int], str]) -> None:
    """Raise DataError, naming the place, if a number is infinite."""
    for name in rows.columns:
        if rows[name].dtype.is_float():
            require_finite(rows[name].to_numpy(), name, lambda row: f" {place(row)} of '{data}'")


def _open(path: Path, as_text: Collection[str] = ()) -> CsvFile | ParquetFile:
    parquet = format_of(path) == "parquet"
    return ParquetFile(path, batch_bytes=BATCH_BYTES) if parquet else CsvFile(path, texts=as_text)


def _batches(path: Path, names: Sequence[str], as_text: Collection[str]) -> Iterator[RowBatch]:
    file, given = _open(path, as_text), False
    for batch in file.batches(names):
        given = True
        yield _as_numbers_and_text(batch, as_text)
    if not given:
        raise DataError(f"'{path}' has {'a header and ' if isinstance(file, CsvFile) else ''}no rows")


def _as_numbers_and_text(batch: RowBatch, as_text: Collection[str]) -> RowBatch:
    columns = {}
    for name in batch.frame.columns:
        cells = batch.frame[name]
        sort, whole = sort_of(cells), not cells.dtype.is_float()
        if sort == "text":
            columns[name] = batch.rows[name]
        # True and False are text, as in a CSV file
        elif sort == "flag" or (sort == "number" and whole and (name in as_text or round_floats(cells) is not None)):
            codes, found = factorise(cells)
            positions = pa.array(codes, mask=codes < 0)
            columns[name] = pa.DictionaryArray.from_arrays(positions, pa.array(found, pa.string()))
        else:
            columns[name] = pa.array(np.asarray(numbers(cells), np.float64))
    return replace(batch, rows=pa.RecordBatch.from_pydict(columns))


def as_pandas(batch: RowBatch) -> pd.DataFrame:
    """The rows as a data frame of float64 and object columns."""
    index = pd.Index(batch.numbers(), name=batch.unit)
    columns = {}
    for name in batch.frame.columns:
        cells = batch.frame[name]
        columns[name] = numbers(cells) if cells.dtype.is_float() else pd.Series(texts(cells), index, dtype=object)
    return pd.DataFrame(columns, index)


def _built_in(name: str) -> pd.DataFrame:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    frame["class"] = np.array([str(label) for label in bunch.target_names], dtype=object)[bunch.target]
    return frame.astype({"class": object})
