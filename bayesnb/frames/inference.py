"""Infer the likelihood of each column from its values: the one rule of the command line and of the estimator."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from bayesnb.arrays.typing import Table
from bayesnb.arrays.user_warnings import warn
from bayesnb.frames.columns import SKIP, Column, Kind
from bayesnb.frames.series import Array, DataError, as_frame, listing
from bayesnb.frames.summaries import Summary, summarise_column
from bayesnb.frames.values import is_meant_as_number, why_text

FEW = 10
"""Whole numbers with at most this many values are categories; columns with at most so many do not identify rows."""

OFTEN = 3
"""Numbers are categories if their values occur so often on average."""

ID_SHARE = 0.9
"""Text with more distinct values than this fraction of its rows is taken for an identifier of rows."""

NOTHING = "nothing in it"
ONE_VALUE = "one value only"
IDENTIFIERS = "a different text in nearly every row"
ROW_NUMBERS = "a number for each row"
DATES = "dates or times"

Undecided = tuple[int, Array] | None
"""The number of rows so far, and which columns [D] are Normal and may turn out to be zeros and ones; None if none."""


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


def infer_likelihoods(frame: Table) -> InferredLikelihoods:
    """The likelihood that suits the values of each column, and why.

    Text is Categorical, and so are numbers whose column has the type of categories; whole numbers with at most 10
    values, and any two numbers, if each occurs three times on average. Zeros and ones, and booleans, are Bernoulli;
    other numbers Normal. Left out are columns with at most one value, text that differs in nearly every row, dates and
    times, and numbers of rows. ``NaiveBayesClassifier``, `bayesnb fit` and `bayesnb compare` choose by the same rule;
    by default the first two see Normal columns in two more ways (``nb.Views``), unless they are chosen: to give these
    choices back to the estimator chooses Normal.

    Args:
        frame: A data frame of pandas, polars or pyarrow, without the column of classes.

    Raises:
        DataError: if it is not a data frame, or one of its columns holds nested values or several types.

    Example:
        >>> import pandas as pd, bayesnb as nb
        >>> frame = pd.DataFrame({"size": [1.5, 2.25, 3.5], "colour": ["red", "blue", "red"], "ill": [1, 0, 1]})
        >>> dict(nb.infer_likelihoods(frame))
        {'size': 'normal', 'colour': 'categorical', 'ill': 'bernoulli'}
    """
    found = as_frame(frame)
    if found is None:
        raise DataError(f"infer_likelihoods takes a data frame, got {type(frame).__name__}: give named columns")
    return InferredLikelihoods(tuple(infer(summarise_column(found[name])) for name in found.columns))


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
            return SKIP, DATES
        if column.values is None or distinct > max(FEW, ID_SHARE * column.num_cells):
            return SKIP, IDENTIFIERS
        return "categorical", f"text with {distinct:,} values"
    if column.declared and distinct <= max(FEW, ID_SHARE * column.num_cells):
        return "categorical", f"{distinct:,} categories"
    if inf in map(abs, column.span):
        return "normal", "numbers, with an infinite one"
    if distinct == 2 and column.span == (0.0, 1.0):
        return "bernoulli", "zeros and ones"
    if OFTEN * distinct <= column.num_cells and distinct <= (FEW if column.whole else 2):
        return "categorical", f"{distinct} {'whole numbers' if column.whole else 'numbers'}"
    return (SKIP, ROW_NUMBERS) if _are_row_numbers(column) else ("normal", "numbers")


def _are_row_numbers(column: Summary) -> bool:
    """Whether each whole number of a range occurs once, or half of them if rows were drawn from a table.

    A row number reveals the class if rows are sorted by class. If there are too many values to keep, only the number
    of cells is compared with the length of the range.
    """
    length = column.span[1] - column.span[0] + 1
    if not column.whole or column.repeated or column.num_cells < 2 * FEW:
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
    for reason in (NOTHING, ONE_VALUE, IDENTIFIERS, ROW_NUMBERS, DATES):
        names = [choice.name for choice in choices if choice.reason == reason]
        if names:
            noun, verb, be, it = ("column", "has", "is", "it") if len(names) == 1 else ("columns", "have", "are", "one")
            keep = how(names[0], "normal" if reason == ROW_NUMBERS else "categorical")
            advice = "" if reason in (NOTHING, ONE_VALUE) else f"; to keep {it}, write {keep}"
            if reason == IDENTIFIERS:
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
    seen: dict[str, str] = {}
    for value in column.values if column.text and column.values is not None else ():
        other = seen.setdefault("".join(value.split()).casefold(), value)
        if other != value:
            return (
                f"column '{column.name}' has the categories '{other}' and '{value}', which differ only in case or "
                "blanks: write them alike if they are one"
            )
    return ""


def infer_kinds(X: Array, before: tuple[str, ...], seen: Undecided) -> tuple[tuple[str, ...], Undecided]:
    """Bernoulli for each column of zeros and ones, both of which occur, else Normal; or the kinds of earlier rows.

    Where all cells are zeros and ones, all columns are Bernoulli. Fewer than 10 rows, such as a small first batch, are
    too few to tell: they are Normal, with a warning later. ``seen`` is what was returned for the earlier rows.
    """
    if before and seen is None:
        return before, None
    rows, among = seen or (0, np.ones(X.shape[1], bool))
    rows += len(X)
    flags, both = _find_flags(X, among)
    clear = both & (rows >= FEW)
    if before and clear.any():
        names = [f"x{d}" for d in np.flatnonzero(clear)]
        warn(
            f"{'X stays' if clear.all() else listing(names) + ' of X stay'} normal, as the first rows suggested, and "
            "all rows together suggest bernoulli: choose likelihoods from the first rows on, 'bernoulli', 'normal', or "
            "a dict of them by position"
        )
        return before, None
    if clear.all():
        warn(
            "all cells of X are zeros and ones, so its columns are Bernoulli: write likelihoods='bernoulli' to say so, "
            "or likelihoods='normal' for numbers that happen to be zeros and ones"
        )
    left = flags & ~clear
    kinds = before or tuple("bernoulli" if flag else "normal" for flag in clear.tolist())
    return kinds, (rows, left) if left.any() else None


def _find_flags(X: Array, among: Array) -> tuple[Array, Array]:
    """Which columns ``among`` [D] hold zeros, ones and NaN only, and which of these hold both, or all of them do."""
    flags, both = np.zeros((2, X.shape[1]), bool)
    if X.dtype.kind == "m":  # numpy compares durations with numbers no more; they are refused later
        return flags, both
    places = np.flatnonzero(among)
    for rows in (X[:100], X):  # the first rows settle it for most columns
        cells = rows if len(places) == X.shape[1] else rows[:, places]
        zero, one = cells == 0, cells == 1
        kept = (zero | one | np.isnan(cells)).all(axis=0)
        places, zeros, ones = places[kept], zero.any(axis=0)[kept], one.any(axis=0)[kept]
    flags[places], both[places] = True, zeros & ones
    return flags, both if not flags.all() else flags & zeros.any() & ones.any()
