"""Summaries of columns: what their cells are, how many, and how many different ones.

Summaries can be merged, so one pass over its blocks describes a table larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.frames import _series as series
from bayesnb.tables.frames._columns import SKIP
from bayesnb.tables.frames._levels import in_one_order, require_levels
from bayesnb.tables.frames._texts import DATES, Texts, are_among, are_numbers, encoded, in_one_spelling
from bayesnb.tables.frames._values import CODES, FLAGS, MAYBE_NAMES, MISSING, Array
from bayesnb.tables.frames._words import vectorizer_of, vocabulary_of


@dataclass(frozen=True, eq=False)
class Summary:
    """A summary of some cells of one column.

    Attributes:
        name: The column's name.
        num_cells: The number of cells that are not missing.
        missing: The number of missing cells.
        text: Whether the cells are text; booleans are the texts `False` and `True`.
        numbers: The distinct numbers; None if there are more than ``most``, or many whose likelihood is inferred.
        texts: The distinct texts; None for numbers, and for texts that are read as words.
        declared: The categories that the column's type declares.
        whole: Whether all are whole numbers.
        span: The smallest and the largest number.
        largest: The number of largest magnitude, and its place, such as `on line 7`.
        odd: The first text that is not a number, and its place.
        typed: Whether the column's type is that of dates or times.
        holds: What the cells are, if no likelihood takes them.
        repeated: Whether some number is known to occur twice.
        words: The words of a column that is read as words.
        most: How many distinct values are kept: ``limits.MOST_VALUES``, unless the column is chosen to be categorical.
        extra: What weights add to the number of cells: a cell of weight 3 is three cells, one of weight .5 is one.
        lost: How many of the missing cells are texts that may be names: NA and None.
        inner: The span of the numbers that are no code of a missing cell, such as -999.
        levels: The declared categories from low to high, if the column's type says that they are ordered.
    """

    name: str
    num_cells: int
    missing: int
    text: bool = False
    numbers: pd.Index | None = field(default_factory=lambda: pd.Index([]))
    texts: Texts | None = None
    declared: tuple[str | float, ...] = ()
    whole: bool = True
    span: tuple[float, float] = (np.inf, -np.inf)
    largest: tuple[float, str] = (0.0, "")
    odd: tuple[str, str] | None = None
    typed: bool = False
    holds: str = ""
    repeated: bool = False
    words: frozenset[str] | None = None
    most: float = inf
    extra: float = 0.0
    lost: int = 0
    inner: tuple[float, float] = (np.inf, -np.inf)
    levels: tuple[str | float, ...] = ()

    @property
    def times(self) -> float:
        """The number of cells that are not missing, with repetitions by weight."""
        return self.num_cells + self.extra

    @property
    def values(self) -> Any:
        """The distinct values, of pandas or of Arrow; None if they are not kept."""
        return self.numbers if self.texts is None else self.texts.distinct

    @property
    def num_numbers(self) -> int:
        """The number of texts that are numbers, or are meant to be."""
        return 0 if self.texts is None else self.texts.said[0]

    @property
    def dates(self) -> bool:
        """Whether all are dates or times, or texts that are dates."""
        return self.typed or (self.texts is not None and self.texts.said[1])

    @property
    def distinct(self) -> int:
        """The number of distinct values; ``limits.MOST_VALUES`` + 1 if there are too many to keep."""
        return limits.MOST_VALUES + 1 if self.values is None else len(self.values)

    @property
    def flags(self) -> bool:
        """Whether the cells are booleans, or text that reads as booleans."""
        return self.text and self.distinct <= len(FLAGS) and {*self.values.tolist()} <= {*FLAGS.values()}

    @property
    def has_levels(self) -> bool:
        """Whether all its values are levels of its type."""
        return self.values is not None and len(self.levels) > 0 and {*self.values.tolist()} <= {*self.levels}

    @property
    def light(self) -> Summary:
        """The same summary without its values if they are many numbers, or texts that are read as words."""
        if self.words is not None:
            return replace(self, texts=None, numbers=None, words=frozenset())
        if self.texts is not None:
            return replace(self, texts=self.texts.closed)
        return self if self.distinct <= limits.MOST_NUMBERS else replace(self, numbers=None)

    def merge(self, other: Summary) -> Summary:
        """The summary of the cells of both; both must be text, or both numbers."""
        if not self.num_cells or not other.num_cells:
            some, none = (self, other) if self.num_cells else (other, self)
            return replace(some, missing=some.missing + none.missing, lost=some.lost + none.lost)
        texts = both = None
        if self.texts is not None and other.texts is not None:
            texts = self.texts.join(other.texts)
        elif self.numbers is not None and other.numbers is not None and not self.text:
            new = other.numbers[self.numbers.get_indexer(other.numbers) < 0]
            both = self.numbers.append(new) if len(new) else self.numbers
            both = both if len(both) <= self.most else None
        return replace(
            self,
            num_cells=self.num_cells + other.num_cells,
            missing=self.missing + other.missing,
            extra=self.extra + other.extra,
            lost=self.lost + other.lost,
            numbers=both,
            texts=texts,
            declared=tuple(dict.fromkeys((*self.declared, *other.declared))),
            levels=in_one_order(self.levels, other.levels),
            whole=self.whole and other.whole,
            span=(min(self.span[0], other.span[0]), max(self.span[1], other.span[1])),
            inner=(min(self.inner[0], other.inner[0]), max(self.inner[1], other.inner[1])),
            largest=max(self.largest, other.largest, key=lambda pair: abs(pair[0])),
            odd=self.odd or other.odd,
            typed=self.typed and other.typed,
            holds=self.holds or other.holds,
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
    chosen: Any = None,
    classes: tuple[Array | int, int] = (0, 1),
    weight: Array | None = None,
    missing: Collection[str] = MISSING,
) -> Summary:
    """The summary of a column.

    Args:
        given: The cells.
        place: The words for the place of a cell, from its position.
        inferred: Whether the likelihood will be inferred, so that numbers with many values do not need them.
        chosen: The likelihood that the user has chosen: all values of a categorical column are kept.
        classes: The class of each row and their number, by which texts are counted.
        weight: The weight of each row [N].
        missing: Texts of missing cells.

    Raises:
        DataError: for a type that no likelihood takes, and for whole numbers that floating point would round.
    """
    if weight is not None:
        found = summarise_column(given, place, inferred=inferred, chosen=chosen, classes=classes, missing=missing)
        with np.errstate(over="ignore"):  # weights that are too large are refused where rows are counted
            extra = float(np.maximum(weight - 1.0, 0.0)[~series.are_missing(given, missing)].sum())
        return replace(found, extra=extra, repeated=found.repeated or extra > 0)
    given = series.to_plain(given, coded=True, missing=missing)
    cells = series.to_plain(given) if given.dtype in series.WITH_CATEGORIES else given
    vectorizer, most = vectorizer_of(chosen), inf if chosen == "categorical" else limits.MOST_VALUES
    try:
        sort = series.sort_of(cells)
        own = None if sort in ("text", "flag") else np.asarray(series.numbers(cells), np.float64)
    except series.NoLikelihoodError as error:
        if chosen not in (None, SKIP):
            raise
        gone = cells.null_count()
        return Summary(cells.name, len(cells) - gone, gone, True, None, holds=error.holds, most=most)
    if series.are_missing(cells).all():
        return Summary(cells.name, 0, len(cells), most=most)
    if own is not None:
        declared = tuple(series.declared_categories(given, text=False))
        if isinstance(chosen, tuple):
            values = pd.unique(own[~np.isnan(own)]).tolist()
            require_levels(cells.name, chosen, values, lambda odd: place(int(np.argmax(own == odd))))
        found = _of_numbers(cells, own, place, most, inferred and not declared)
        return replace(found, declared=declared, levels=declared if series.is_ordered(given) else ())
    typed, gone = cells.dtype in DATES, cells.null_count()
    if typed and cells.n_unique() > most:  # to write each as text would take long
        return Summary(cells.name, len(cells) - gone, gone, text=True, numbers=None, typed=True, most=most)
    codes, names = encoded(cells)
    lost = int(np.append(are_among(names, {*MAYBE_NAMES} & {*missing}), False)[codes].sum())
    codes = np.where(np.append(are_among(names, missing), True)[codes], -1, codes)
    if (codes < 0).all():
        return Summary(cells.name, 0, len(cells), most=most, lost=lost)
    if isinstance(chosen, tuple):
        spelt = in_one_spelling(names).to_pylist()
        values = [spelt[code] for code in pd.unique(codes[codes >= 0])]
        require_levels(cells.name, chosen, values, lambda odd: place(int(np.argmax(codes == spelt.index(odd)))))
    y, num_classes = classes
    counts = np.bincount((codes + 1) * num_classes + y, minlength=(len(names) + 1) * num_classes)
    gone, counts = int(counts[:num_classes].sum()), counts[num_classes:].reshape(-1, num_classes)
    texts = Texts(names, counts, most)
    declared = tuple(value for value in series.declared_categories(given) if value.strip() not in missing)
    return Summary(
        cells.name,
        len(cells) - gone,
        gone,
        text=True,
        texts=texts,
        declared=declared,
        levels=declared if series.is_ordered(given) else (),
        odd=_first_odd(codes, names, place),
        typed=typed,
        words=None if vectorizer is None else vocabulary_of(vectorizer, texts.shown.to_pylist()),
        most=most,
        lost=lost,
    )


def _first_odd(codes: Array, texts: Any, place: Callable[[int], str]) -> tuple[str, str] | None:
    """The first text that is not a number, and its place; it is mostly the first one."""
    start = int(np.argmax(codes >= 0))
    for some in (codes[start : start + 1], codes):
        used = pd.unique(some[some >= 0])  # in order of appearance
        names = texts.take(pa.array(used))
        odd = np.flatnonzero(~are_numbers(names))
        if len(odd):
            name = names[int(odd[0])].as_py()
            return FLAGS.get(name.casefold(), name), place(int(np.argmax(codes == used[odd[0]])))
    return None


def _of_numbers(
    cells: nw.Series[Any], found: Array, place: Callable[[int], str], most: float, inferred: bool
) -> Summary:
    there = ~np.isnan(found)
    present = found if there.all() else found[there]
    first = present[: limits.FIRST_CELLS]
    whole = cells.dtype.is_integer() or all((some == np.rint(some)).all() for some in (first, present))
    low, high = float(present.min()), float(present.max())
    others = present[~np.isin(present, [*CODES])] if {low, high} & CODES else present
    farthest = int(np.argmax(found == (low if -low > high else high)))
    values = pd.unique(first)
    repeated = len(values) < len(first)
    # whole numbers without a repetition may be those of the rows
    many = inferred and len(values) > limits.MOST_NUMBERS and (repeated or not whole)
    if not many:
        values = pd.unique(present)
        repeated = len(values) < len(present)
    return Summary(
        cells.name,
        len(present),
        len(found) - len(present),
        numbers=None if many or len(values) > most else pd.Index(values),
        repeated=repeated,
        whole=whole,
        span=(low, high),
        inner=(float(others.min()), float(others.max())) if len(others) else (np.inf, -np.inf),
        largest=(float(found[farthest]), place(farthest)),
        most=most,
    )
