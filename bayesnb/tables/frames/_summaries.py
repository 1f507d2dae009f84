"""Summaries of columns, and the likelihoods that suit them: the one rule of the command line and of the estimator.

Summaries can be merged, so one pass over its blocks describes a table larger than memory.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._typing import ArrayLike, Table
from bayesnb.core.rows._labelled_rows import check_weights
from bayesnb.tables.frames import _series as series
from bayesnb.tables.frames._columns import SKIP, Column, Kind
from bayesnb.tables.frames._series import DataError
from bayesnb.tables.frames._texts import DATES, Texts, are_numbers, encoded, first_alike
from bayesnb.tables.frames._values import FLAGS, Array, is_meant_as_number, listing, why_text
from bayesnb.tables.frames._words import vectorizer_of, vocabulary_of

NOTHING = "nothing in it"
ONE_VALUE = "one value only"
IDENTIFIERS = "a different text in nearly every row"
TOO_MANY = f"more than {limits.MOST_VALUES:,} different texts"
ROW_NUMBERS = "a number for each row"
ALL_DATES = "dates or times"


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
        repeated: Whether some number is known to occur twice.
        words: The words of a column that is read as words.
        most: How many distinct values are kept: ``limits.MOST_VALUES``, unless the column is chosen to be categorical.
        extra: What weights add to the number of cells: a cell of weight 3 is three cells, one of weight .5 is one.
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
    repeated: bool = False
    words: frozenset[str] | None = None
    most: float = inf
    extra: float = 0.0

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
            return replace(some, missing=some.missing + none.missing)
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
            numbers=both,
            texts=texts,
            declared=tuple(dict.fromkeys((*self.declared, *other.declared))),
            whole=self.whole and other.whole,
            span=(min(self.span[0], other.span[0]), max(self.span[1], other.span[1])),
            largest=max(self.largest, other.largest, key=lambda pair: abs(pair[0])),
            odd=self.odd or other.odd,
            typed=self.typed and other.typed,
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
) -> Summary:
    """The summary of a column.

    Args:
        given: The cells.
        place: The words for the place of a cell, from its position.
        inferred: Whether the likelihood will be inferred, so that numbers with many values do not need them.
        chosen: The likelihood that the user has chosen: all values of a categorical column are kept.
        classes: The class of each row and their number, by which texts are counted.
        weight: The weight of each row [N].

    Raises:
        DataError: for a type that no likelihood takes, and for whole numbers that floating point would round.
    """
    if weight is not None:
        found = summarise_column(given, place, inferred=inferred, chosen=chosen, classes=classes)
        extra = float(np.maximum(weight - 1.0, 0.0)[~series.are_missing(given)].sum())
        return replace(found, extra=extra, repeated=found.repeated or extra > 0)
    given = series.to_plain(given, coded=True)
    cells = series.to_plain(given) if given.dtype in series.WITH_CATEGORIES else given
    sort = series.sort_of(cells)
    vectorizer, most = vectorizer_of(chosen), inf if chosen == "categorical" else limits.MOST_VALUES
    if series.are_missing(cells).all():
        return Summary(cells.name, 0, len(cells), most=most)
    if sort not in ("text", "flag"):
        declared = tuple(series.declared_categories(given, text=False))
        return replace(_of_numbers(cells, place, most, inferred and not declared), declared=declared)
    typed, missing = cells.dtype in DATES, cells.null_count()
    if typed and cells.n_unique() > most:  # to write each as text would take long
        return Summary(cells.name, len(cells) - missing, missing, text=True, numbers=None, typed=True, most=most)
    codes, names = encoded(cells)
    y, num_classes = classes
    counts = np.bincount((codes + 1) * num_classes + y, minlength=(len(names) + 1) * num_classes)
    missing, counts = int(counts[:num_classes].sum()), counts[num_classes:].reshape(-1, num_classes)
    texts = Texts(names, counts, most)
    return Summary(
        cells.name,
        len(cells) - missing,
        missing,
        text=True,
        texts=texts,
        declared=tuple(series.declared_categories(given)),
        odd=_first_odd(codes, names, place),
        typed=typed,
        words=None if vectorizer is None else vocabulary_of(vectorizer, texts.shown.to_pylist()),
        most=most,
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


def _of_numbers(cells: nw.Series[Any], place: Callable[[int], str], most: float, inferred: bool) -> Summary:
    found = np.asarray(series.numbers(cells), np.float64)
    there = ~np.isnan(found)
    present = found if there.all() else found[there]
    first = present[: limits.FIRST_CELLS]
    whole = cells.dtype.is_integer() or all((some == np.rint(some)).all() for some in (first, present))
    low, high = float(present.min()), float(present.max())
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
        largest=(float(found[farthest]), place(farthest)),
        most=most,
    )


class Choice(NamedTuple):
    """The likelihood of one column.

    Attributes:
        name: The column.
        kind: Its likelihood, or `skip` if it is left out.
        reason: Why; worded to follow "the column has".
    """

    name: str
    kind: Kind
    reason: str


@dataclass(frozen=True, repr=False, eq=False)
class InferredLikelihoods(Mapping[str, str]):
    """What ``infer_likelihoods`` returns: the likelihood of each column by name, `skip` for columns that are left out.

    Give it to ``NaiveBayesClassifier(likelihoods=...)``, or a dict of it with other choices. Its repr is a table.

    Attributes:
        choices: For each column its name, likelihood and reason.

    Example:
        >>> import pandas as pd, bayesnb as nb
        >>> kinds = nb.infer_likelihoods(pd.DataFrame({"size": [1.5, 2.25, 3.5], "colour": ["red", "blue", "red"]}))
        >>> dict(kinds), kinds.choices[1].reason
        ({'size': 'normal', 'colour': 'categorical'}, 'text with 2 values')
        >>> clf = nb.NaiveBayesClassifier(likelihoods={**kinds, "size": "histogram"})
    """

    choices: tuple[Choice, ...]

    def __getitem__(self, name: str) -> str:
        return {choice.name: choice.kind for choice in self.choices}[name]

    def __iter__(self) -> Iterator[str]:
        return (choice.name for choice in self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def __repr__(self) -> str:
        rows = [("column", "likelihood", "because it has"), *self.choices]
        widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
        return "\n".join(f"{name:{widths[0]}}  {kind:{widths[1]}}  {reason}" for name, kind, reason in rows)


def infer_likelihoods(frame: Table, sample_weight: ArrayLike | None = None) -> InferredLikelihoods:
    """The likelihood that suits the values of each column, and why.

    Text is Categorical, and so are numbers whose column has the type of categories; whole numbers with at most 10
    values, and any two numbers, if each occurs three times on average. Zeros and ones, and booleans, are Bernoulli;
    other numbers Normal. Left out are columns with at most one value, text that differs in nearly every row or has
    over a million values, dates and times, and numbers of rows. ``NaiveBayesClassifier``, `bayesnb fit` and `bayesnb
    compare` choose by the same rule; by default the first two see Normal columns in two more ways (``nb.Views``),
    unless they are chosen: to give these choices back to the estimator chooses Normal.

    Args:
        frame: A data frame of pandas, polars or pyarrow, without the column of classes.
        sample_weight: Weights [N]: a row of weight 3 counts as three, one of weight 0 is absent.

    Raises:
        DataError: if it is not a data frame, or one of its columns holds nested values or several types.
        ValueError: for weights that are negative or not finite.

    Example:
        >>> import pandas as pd, bayesnb as nb
        >>> frame = pd.DataFrame({"size": [1.5, 2.25, 3.5], "colour": ["red", "blue", "red"], "ill": [1, 0, 1]})
        >>> dict(nb.infer_likelihoods(frame))
        {'size': 'normal', 'colour': 'categorical', 'ill': 'bernoulli'}
    """
    found = series.as_frame(frame)
    if found is None:
        raise DataError(f"infer_likelihoods takes a data frame, got {type(frame).__name__}: give named columns")
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight, len(found))
        found, weight = found.filter((weight > 0).tolist()), weight[weight > 0]
    return InferredLikelihoods(tuple(infer(summarise_column(found[name], weight=weight)) for name in found.columns))


def infer(column: Summary) -> Choice:
    """The likelihood that suits a column."""
    return Choice(column.name, *_infer(column))


def _infer(column: Summary) -> tuple[Kind, str]:
    distinct = column.distinct
    if distinct < 2:
        return SKIP, ONE_VALUE if distinct else NOTHING
    if column.flags:
        return "bernoulli", "true and false"
    if column.text:
        if column.dates:
            return SKIP, ALL_DATES
        if distinct > max(limits.FEW_VALUES, limits.ID_SHARE * column.times):
            return SKIP, IDENTIFIERS
        if column.values is None:
            return SKIP, TOO_MANY
        return "categorical", f"text with {distinct:,} values"
    if column.declared and distinct <= max(limits.FEW_VALUES, limits.ID_SHARE * column.times):
        return "categorical", f"{distinct:,} categories"
    if inf in map(abs, column.span):
        return "normal", "numbers, with an infinite one"
    if distinct == 2 and column.span == (0.0, 1.0):
        return "bernoulli", "zeros and ones"
    if limits.CELLS_A_VALUE * distinct <= column.times and distinct <= (limits.FEW_VALUES if column.whole else 2):
        return "categorical", f"{distinct} {'whole numbers' if column.whole else 'numbers'}"
    return (SKIP, ROW_NUMBERS) if _are_row_numbers(column) else ("normal", "numbers")


def _are_row_numbers(column: Summary) -> bool:
    """Whether each whole number of a range occurs once, or half of them if rows were drawn from a table.

    A row number reveals the class if rows are sorted by class. If there are too many values to keep, only the number
    of cells is compared with the length of the range.
    """
    length = column.span[1] - column.span[0] + 1
    if not column.whole or column.repeated or column.num_cells < 2 * limits.FEW_VALUES:
        return False
    return length == column.num_cells if column.values is None else column.num_cells >= length / 2


def in_python(name: str, kind: str) -> str:
    """How to choose a column's likelihood in Python."""
    return f"likelihoods={{'{name}': '{kind}'}}"


