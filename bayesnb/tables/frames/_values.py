"""What cells say: which texts are numbers, which are booleans, and how messages show them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bayesnb.compute.arrays import _limits as limits

FLAGS = {"false": "False", "true": "True"}
"""How booleans are written as text, by their lower case."""

WHOLE = re.compile(r"([+-]?[0-9]+)(\.0*)?")
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}((,[0-9]{3})+\.[0-9]+|(,[0-9]{3}){2,})")
DECIMAL_COMMA = re.compile(r"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+),[0-9]+([eE][+-]?[0-9]+)?")

Array = np.ndarray[Any, Any]


class DataError(ValueError):
    """Data that cannot be used, or an option that does not fit them; the message is one sentence."""


def label(value: Any) -> str:
    """The text of a category or a class; whole numbers are written without a decimal point."""
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def listing(names: Sequence[object], most: int = 8) -> str:
    """The names, quoted and separated by commas; at most the first ``most``, then the number of the rest."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def closest(word: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"` for the known word nearest to a mistyped one, or an empty string."""
    by_fold = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return f"; did you mean '{by_fold[near[0]]}'?" if near else ""


def require_finite(cells: Array, name: str, place: Callable[[int], str] = "".format) -> None:
    """Raise DataError if one of the numbers is infinite; ``place`` words its position, to follow the sentence."""
    infinite = np.isinf(cells)
    if infinite.any():
        where = place(int(infinite.argmax()))
        raise DataError(f"column '{name}' holds an infinite number{where}: leave out the cell or its row")


def reads_as_number(cell: str) -> bool:
    """Whether the text of a cell is a number, and not a whole number that float64 would round."""
    try:
        number = float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_rounded(cell, number)  # Python reads 1_000 as a number; in data it is text


def is_rounded(cell: str, number: float) -> bool:
    """Whether the text is a whole number that float64 rounds to another one."""
    if not limits.LARGEST_WHOLE <= abs(number) < np.inf:
        return False
    whole = WHOLE.fullmatch(cell.strip())
    return whole is not None and int(whole[1]) != float(number)


def is_meant_as_number(cell: str) -> bool:
    """Whether text that is not a number looks like one: it has commas, or is whole and too large."""
    return any(pattern.fullmatch(cell) is not None for pattern in (DECIMAL_COMMA, THOUSANDS, WHOLE))


def why_text(cell: str) -> str:
    """The reason why a cell is not a number, worded to follow the cell."""
    if DECIMAL_COMMA.fullmatch(cell):
        whole, _, part = cell.rpartition(",")
        if len(part) == 3 and "." not in whole:
            return f"may have a decimal comma or a comma between thousands: write {whole}.{part} or {whole}{part}"
        return f"looks like a number with a decimal comma: write {cell.replace('.', '').replace(',', '.')}"
    if THOUSANDS.fullmatch(cell):
        return f"looks like a number with commas between thousands: write {cell.replace(',', '')}"
    if WHOLE.fullmatch(cell):
        return f"would be rounded to {float(cell):.0f} as a number"
    return "is not a number"
