"""Convert cells of CSV files to numbers and text when reading, and to text safe in spreadsheets when writing.

Spreadsheets run cells that begin with ``=``, ``+``, ``-`` or ``@``, some of them also after a tab or a space. Such text
is written with a leading apostrophe: ``=1+1`` as ``'=1+1``, and ``'=1+1`` as ``''=1+1``, so that reading removes an
apostrophe exactly where writing added one. Other text and all numbers, such as ``-1``, are written unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayesnb.frames.series import LARGEST_INTEGER
from bayesnb.frames.values import is_rounded, reads_as_number

MISSING = frozenset({"", "NA", "nan", "NaN", "NAN", "?"})

STARTS = "=+-@＝＋－＠"
"""First characters of formulas, in half and full width."""

QUOTED = ',;\t\r\n"'
"""Characters that separate cells or rows in some locale or dialect of CSV, and the quote."""


TEXT = pa.dictionary(pa.int32(), pa.string())
"""The type of text: each distinct cell once, so that nothing is done for every cell."""


def convert(column: pa.Array, kind: pa.DataType, missing: Collection[str], *, exact: bool) -> pa.Array | None:
    """Cells that were read as text, converted to a type; missing cells become null.

    Args:
        column: The cells, as strings or as ``TEXT``.
        kind: The type to convert them to: string, ``TEXT``, or a type of numbers.
        missing: The cells that are missing, apart from spaces around them.
        exact: Whether to refuse whole numbers that float64 would round.

    Returns:
        The converted cells, or None if one of them does not have this type.
    """
    encoded = column.dictionary_encode()  # a column has fewer values than cells
    stripped = [cell.strip() for cell in encoded.dictionary.to_pylist()]
    cells = [None if cell in missing else cell for cell in stripped]
    values = _convert(cells, pa.string() if kind == TEXT else kind, exact)
    if kind != TEXT or values is None:
        return None if values is None else values.take(encoded.indices)
    codes = pa.array([None if cell is None else code for code, cell in enumerate(cells)], pa.int32())
    return pa.DictionaryArray.from_arrays(codes.take(encoded.indices), values.fill_null(""))


def first_refused_cell(column: pa.Array, kind: pa.DataType, missing: Collection[str]) -> tuple[int, str]:
    """The position and the text of the first cell that ``convert`` refuses with ``exact=False``."""
    encoded = column.dictionary_encode()
    for code, cell in enumerate(encoded.dictionary.to_pylist()):
        if convert(pa.array([cell]), kind, missing, exact=False) is None:
            return pc.index(encoded.indices, code).as_py(), cell.strip()
    raise ValueError(f"all cells are {kind}")


def _convert(cells: list[str | None], kind: pa.DataType, exact: bool) -> pa.Array | None:
    if pa.types.is_string(kind):
        return pa.array([None if cell is None else as_read(cell) for cell in cells], kind)
    try:
        if not pa.types.is_floating(kind):
            return pa.array(cells, pa.string()).cast(kind)
        if any("_" in cell for cell in cells if cell is not None):  # float() accepts 1_000, but in a file it is a name
            return None
        numbers = np.array(["nan" if cell is None else cell for cell in cells], dtype=object).astype(np.float64)
    except ValueError:
        return None
    if exact and any(is_rounded(str(cells[i]), numbers[i]) for i in np.flatnonzero(np.abs(numbers) >= LARGEST_INTEGER)):
        return None
    return pa.array(numbers, kind, from_pandas=True)


def as_written(text: str) -> str:
    """The text of a cell as written to the file."""
    return f"'{text}" if _looks_like_formula(text) else text


def as_read(cell: str) -> str:
    """The original text of a cell read from the file; the inverse of ``as_written``."""
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell[1:]) else cell


def line(cells: Iterable[Any]) -> str:
    """A row of text and numbers as a line of CSV."""
    return ",".join([_quote(as_written(cell)) if isinstance(cell, str) else repr(cell) for cell in cells]) + "\n"


def _quote(text: str) -> str:
    if any(mark in text for mark in QUOTED):
        return '"' + text.replace('"', '""') + '"'
    return text


def _looks_like_formula(text: str) -> bool:
    bare = text.lstrip("'")
    if bare[:1].isspace():
        return True
    return bare[:1] in STARTS and bare != "" and not (reads_as_number(bare) and math.isfinite(float(bare)))
