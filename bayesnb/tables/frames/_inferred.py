"""The likelihoods that suit columns, by their summaries: the one rule of the command line and of the estimator."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, Self

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._typing import ArrayLike, Table
from bayesnb.core.rows._labelled_rows import check_weights
from bayesnb.tables.frames import _series as series
from bayesnb.tables.frames._choices import ASKED
from bayesnb.tables.frames._columns import SKIP, Column, Kind
from bayesnb.tables.frames._series import DataError
from bayesnb.tables.frames._summaries import Summary, summarise_column
from bayesnb.tables.frames._texts import first_alike
from bayesnb.tables.frames._values import CODES, cure, is_meant_as_number, listing, reads_as_number, unit_of, why_text

NOTHING = "nothing in it"
ONE_VALUE = "one value only"
IDENTIFIERS = "a different text in nearly every row"
TOO_MANY = f"more than {limits.MOST_VALUES:,} different texts"
ROW_NUMBERS = "a number for each row"
ALL_DATES = "dates or times"
MAY_BE_KEPT = (IDENTIFIERS, TOO_MANY, ROW_NUMBERS, ALL_DATES)
"""Why columns are left out that may have a likelihood if the user chooses it."""


class Choice(NamedTuple):
    """The likelihood of one column.

    Attributes:
        name: The column.
        kind: Its likelihood, or `skip` if it is left out.
        reason: Why; worded to follow "the column has".
        missing: The number of its missing cells; None if it is not read.
        otherwise: Which other likelihoods it may have.
    """

    name: str
    kind: Kind
    reason: str
    missing: int | None = 0
    otherwise: str = ""

    @classmethod
    def of(cls, column: Column) -> Self:
        """That of a described column, with its values."""
        values = "" if column.kind == SKIP else f": {column.describe()}"
        kind: Any = column.likelihood
        reason, missing = column.reason or "your choice", None if column.reason == ASKED else column.missing
        others = _others(column.kind, column.reason, text=bool(column.text))
        return cls(column.name, kind, reason + values, missing, others)


def _others(kind: str, reason: str, *, text: bool) -> str:
    if kind == SKIP and reason not in MAY_BE_KEPT:
        return ""
    kinds = ["categorical", "ordered", "words"] if text else ["normal", "histogram", "ordered", "categorical"]
    return ", ".join(one for one in (kinds[:1] if reason == ALL_DATES else kinds) if one != kind)


def table_of(choices: Sequence[Choice]) -> str:
    """The choices as a table."""
    rows = [("column", "likelihood", "because it has", "missing", "or"), *choices]
    cells = [[cell if isinstance(cell, str) else "" if cell is None else f"{cell:,}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells)


@dataclass(frozen=True, repr=False, eq=False)
class InferredLikelihoods(Mapping[str, str]):
    """What ``infer_likelihoods`` returns: the likelihood of each column by name, `skip` for columns that are left out.

    Give it to ``NaiveBayesClassifier(likelihoods=...)``, or a dict of it with other choices. Its repr is a table.

    Attributes:
        choices: For each column its name, likelihood, reason, missing cells and other likelihoods.

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
        return table_of(self.choices)


def infer_likelihoods(frame: Table, sample_weight: ArrayLike | None = None) -> InferredLikelihoods:
    """The likelihood that suits the values of each column, and why.

    Text is Categorical, and so are numbers whose column has the type of categories; whole numbers with at most 10
    values, and any two numbers, if each occurs three times on average. Categories are ordered if their type says so, of
    pandas, Arrow or a polars Enum, and has three or more. Zeros and ones, and booleans, are Bernoulli; other numbers
    Normal. Left out are columns with at most one value, text that differs in nearly every row or has over a million
    values, dates and times, and numbers of rows. ``NaiveBayesClassifier``, `bayesnb fit` and `bayesnb compare` choose
    by the same rule; by default the first two see Normal columns in two more ways (``nb.Views``), unless they are
    chosen: to give these choices back to the estimator chooses Normal.

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
    kind, reason = _infer(column)
    others = _others(kind, reason, text=column.text and not column.flags)
    return Choice(column.name, kind, reason, int(column.missing), others)


def _infer(column: Summary) -> tuple[Kind, str]:
    distinct = column.distinct
    if column.holds:
        return SKIP, column.holds
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
        return _as_categories(column, f"text with {distinct:,} values")
    if column.declared and distinct <= max(limits.FEW_VALUES, limits.ID_SHARE * column.times):
        return _as_categories(column, f"{distinct:,} categories")
    if inf in map(abs, column.span):
        return "normal", "numbers, with an infinite one"
    if distinct == 2 and column.span == (0.0, 1.0):
        return "bernoulli", "zeros and ones"
    if limits.CELLS_A_VALUE * distinct <= column.times and distinct <= (limits.FEW_VALUES if column.whole else 2):
        return "categorical", f"{distinct} {'whole numbers' if column.whole else 'numbers'}"
    return (SKIP, ROW_NUMBERS) if _are_row_numbers(column) else ("normal", "numbers")


def _as_categories(column: Summary, reason: str) -> tuple[Kind, str]:
    """Ordered if the column's type says so; of two values no order says anything."""
    if column.has_levels and limits.FEWEST_BINS < len(column.levels) <= limits.MOST_BINS:
        return "ordered", f"{len(column.levels)} levels, in the order of its type"
    return "categorical", reason


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


