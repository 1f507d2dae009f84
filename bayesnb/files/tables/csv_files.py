"""Read CSV files in blocks of rows, for ``reading``."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.files.tables.csv_cells import as_read
from bayesnb.files.tables.file_kinds import require_csv
from bayesnb.files.tables.source import MISSING, Block, Wanted, in_sentences
from bayesnb.frames.series import LARGEST_INTEGER, DataError, is_number, is_rounded

CSV_PROBLEMS = {"unexpected end": "a quoted cell is never closed", "expected after": "a quoted cell has text after it"}


def csv_blocks(
    path: Path, texts: Collection[str], num_rows: int | None, wanted: Wanted | None = None
) -> Iterator[Block]:
    """Yield the rows of a CSV file, ``num_rows`` at a time or all at once; see ``read_blocks``."""
    with in_sentences(path), path.open("rb") as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as handle:
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
    """Yield the header and every row, each with its first line number; all rows must be as wide as the header.

    This uses the standard library's reader: pandas silently fills short rows with missing cells and shifts long ones
    into the index.
    """
    first = re.sub('"[^"]*("|$)', "", handle.readline())  # quoted text contains no delimiters
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
        raise DataError(f"'{path}' is empty: give a file with a header line and rows below it")


def _header(row: list[str], path: Path) -> list[str]:
    names = [name.strip() or f"column {position}" for position, name in enumerate(row, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"'{path}' has more than one column named '{twice[0]}'; is its header line missing?")
    return names


def _parse(cells: Sequence[str], *, text: bool) -> np.ndarray[Any, Any]:
    """Return an array of floats if every cell is a number or missing; otherwise, or if ``text``, an array of text.

    Whole numbers that floats would round are kept as text, so that they stay distinct.
    """
    stripped = [cell.strip() for cell in cells]
    if not text and not any("_" in cell for cell in stripped):  # float() accepts 1_000, but in a file it is a name
        filled = ["nan" if cell in MISSING else cell for cell in stripped]
        with suppress(ValueError):
            numbers = np.array(filled, dtype=object).astype(np.float64)
            large = np.flatnonzero(np.abs(numbers) >= LARGEST_INTEGER)
            if not any(is_rounded(stripped[i], numbers[i]) for i in large):
                return numbers
    return np.array([None if cell in MISSING else as_read(cell) for cell in stripped], dtype=object)


def header_warnings(header: Sequence[str]) -> tuple[str, ...]:
    """A warning if a column name is a number: the header line may be missing."""
    numbers = [name for name in header if is_number(name)]
    # tables of pixels name all columns but the target 0, 1, 2, ...; a stray number suggests that the header is missing
    if not numbers or len(numbers) == len(header) - 1:
        return ()
    return (f"the header names a column '{numbers[0]}'; is the header line missing?",)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