def on_command_line(name: str, kind: str) -> str:
    """How to choose a column's likelihood on the command line."""
    return f"--as {shlex.quote(f'{name}={kind}')}"


def warnings_of(columns: Mapping[str, Summary], choices: Sequence[Column], how: Callable[..., str]) -> tuple[str, ...]:
    """Sentences about columns whose likelihoods were inferred.

    Args:
        columns: Their summaries, by name.
        choices: The columns, each with its likelihood.
        how: What to write to choose another likelihood: ``in_python`` or ``on_command_line``.
    """
    found = [*filter(None, (_of_numbers_as_text(columns[choice.name]) for choice in choices))]
    found += filter(None, (_of_similar(columns[choice.name]) for choice in choices if choice.kind == "categorical"))
    for reason in (NOTHING, ONE_VALUE, IDENTIFIERS, TOO_MANY, ROW_NUMBERS, ALL_DATES):
        names = [choice.name for choice in choices if choice.reason == reason]
        if names:
            noun, verb, be, it = ("column", "has", "is", "it") if len(names) == 1 else ("columns", "have", "are", "one")
            keep = how(names[0], "normal" if reason == ROW_NUMBERS else "categorical")
            advice = "" if reason in (NOTHING, ONE_VALUE) else f"; to keep {it}, write {keep}"
            if reason in (IDENTIFIERS, TOO_MANY):
                advice += f", or, to count the words of its texts, {how(names[0], 'words')}"
            found.append(f"{noun} {listing(names)} {verb} {reason} and {be} left out{advice}")
    return tuple(found)


def _of_numbers_as_text(column: Summary) -> str:
    """A warning if most of a column's texts are numbers, and a few are not (`N/A`, `1,5`, `unknown`)."""
    if column.odd is None or 2 * column.num_numbers < column.num_cells:
        return ""
    cell, place = column.odd
    why = f", which {why_text(cell)}" if is_meant_as_number(cell) else ""
    return f"column '{column.name}' is read as text because of '{cell}' {place}{why}"


def _of_similar(column: Summary) -> str:
    """A warning if two categories differ only in case or blanks."""
    alike = first_alike(column.values) if column.text and column.values is not None else None
    if alike is None:
        return ""
    return (
        f"column '{column.name}' has the categories '{alike[0]}' and '{alike[1]}', which differ only in case or "
        "blanks: write them alike if they are one"
    )
