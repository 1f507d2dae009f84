"""Which texts are numbers, and why others that look like numbers are not."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from bayesnb.frames.values import LARGEST_INTEGER

MOST_REMEMBERED = 1 << 16
"""Texts whose answers are remembered, as the batches of a file have mostly the same texts."""

WHOLE = re.compile(r"([+-]?[0-9]+)(\.0*)?")
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}((,[0-9]{3})+\.[0-9]+|(,[0-9]{3}){2,})")
DECIMAL_COMMA = re.compile(r"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+),[0-9]+([eE][+-]?[0-9]+)?")


@lru_cache(maxsize=MOST_REMEMBERED)
def is_number(cell: str) -> bool:
    """Whether the text of a cell is a number, and not a whole number that float64 would round."""
    try:
        number = float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_rounded(cell, number)  # Python reads 1_000 as a number; in data it is text


def is_rounded(cell: str, number: float) -> bool:
    """Whether the text is a whole number that float64 rounds to another one."""
    if not LARGEST_INTEGER <= abs(number) < np.inf:
        return False
    whole = WHOLE.fullmatch(cell.strip())
    return whole is not None and int(whole[1]) != float(number)


@lru_cache(maxsize=MOST_REMEMBERED)
def is_meant_as_number(cell: str) -> bool:
    """Whether text that is not a number looks like one: it has commas, or is whole and too large."""
    return has_decimal_comma(cell) or THOUSANDS.fullmatch(cell) is not None or WHOLE.fullmatch(cell) is not None


def has_decimal_comma(cell: str) -> bool:
    """Whether the text of a cell looks like a number with a decimal comma."""
    return DECIMAL_COMMA.fullmatch(cell) is not None


def why_text(cell: str) -> str:
    """The reason why a cell is not a number, worded to follow the cell."""
    if has_decimal_comma(cell):
        whole, _, part = cell.rpartition(",")
        if len(part) == 3 and "." not in whole:
            return f"may have a decimal comma or a comma between thousands: write {whole}.{part} or {whole}{part}"
        return f"looks like a number with a decimal comma: write {cell.replace('.', '').replace(',', '.')}"
    if THOUSANDS.fullmatch(cell):
        return f"looks like a number with commas between thousands: write {cell.replace(',', '')}"
    if WHOLE.fullmatch(cell):
        return f"would be rounded to {float(cell):.0f} as a number"
    return "is not a number"
