"""Summaries of columns, which can be merged, so one pass over its blocks describes a table larger than memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from bayesnb.frames.series import (
    DATES,
    FLAGS,
    WITH_CATEGORIES,
    are_missing,
    declared_categories,
    factorise,
    numbers,
    sort_of,
    to_plain,
)
from bayesnb.frames.values import is_meant_as_number, reads_as_number
from bayesnb.frames.words import vocabulary_of

MOST_VALUES = 100_000
"""Maximum number of distinct values kept per column; text with more of them is taken for an identifier of rows."""

MOST_NUMBERS = 1000
"""Maximum number of distinct numbers kept per column where they matter only to tell whether they are few."""

FIRST_CELLS = 1 << 14
"""Numbers of a block that are looked at first: most measurements have so many values there that they are not few."""

DAY = r"(0?[1-9]|[12]\d|3[01])"
DATE = re.compile(rf"(\d{{4}}[-/.]{DAY}[-/.]{DAY}|{DAY}[-/]{DAY}[-/]\d\d(\d\d)?|{DAY}\.{DAY}\.\d{{4}})([T ]+\d\d?:.*)?")


@dataclass(frozen=True, eq=False)
class Summary:
    """A summary of some cells of one column.

    Attributes:
        name: The column's name.
        num_cells: The number of cells that are not missing.
        missing: The number of missing cells.
        text: Whether the cells are text; booleans are the texts `False` and `True`.
        values: The distinct values; None if there are more than ``MOST_VALUES``, or many numbers whose likelihood is
            inferred.
        declared: The categories that the column's type declares.
        whole: Whether all are whole numbers.
        span: The smallest and the largest number.
        largest: The number of largest magnitude, and its place, such as `on line 7`.
        odd: The first text that is not a number, and its place.
        num_numbers: The number of texts that are numbers, or are meant to be.
        dates: Whether all are dates or times, or texts that are dates.
        repeated: Whether some number is known to occur twice.
        words: The words of a column that is read as words.
    """

    name: str
    num_cells: int
    missing: int
    text: bool = False
    values: pd.Index | None = field(default_factory=lambda: pd.Index([]))
    declared: tuple[str | float, ...] = ()
    whole: bool = True
    span: tuple[float, float] = (np.inf, -np.inf)
    largest: tuple[float, str] = (0.0, "")
    odd: tuple[str, str] | None = None
    num_numbers: int = 0
    dates: bool = False
    repeated: bool = False
    words: frozenset[str] | None = None

    @property
    def distinct(self) -> int:
        """The number of distinct values; ``MOST_VALUES`` + 1 if there are too many to keep."""
        return MOST_VALUES + 1 if self.values is None else len(self.values)

    @property
    def flags(self) -> bool:
        """Whether the cells are booleans, or text that reads as booleans."""
        return self.text and self.values is not None and {*self.values} <= {*FLAGS.values()}

    @property
    def light(self) -> Summary:
        """The same summary without its values if they are many numbers, or texts that are read as words."""
        if self.words is not None:
            return replace(self, values=None, words=frozenset())
        return self if self.text or self.distinct <= MOST_NUMBERS else replace(self, values=None)

    def merge(self, other: Summary) -> Summary:
        """The summary of the cells of both; both must be text, or both numbers."""
        if not self.num_cells or not other.num_cells:
            some, none = (self, other) if self.num_cells else (other, self)
            return replace(some, missing=some.missing + none.missing)
        both = None
        if self.values is not None and other.values is not None:
            new = other.values[self.values.get_indexer(other.values) < 0]
            both = _keep_few(self.values.append(new)) if len(new) else self.values
        return replace(
            self,
            num_cells=self.num_cells + other.num_cells,
            missing=self.missing + other.missing,
            values=both,
            declared=tuple(dict.fromkeys((*self.declared, *other.declared))),
            whole=self.whole and other.whole,
            span=(min(self.span[0], other.span[0]), max(self.span[1], other.span[1])),
            largest=max(self.largest, other.largest, key=lambda pair: abs(pair[0])),
            odd=self.odd or other.odd,
            num_numbers=self.num_numbers + other.num_numbers,
            dates=self.dates and other.dates,
            words=None if self.words is None or other.words is None else self.words | other.words,
            repeated=self.repeated
            or other.repeated
            or (both is not None and len(both) < self.num_cells + other.num_cells),
        )


def summarise_column(
    given: nw.Series[Any],
    place: Callable[[int], str] = "in row {}".format,
    *,
    inferred: bool = False,
    vectorizer: Any = None,
) -> Summary:
    """The summary of a column.

    Args:
        given: The cells.
        place: The words for the place of a cell, from its position.
        inferred: Whether the likelihood will be inferred, so that numbers with many values do not need them.
        vectorizer: How text is split into words, if it is.

    Raises:
        DataError: for a type that no likelihood takes, and for whole numbers that floating point would round.
    """
    given = to_plain(given, coded=True)
    cells = to_plain(given) if given.dtype in WITH_CATEGORIES else given
    sort = sort_of(cells)
    if are_missing(cells).all():
        return Summary(cells.name, 0, len(cells))
    if sort not in ("text", "flag"):
        declared = tuple(declared_categories(given, text=False))
        return replace(_of_numbers(cells, place, inferred and not declared), declared=declared)
    dates, missing = cells.dtype in DATES, cells.null_count()
    if dates and cells.n_unique() > MOST_VALUES:  # to write each as text would take long
        return Summary(cells.name, len(cells) - missing, missing, text=True, values=None, dates=True)
    codes, names = factorise(cells)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    numeric = np.array([reads_as_number(name) for name in names])
    meant = numeric | [is_meant_as_number(name) for name in names]
    odd = None
    if not numeric.all():
        first = int(np.flatnonzero(codes == np.argmin(numeric))[0])  # the texts are in order of appearance
        odd = (names[codes[first]], place(first))
    return Summary(
        cells.name,
        int(counts.sum()),
        len(cells) - int(counts.sum()),
        text=True,
        values=_keep_few(pd.Index(names, dtype=object)),
        declared=tuple(declared_categories(given)),
        odd=odd,
        num_numbers=int(counts[meant].sum()),
        dates=dates or all(DATE.fullmatch(name) for name in names),
        words=None if vectorizer is None else vocabulary_of(vectorizer, names),
    )


def _of_numbers(cells: nw.Series[Any], place: Callable[[int], str], inferred: bool) -> Summary:
    found = np.asarray(numbers(cells), np.float64)
    present = found[~np.isnan(found)]
    first = present[:FIRST_CELLS]
    whole = all((some == np.rint(some)).all() for some in (first, present))
    low, high = float(present.min()), float(present.max())
    farthest = int(np.argmax(np.abs(found) == max(-low, high)))
    values = pd.unique(first)
    repeated = len(values) < len(first)
    # whole numbers without a repetition may be those of the rows
    many = inferred and len(values) > MOST_NUMBERS and (repeated or not whole)
    if not many:
        values = pd.unique(present)
        repeated = len(values) < len(present)
    return Summary(
        cells.name,
        len(present),
        len(found) - len(present),
        values=None if many else _keep_few(pd.Index(values)),
        repeated=repeated,
        whole=whole,
        span=(low, high),
        largest=(float(found[farthest]), place(farthest)),
    )


def _keep_few(values: pd.Index) -> pd.Index | None:
    return values if len(values) <= MOST_VALUES else None
