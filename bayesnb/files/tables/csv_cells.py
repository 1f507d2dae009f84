"""Text in CSV files that people open: a spreadsheet takes it for text, and our reader gives it back as it was.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@``, some also after a tab or a space. Such text is
written with an apostrophe before it: ``=1+1`` as ``'=1+1``. So is such text that begins with apostrophes already,
``'=1+1`` as ``''=1+1``; so reading takes one apostrophe away from exactly what writing gave one, and any other text is
the same in the file. Numbers, such as ``-1``, stay as they are, and so do columns of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from bayesnb.frames.series import is_number

STARTS = "=+-@＝＋－＠"
"""With which formulas begin, in letters of both widths."""

QUOTED = ',;\t\r\n"'
"""What separates cells or rows, somewhere in the world."""


def as_written(text: str) -> str:
    """The text of a cell as it is written."""
    return f"'{text}" if _looks_like_formula(text) else text


def as_read(cell: str) -> str:
    """The text that was written so."""
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell[1:]) else cell


def line(cells: Iterable[Any]) -> str:
    """A row of text and numbers as a line of CSV."""
    return ",".join([_quoted(as_written(cell)) if isinstance(cell, str) else repr(cell) for cell in cells]) + "\n"


def _quoted(text: str) -> str:
    if any(mark in text for mark in QUOTED):
        return '"' + text.replace('"', '""') + '"'
    return text


def _looks_like_formula(text: str) -> bool:
    bare = text.lstrip("'")
    if bare[:1].isspace():
        return True
    return bare[:1] in STARTS and bare != "" and not (is_number(bare) and math.isfinite(float(bare)))
