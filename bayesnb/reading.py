"""Files and scikit-learn's data sets, read into data frames of numbers and text, whole or in blocks of rows.

A frame made here has columns of two types only: float64 (missing is NaN) and object (text; missing is None). Its
index is the line of the file on which each row begins, of a Parquet file the number of the row, so that whoever refuses
a cell can say where it stands.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.csv_cells import as_read
from bayesnb.file_kinds import require_csv, require_parquet
from bayesnb.frames import LARGEST_INTEGER, DataError, closest, is_number, is_rounded

BUILT_IN = ("iris", "wine", "breast_cancer", "digits")
CSV_PROBLEMS = {"unexpected end": "a quoted cell is never closed", "expected after": "a quoted cell has text after it"}
MISSING = frozenset({"", "NA", "nan", "NaN", "NAN", "?"})
ROWS_IN_BLOCK = 1 << 16
Wanted = Callable[[str], bool]
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Source:
    """A data frame as it was read.

    Attributes:
        name: What to call the data; the default folder of a report is named after it.
        frame: Rows by columns, float64 or object, the index being the line of each row.
        target: The column that holds the classes unless the user names another.
        warnings: Sentences about what looks wrong and was read all the same.
    """

    name: str
    frame: pd.DataFrame
    target: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a file: a frame, and the share of the file that has been read with them."""

    frame: pd.DataFrame
    done: float


def read(data: str) -> Source:
    """Read a CSV or Parquet file, or one of the data sets that come with scikit-learn.

    Args:
        data: The path of a file, or one of `iris`, `wine`, `breast_cancer`, `digits`. A file that bears one of these
            names is reached as `./iris`.

    Raises:
        DataError: The file is not there, cannot be read, or is not a table.
    """
    if data in BUILT_IN:
        return _read_built_in(data)
    path = _existing(data)
    texts: set[str] = set()
    while (frame := _whole(_blocks(path, texts, None), texts)) is None:
        pass  # a column that began with numbers turned out to be text: once more
    warnings = () if path.suffix.lower() in PARQUET else _header_warnings(list(frame.columns))
    return Source(path.stem, frame, str(frame.columns[-1]), warnings)


def _whole(blocks: Iterator[Block], texts: set[str]) -> pd.DataFrame | None:
    """All rows; None where a column that is text in some blocks is not among ``texts``, and now is."""
    frames = [block.frame for block in blocks]
    kinds = [{name for name in frame if frame[name].dtype == object} for frame in frames]
    mixed = set.union(*kinds) - set.intersection(*kinds)
    texts |= mixed
    return None if mixed else pd.concat(frames) if len(frames) > 1 else frames[0]


def read_blocks(data: str, texts: Collection[str] = frozenset(), wanted: Wanted | None = None) -> Iterator[Block]:
    """The same rows some at a time, every block with the same columns; at least one row in all.

    Args:
        data: As for ``read``.
        texts: Columns that are text. Others are text in a block where one of its cells is no number, or one that floats
            would round; names that are added on the way hold for the blocks that follow.
        wanted: Says by its name whether a column is read; the others may hold anything.

    Raises:
        DataError: as ``read``, when the rows before have been given.
    """
    if data in BUILT_IN:
        frame = _read_built_in(data).frame
        yield Block(frame if wanted is None else frame[[name for name in frame if wanted(name)]], 1.0)
    else:
        yield from _blocks(_existing(data), texts, ROWS_IN_BLOCK, wanted)


def _blocks(path: Path, texts: Collection[str], num_rows: int | None, wanted: Wanted | None = None) -> Iterator[Block]:
    if path.suffix.lower() in PARQUET:
        from bayesnb.reading_parquet import parquet_blocks

        with _sentences(path):
            require_parquet(path)
        return parquet_blocks(path, num_rows or ROWS_IN_BLOCK, texts, wanted)
    return csv_blocks(path, texts, num_rows, wanted)


def csv_blocks(
    path: Path, texts: Collection[str], num_rows: int | None, wanted: Wanted | None = None
) -> Iterator[Block]:
    """The rows of a CSV file, so many at a time or all; see ``read_blocks``."""
    with _sentences(path), path.open("rb") as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as handle:
        require_csv(path, file.peek(16))
        rows = _rows(path, handle)
        _, header = next(rows)
        size = max(path.stat().st_size, 1)
        given = 0
        while block := list(islice(rows, num_rows)):
            given += len(block)
            yield Block(_frame(path, header, block, texts, wanted), min(file.tell() / size, 1.0))
        if not given:
            raise DataError(f"'{path}' has a header and no rows")


