"""What may be named as data, looked up before JAX and pandas are loaded: a wrong name is refused at once."""

import csv
import io
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.frames._values import DataError, closest, listing

BUILT_IN = ("iris", "wine", "breast_cancer", "digits")


def require_data(data: str) -> None:
    """Raise DataError if there is neither a data set of this name nor a file or folder at this path."""
    path = Path(data)
    if not data:
        raise DataError("the name of the data is empty: give a file or a folder, '.' for this one")
    try:
        exists = data in BUILT_IN or path.exists()
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error
    if not exists:
        hint = closest(data, BUILT_IN) or f"; the built-in data sets are {', '.join(BUILT_IN)}"
        raise DataError(f"there is no file '{path}'{hint}")


def require_path(path: str) -> None:
    """Raise DataError if there is nothing at this path; what it is, and whether it may be read, is seen later."""
    try:
        Path(path).stat()
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error


def require_table_name(path: Path) -> None:
    """Raise DataError unless predictions can be written under this name."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"predictions are written to a .csv or a .parquet file, and '{path}' is neither")


def split_target(given: str) -> tuple[str, str | None]:
    """The data and the column of classes that `FILE:COLUMN` names; either may have colons of its own."""
    if given in BUILT_IN or os.path.exists(given) or ":" not in given:
        return given, None
    places = [place for place, mark in enumerate(given) if mark == ":"]
    there = (place for place in places if given[:place] in BUILT_IN or os.path.exists(given[:place]))
    place = next(there, places[-1])
    return given[:place], given[place + 1 :]


def require_column(data: str, column: str, sep: str | None = None) -> None:
    """Raise DataError if a CSV file has no such column, whatever separates its cells.

    Of other files, and of those that have another fault too, nothing is said here: they are read later.
    """
    headers = _headers(Path(data), [sep] if sep else [*",;\t"])
    if headers and not any(column in names for names in headers):
        require_columns(f"'{data}'", max(headers, key=len), [column])


def _headers(path: Path, marks: Sequence[str]) -> list[list[str]]:
    """The names of columns if one of the marks separates them; none unless it is a plain header and a row below it."""
    if not path.is_file():
        return []
    try:
        with path.open("rb") as file:
            head = file.read(limits.CSV_HEAD_BYTES)
        whole = len(head) < limits.CSV_HEAD_BYTES
        text = (head if whole else head[: head.rfind(b"\n") + 1]).decode("utf-8-sig").lstrip(" \r\n")
        found = [[row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row] for mark in marks]
    except (OSError, ValueError, csv.Error):
        return []
    headers = [[name.strip() or f"column {n}" for n, name in enumerate(rows[0], 1)] for rows in found if len(rows) > 1]
    plain = not ("\0" in text or text.startswith(("#", "sep=")))
    once = all(len({*names}) == len(names) for names in headers)
    return headers if plain and once and max(map(len, headers), default=0) > 1 else []


def require_columns(place: str, found: Sequence[str], names: Sequence[str]) -> None:
    """Raise DataError unless each of the names is that of one column among those ``found``."""
    times = Counter(found)
    odd = next((name for name in names if times[name] != 1), None)
    if odd is not None:
        has = f"{times[odd]} columns" if times[odd] else "no column"
        raise DataError(f"{place} has {has} '{odd}'{closest(odd, found) or f'; its columns are {listing(found)}'}")
