"""Cells of CSV that spreadsheets do not run: escaped when written, and restored when read.

Spreadsheets run cells that begin with ``=``, ``+``, ``-`` or ``@``, some of them also after a tab or a space. Such text
is written with a leading apostrophe: ``=1+1`` as ``'=1+1``, and ``'=1+1`` as ``''=1+1``, so that reading removes an
apostrophe exactly where writing added one. Other text and all numbers, such as ``-1``, are written unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from bayesnb.frames.values import reads_as_number

STARTS = "=+-@＝＋－＠"
"""First characters of formulas, in half and full width."""

QUOTED = ',;\t\r\n"'
"""Characters that separate cells or rows in some locale or dialect of CSV, and the quote."""


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