def _read_built_in(name: str) -> Source:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    frame["class"] = np.array([str(label) for label in bunch.target_names], dtype=object)[bunch.target]
    frame["class"] = frame["class"].astype(object)
    return Source(name, frame, "class")


def _existing(data: str) -> Path:
    path = Path(data)
    with _sentences(path):
        exists = path.exists()
    if not exists:
        hint = closest(data, BUILT_IN) or f"; the built-in data sets are {', '.join(BUILT_IN)}"
        raise DataError(f"there is no file '{path}'{hint}")
    if path.is_dir():
        raise DataError(f"'{path}' is a directory; give the CSV or Parquet file inside it")
    return path


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """What is raised for a file that cannot be read, in a sentence."""
    try:
        yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(f"'{path}' is not UTF-8 text (it holds the byte 0x{byte:02x}); save it as UTF-8") from error
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error


def _frame(
    path: Path, header: list[str], rows: list[tuple[int, list[str]]], texts: Collection[str], wanted: Wanted | None
) -> pd.DataFrame:
    lines = [line for line, _ in rows]
    index = pd.Index(lines, name="line")
    cells = zip(header, zip(*(row for _, row in rows), strict=True), strict=True)
    used = ((name, column) for name, column in cells if wanted is None or wanted(name))
    columns = {name: _parse(column, text=name in texts) for name, column in used}
    for name, column in columns.items():
        if column.dtype != object and np.isinf(column).any():
            line = lines[int(np.argmax(np.isinf(column)))]
            raise DataError(f"column '{name}' holds an infinite number on line {line} of '{path}'")
    return pd.DataFrame({name: pd.Series(column, index=index, dtype=column.dtype) for name, column in columns.items()})


def _rows(path: Path, handle: Any) -> Iterator[tuple[int, list[str]]]:
    """The header, and every row with the line on which it begins; all rows are as wide as the header.

    pandas fills a short row with missing cells and shifts a long one into the index, both without a word, so the
    standard library's reader does the work.
    """
    first = re.sub('"[^"]*("|$)', "", handle.readline())  # what is in quotes separates nothing
    handle.seek(0)
    delimiter = "\t" if path.suffix == ".tsv" else max(",;\t", key=first.count)
    reader = csv.reader(handle, delimiter=delimiter, skipinitialspace=True, strict=True)
    header: list[str] = []
    next_line = 1
    try:
        for row in reader:
            line, next_line = next_line, reader.line_num + 1
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if not header:
                header = row = _header(row, path)
            elif len(row) != len(header):
                raise DataError(
                    f"line {line} of '{path}' has {_count(len(row), 'cell')} where the header has {len(header)}"
                )
            yield line, row
    except csv.Error as error:
        problem = next((words for sign, words in CSV_PROBLEMS.items() if sign in str(error)), str(error))
        raise DataError(f"line {next_line} of '{path}' is not CSV: {problem}") from error
    if not header:
        raise DataError(f"'{path}' is empty")


def _header(row: list[str], path: Path) -> list[str]:
    names = [name.strip() or f"column {position}" for position, name in enumerate(row, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"'{path}' has more than one column named '{twice[0]}'; is its header line missing?")
    return names


def _parse(cells: Sequence[str], *, text: bool) -> np.ndarray[Any, Any]:
    """Make an array of floats where every cell is a number or missing, else, or if it has to be so, of text.

    Whole numbers that floats would round are text: as such they are told apart.
    """
    stripped = [cell.strip() for cell in cells]
    if not text and not any("_" in cell for cell in stripped):  # Python reads 1_000 as a number; in a file it is a name
        filled = ["nan" if cell in MISSING else cell for cell in stripped]
        with suppress(ValueError):
            numbers = np.array(filled, dtype=object).astype(np.float64)
            large = np.flatnonzero(np.abs(numbers) >= LARGEST_INTEGER)
            if not any(is_rounded(stripped[i], numbers[i]) for i in large):
                return numbers
    return np.array([None if cell in MISSING else as_read(cell) for cell in stripped], dtype=object)


def is_text(cells: pd.Series) -> bool:
    """Say whether a column holds text, in whatever type pandas keeps it."""
    return not pd.api.types.is_numeric_dtype(cells)


def _header_warnings(header: Sequence[str]) -> tuple[str, ...]:
    numbers = [name for name in header if is_number(name)]
    # columns numbered 0, 1, 2, ... are common in pixel tables; a stray number is a row of data in the header's place
    if not numbers or len(numbers) == len(header) - 1:
        return ()
    return (f"the header names a column '{numbers[0]}'; is the header line missing?",)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
