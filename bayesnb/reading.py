"""Files and scikit-learn's data sets, read into a data frame of numbers and text.

A frame made here has columns of two types only: float64 (missing is NaN) and object (text; missing is None). Its
index is the line of the file on which each row begins, so that whoever refuses a cell can say where it stands.
"""

import csv
import difflib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

BUILT_IN = ("iris", "wine", "breast_cancer", "digits")
CSV_PROBLEMS = {"unexpected end": "a quoted cell is never closed", "expected after": "a quoted cell has text after it"}
MISSING = frozenset({"", "NA", "nan", "NaN", "NAN", "?"})


class DataError(ValueError):
    """Data that cannot be used, or an option that does not fit them; the message is one whole sentence."""


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


def read(data: str) -> Source:
    """Read a CSV file, or one of the data sets that come with scikit-learn.

    Args:
        data: The path of a file, or one of `iris`, `wine`, `breast_cancer`, `digits`. A file that bears one of these
            names is reached as `./iris`.

    Raises:
        DataError: The file is not there, cannot be read, or is not a table.
    """
    return _read_built_in(data) if data in BUILT_IN else _read_csv(Path(data))


def closest(word: str, known: Sequence[str]) -> str:
    """Return `"; did you mean 'x'?"` for the known word nearest to a mistyped one, or nothing."""
    by_fold = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return f"; did you mean '{by_fold[near[0]]}'?" if near else ""


def _read_built_in(name: str) -> Source:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    frame["class"] = np.array([str(label) for label in bunch.target_names], dtype=object)[bunch.target]
    frame["class"] = frame["class"].astype(object)
    return Source(name, frame, "class")


def _read_csv(path: Path) -> Source:
    if not path.exists():
        hint = closest(str(path), BUILT_IN) or f"; the built-in data sets are {', '.join(BUILT_IN)}"
        raise DataError(f"there is no file '{path}'{hint}")
    if path.is_dir():
        raise DataError(f"'{path}' is a directory; give the CSV file inside it")
    try:
        header, rows, lines = _rows(path)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(f"'{path}' is not UTF-8 text (it holds the byte 0x{byte:02x}); save it as UTF-8") from error
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error

    columns = {name: _parse(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)}
    index = pd.Index(lines, name="line")
    for name, cells in columns.items():
        if cells.dtype != object and np.isinf(cells).any():
            line = lines[int(np.argmax(np.isinf(cells)))]
            raise DataError(f"column '{name}' holds an infinite number on line {line} of '{path}'")
    frame = pd.DataFrame({name: pd.Series(cells, index=index, dtype=cells.dtype) for name, cells in columns.items()})
    return Source(path.stem, frame, header[-1], (*_header_warnings(header), *_number_warnings(frame)))


def _rows(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """Read the header, the rows and the line on which each row begins; every row is as wide as the header.

    pandas fills a short row with missing cells and shifts a long one into the index, both without a word, so the
    standard library's reader does the work.
    """
    with path.open(encoding="utf-8-sig", newline="") as handle:
        first = handle.readline()
        handle.seek(0)
        reader = csv.reader(
            handle,
            delimiter="\t" if path.suffix == ".tsv" else max(",;\t", key=first.count),
            skipinitialspace=True,
            strict=True,
        )
        header: list[str] = []
        rows: list[list[str]] = []
        lines: list[int] = []
        next_line = 1
        try:
            for row in reader:
                line, next_line = next_line, reader.line_num + 1
                if not row or (len(row) == 1 and not row[0].strip()):
                    continue
                if not header:
                    header = _header(row, path)
                elif len(row) != len(header):
                    raise DataError(
                        f"line {line} of '{path}' has {_count(len(row), 'cell')} where the header has {len(header)}"
                    )
                else:
                    rows.append(row)
                    lines.append(line)
        except csv.Error as error:
            problem = next((words for sign, words in CSV_PROBLEMS.items() if sign in str(error)), str(error))
            raise DataError(f"line {next_line} of '{path}' is not CSV: {problem}") from error
    if not header:
        raise DataError(f"'{path}' is empty")
    if not rows:
        raise DataError(f"'{path}' has a header and no rows")
    return header, rows, lines


def _header(row: list[str], path: Path) -> list[str]:
    names = [name.strip() or f"column {position}" for position, name in enumerate(row, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"'{path}' has more than one column named '{twice[0]}'; is its header line missing?")
    return names


def _parse(cells: Sequence[str]) -> np.ndarray[Any, Any]:
    """Make an array of floats where every cell is a number or missing, else of text."""
    stripped = [cell.strip() for cell in cells]
    try:
        return np.array([math.nan if cell in MISSING else _number(cell) for cell in stripped])
    except ValueError:
        return np.array([None if cell in MISSING else cell for cell in stripped], dtype=object)


def _number(cell: str) -> float:
    if "_" in cell:  # Python reads 1_000 as a number; in a data file it is a name
        raise ValueError(cell)
    return float(cell)


def is_text(cells: pd.Series) -> bool:
    """Say whether a column holds text, in whatever type pandas keeps it."""
    return not pd.api.types.is_numeric_dtype(cells)


def is_number(cell: str) -> bool:
    """Say whether the text of a cell is a number."""
    try:
        _number(cell)
    except ValueError:
        return False
    return True


def _header_warnings(header: Sequence[str]) -> tuple[str, ...]:
    numbers = [name for name in header if is_number(name)]
    # columns numbered 0, 1, 2, ... are common in pixel tables; a stray number is a row of data in the header's place
    if not numbers or len(numbers) == len(header) - 1:
        return ()
    return (f"the header names a column '{numbers[0]}'; is the header line missing?",)


def _number_warnings(frame: pd.DataFrame) -> tuple[str, ...]:
    """Name the columns of numbers that a few odd cells (`N/A`, `1,5`, `unknown`) turned into text."""
    found = []
    for name in frame.columns:
        cells = frame[name].dropna()
        if not is_text(cells) or not len(cells):
            continue
        numeric = cells.map(is_number)
        if 2 * int(numeric.sum()) >= len(cells):
            odd = (~numeric).idxmax()
            found.append(f"column '{name}' is read as text because of '{cells.loc[odd]}' on line {odd}")
    return tuple(found)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
