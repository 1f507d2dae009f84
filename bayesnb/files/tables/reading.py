"""Read files and scikit-learn's data sets into data frames of numbers and text, whole or in blocks of rows.

Columns are float64 (missing is NaN) or object (text; missing is None). The index is the line on which each row begins,
or the row number for Parquet, so that error messages can name the place of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.files.tables.csv_files import CsvFile
from bayesnb.files.tables.file_kinds import format_of
from bayesnb.files.tables.parquet_files import ParquetFile
from bayesnb.files.tables.row_batches import RowBatch, in_sentences
from bayesnb.frames.series import DataError, closest, numbers, round_floats, sort_of, texts

BUILT_IN = ("iris", "wine", "breast_cancer", "digits")


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


@dataclass(frozen=True, eq=False)
class FrameBlock:
    """Some rows of a file, and the fraction of the file read so far, including them."""

    frame: pd.DataFrame
    done: float


@dataclass(frozen=True, eq=False)
class RowData:
    """A file, or a data set of scikit-learn, to be read in blocks.

    Attributes:
        data: The path, or the name of the data set.
        name: Its name without the ending.
        names: The names of its columns.
        warnings: Sentences about a header that looks wrong.
        read: Takes names of columns, and of those to read as text, and yields the rows, at least one in total.
            Other columns are text in a block if one of its cells is not a number, or is one that float64 would round.
            Texts added during iteration apply to the blocks that follow.
    """

    data: str
    name: str
    names: Sequence[str]
    warnings: tuple[str, ...]
    read: Callable[[Sequence[str], Collection[str]], Iterator[FrameBlock]]


def open_data(data: str) -> RowData:
    """A CSV or Parquet file, or one of the data sets that come with scikit-learn, to be read in blocks.

    Args:
        data: The path of a file, or one of `iris`, `wine`, `breast_cancer`, `digits`. Write `./iris` for a
            file with one of these names.

    Raises:
        DataError: if the file does not exist, cannot be read, or is not a table.
    """
    if data in BUILT_IN:
        frame = _built_in(data)
        return RowData(
            data, data, list(frame.columns), (), lambda names, _: iter([FrameBlock(frame[list(names)], 1.0)])
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
    return RowData(data, path.stem, file.names, file.warnings, partial(_blocks, path))


def read(data: str) -> NamedFrame:
    """All rows of what ``open_data`` opens."""
    source, as_text = open_data(data), set[str]()
    while True:
        frames = [block.frame for block in source.read(source.names, as_text)]
        kinds = [{name for name in frame if frame[name].dtype == object} for frame in frames]
        mixed = set.union(*kinds) - set.intersection(*kinds)
        if not mixed:
            frame = pd.concat(frames) if len(frames) > 1 else frames[0]
            require_finite(data, frame)
            return NamedFrame(source.name, frame, source.names[-1], source.warnings)
        as_text |= mixed  # a column is text in some blocks only: start over


def require_finite(data: str, frame: pd.DataFrame) -> None:
    """Raise DataError, naming the line or row, if a number is infinite."""
    for name, cells in frame.select_dtypes("number").items():
        infinite = np.isinf(cells.to_numpy())
        if infinite.any():
            place = f"{'in row' if frame.index.name == 'row' else 'on line'} {frame.index[np.argmax(infinite)]}"
            raise DataError(f"column '{name}' holds an infinite number {place} of '{data}'")


def _open(path: Path, as_text: Collection[str] = ()) -> CsvFile | ParquetFile:
    return ParquetFile(path) if format_of(path) == "parquet" else CsvFile(path, texts=as_text)


def _blocks(path: Path, names: Sequence[str], as_text: Collection[str]) -> Iterator[FrameBlock]:
    file, given = _open(path, as_text), False
    for batch in file.batches(names):
        given = True
        yield FrameBlock(_frame(batch, as_text), batch.done)
    if not given:
        raise DataError(f"'{path}' has {'a header and ' if isinstance(file, CsvFile) else ''}no rows")


def _frame(batch: RowBatch, as_text: Collection[str]) -> pd.DataFrame:
    frame = nw.from_native(pa.Table.from_batches([batch.rows]), eager_only=True)
    index = pd.Index(batch.numbers(), name=batch.unit)
    columns = {}
    for name in frame.columns:
        cells = frame[name]
        sort, whole = sort_of(cells), not cells.dtype.is_float()
        # True and False are text, as in a CSV file
        if sort in ("text", "flag") or (
            sort == "number" and whole and (name in as_text or round_floats(cells) is not None)
        ):
            found = cells.to_list() if cells.dtype == nw.String else texts(cells)
            columns[name] = pd.Series(found, index=index, dtype=object)
            continue
        columns[name] = pd.Series(np.asarray(numbers(cells), np.float64), index=index)
    return pd.DataFrame(columns, index=index)


def _built_in(name: str) -> pd.DataFrame:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    frame["class"] = np.array([str(label) for label in bunch.target_names], dtype=object)[bunch.target]
    return frame.astype({"class": object})
