"""What cells say: which texts are numbers, which are booleans, and how messages show them."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self, TypedDict

import numpy as np

from bayesnb.compute.arrays import _limits as limits

FLAGS = {"false": "False", "true": "True"}
"""How booleans are written as text, by their lower case."""

MISSING = frozenset(
    {
        "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
        "NULL", "NaN", "NAN", "None", "n/a", "nan", "null", "?",
    }
)  # fmt: skip
"""Texts of missing cells, blanks around them aside: those of pandas, and the question mark."""

MAYBE_NAMES = ("NA", "None")
"""Of these, texts that may be a name: Namibia's, or that of nothing."""

CODES = frozenset(sign * (10.0**digits - 1.0) for digits in range(3, 7) for sign in (-1, 1)) | {-99.0}
"""Numbers that are written for missing cells."""

WITH_UNIT = re.compile(
    r"(?P<before>[$€£¥])?\s?[+-]?\d+(?P<grouped>(?:'\d{3})+)?(?:[.,]\d+)?\s?(?P<after>%|°?[A-Za-zµ]{1,4}[²³]?|[$€£¥])?"
)

NO_MARKS = string.ascii_letters + string.digits + '_"'
"""Characters that separate neither cells nor thousands."""

WHOLE = re.compile(r"([+-]?[0-9]+)(\.0*)?")
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}((,[0-9]{3})+\.[0-9]+|(,[0-9]{3}){2,})")
DECIMAL_COMMA = re.compile(r"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+),[0-9]+([eE][+-]?[0-9]+)?")

Array = np.ndarray[Any, Any]


class DataError(ValueError):
    """Data that cannot be used, or an option that does not fit them; the message is one sentence."""


class ReadingOptions(TypedDict, total=False):
    """What a user may declare of a ``Reading``, in the words of pandas."""

    na_values: str | float | Iterable[str | float] | None
    keep_default_na: bool | None
    decimal: str | None
    thousands: str | None
    sep: str | None


@dataclass(frozen=True)
class Reading:
    """How cells are read: which are missing, and how files write numbers and separate cells.

    Attributes:
        na_values: Texts and numbers that stand for a missing cell.
        keep_default_na: Whether those of ``MISSING`` do; an empty cell always does.
        decimal: What stands before the decimals of a number in a file; None for what the file shows.
        thousands: What stands between its thousands.
        sep: What separates the cells of a file; None for what the file shows.
    """

    na_values: tuple[str, ...] = ()
    keep_default_na: bool = True
    decimal: str | None = None
    thousands: str | None = None
    sep: str | None = None

    def declare(self, options: ReadingOptions) -> Self:
        """The same with what the user has declared, in the words of pandas; None leaves an option as it is.

        Raises:
            DataError: for an option that is not one of these, or that no file could have.
        """
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        known = [one.name for one in fields(self)]
        if odd := [name for name in given if name not in known]:
            raise DataError(f"there is no option {odd[0]!r}{closest(odd[0], known) or f': {listing(known)} are'}")
        if "na_values" in given:
            values = given["na_values"]
            values = [values] if isinstance(values, str | float | int) else values
            given["na_values"] = tuple(label(value).strip() for value in values)
        if given.get("thousands") == "." and self.decimal is None:
            given = {"decimal": ",", **given}
        found = replace(self, **given) if given else self  # files leave out what is the default
        marks = [str(mark) for mark in (found.sep, found.decimal or ".", found.thousands) if mark is not None]
        if len({*marks}) < len(marks) or not all(
            re.fullmatch(r"[ -~\t]", mark) and mark not in NO_MARKS for mark in marks
        ):
            raise DataError(
                "sep, decimal and thousands must be three characters of ASCII, and no letters, digits or quotes, got "
                + ", ".join(map(repr, marks))
            )
        return found

    @cached_property
    def missing(self) -> frozenset[str]:
        """The texts of missing cells."""
        return frozenset(self.na_values) | (MISSING if self.keep_default_na else {""})

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The numbers that the user has declared missing."""
        return tuple(float(value) for value in self.na_values if reads_as_number(value))

    def is_missing(self, cell: Any) -> bool:
        """Whether a plain cell is missing: None, NaN, pandas' NA, or declared so."""
        if isinstance(cell, str):
            return cell.strip() in self.missing
        if cell is None or type(cell).__name__ == "NAType":  # of which no comparison is true or false
            return True
        return cell in self.numbers or (isinstance(cell, float) and cell != cell)


READING = Reading()
"""How cells are read unless the user declares otherwise."""


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


def unit_of(cell: str) -> str:
    """The unit that is written with a number, or an apostrophe between its thousands; empty for other cells."""
    found = WITH_UNIT.fullmatch(cell)
    return "" if found is None else found["before"] or found["after"] or ("'" if found["grouped"] else "")


def cure(cell: str) -> str:
    """How to read a table in which this cell is not a number, to end a sentence with."""
    if DECIMAL_COMMA.fullmatch(cell):
        return ", or read the file with decimal=',' (--decimal ,)"
    if THOUSANDS.fullmatch(cell):
        return ", or read the file with thousands=',' (--thousands ,)"
    if WHOLE.fullmatch(cell):
        return ": round it in the file, or leave it as text if it is a name or a code"
    return f": if it stands for a missing cell, read the table with na_values=[{cell!r}] (--na-values)"


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