def in_compare(name: str, kind: str) -> str:
    """The same of `bayesnb compare`, which counts no words."""
    return "" if kind == "words" else on_command_line(name, kind)


def warnings_of(columns: Mapping[str, Summary], choices: Sequence[Column], how: Callable[..., str]) -> tuple[str, ...]:
    """Sentences about columns whose likelihoods were inferred.

    Args:
        columns: Their summaries, by name.
        choices: The columns, each with its likelihood.
        how: What to write to choose another likelihood, such as ``in_python``; empty where it cannot be chosen.
    """
    said = (of_lost_names, _of_units, _of_codes)
    found = [*filter(None, (_of_numbers_as_text(columns[choice.name]) for choice in choices))]
    found += filter(None, (say(columns[choice.name]) for say in said for choice in choices))
    found += filter(None, (_of_similar(columns[choice.name]) for choice in choices if choice.kind == "categorical"))
    of_types = sorted({column.holds for column in columns.values()} - {""})
    for reason in (NOTHING, ONE_VALUE, IDENTIFIERS, TOO_MANY, ROW_NUMBERS, ALL_DATES, *of_types):
        names = [choice.name for choice in choices if choice.reason == reason]
        if names:
            noun, verb, be, it = ("column", "has", "is", "it") if len(names) == 1 else ("columns", "have", "are", "one")
            advice = "; to learn from dates, add a column of numbers, such as the month" if reason == ALL_DATES else ""
            if reason in of_types:
                advice = f"; to keep {it}, convert it to text or numbers"
            kind = {IDENTIFIERS: "categorical", TOO_MANY: "categorical", ROW_NUMBERS: "normal"}.get(reason)
            if kind and (keep := how(names[0], kind)):
                advice = f"; to keep {it}, write {keep}"
            if kind == "categorical" and (words := how(names[0], "words")):
                advice += f", or, to count the words of its texts, {words}"
            found.append(f"{noun} {listing(names)} {verb} {reason} and {be} left out{advice}")
    return tuple(found)


def _of_numbers_as_text(column: Summary) -> str:
    """A warning if most of a column's texts are numbers, and a few are not (`N/A`, `1,5`, `unknown`)."""
    if column.odd is None or 2 * column.num_numbers < column.num_cells or _of_units(column):
        return ""
    cell, place = column.odd
    why = f", which {why_text(cell)}" if is_meant_as_number(cell) else ""
    return f"column '{column.name}' is read as text because of '{cell}' {place}{why}{cure(cell)}"


def of_lost_names(column: Summary) -> str:
    """A sentence if more than one cell in twenty of a column of text is missing, though it may be a name."""
    if not column.text or 20 * column.lost <= column.num_cells + column.missing:
        return ""
    return (
        f"column '{column.name}' has {column.lost:,} cells that say NA or None, which are missing cells: if they are "
        "names, read the table with keep_default_na=False (--no-default-na)"
    )


def _of_units(column: Summary) -> str:
    """A sentence if most of a column's texts are numbers with one unit."""
    texts = [*column.values[: limits.SHOWN_TEXTS].tolist()] if column.text and column.values is not None else []
    units = Counter(filter(None, map(unit_of, texts)))
    unit, times = max(units.items(), key=lambda pair: pair[1], default=("", 0))
    if times < 3 or 2 * (times + sum(map(reads_as_number, texts))) <= len(texts):
        return ""
    why, do = f"its numbers have the unit '{unit}'", "to learn from them as numbers, take the unit out of the cells"
    if unit == "'":
        why, do = "its thousands are apart", 'read the file with thousands="\'" (--thousands "\'")'
    cell = next(text for text in texts if unit_of(text) == unit)
    return f"column '{column.name}' is read as text because {why}, as in \"{cell}\": {do}"


def _of_codes(column: Summary) -> str:
    """A hint if the smallest or largest number looks like the code of a missing cell, such as -999."""
    low, high = column.inner
    code = next((end for end in column.span if end in CODES), None)
    if column.text or code is None or low > high:
        return ""
    if not (code < 0 <= low or max(low - code, code - high) > high - low):
        return ""
    place = f" {column.largest[1]}" if column.largest[0] == code else ""
    return (
        f"column '{column.name}' holds {code:g}{place}, far outside its other numbers, {low:g} to {high:g}: if it "
        f"stands for a missing cell, write NaN, or read the table with na_values=[{code:g}] (--na-values)"
    )


def _of_similar(column: Summary) -> str:
    """A warning if two categories differ only in case or blanks."""
    alike = first_alike(column.values) if column.text and column.values is not None else None
    if alike is None:
        return ""
    return (
        f"column '{column.name}' has the categories '{alike[0]}' and '{alike[1]}', which differ only in case or "
        "blanks: write them alike if they are one"
    )
