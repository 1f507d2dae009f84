"""Summaries of columns, which can be merged, so one pass over its blocks describes a file larger than memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.families.parts.support import LARGEST_CELL
from bayesnb.frames.column_kinds import Column, Kind, in_order
from bayesnb.frames.series import DataError, is_meant_as_number, is_number, label, why_text

MOST_VALUES = 100_000
"""Maximum number of distinct values kept per column; text with more of them is taken for an identifier of rows."""

MOST_INTEGER_CATEGORIES = 10
ID_SHARE = 0.9
"""Text with more distinct values than this fraction of its rows is taken for an identifier of rows."""

NOTHING = "nothing in it"
ONE_VALUE = "one value only"


@dataclass(frozen=True)
class Summary:
    """A summary of some cells of one column.

    Attributes:
        name: The column's name.
        num_cells: The number of cells that are not missing.
        missing: The number of missing cells.
        text: Whether the cells are text.
        values: The distinct values; None if there are more than ``MOST_VALUES``.
        whole: Whether all are whole numbers.
        span: The smallest and the largest number.
        largest: The number of largest magnitude, and its place, such as `line 7`.
        odd: The first text that is not a number, and its place.
        num_numbers: The number of texts that are numbers, or are meant to be.
    """

    name: str
    num_cells: int
    missing: int
    text: bool
    values: frozenset[Any] | None = frozenset()
    whole: bool = False
    span: tuple[float, float] = (np.inf, -np.inf)
    largest: tuple[float, str] = (0.0, "")
    odd: tuple[str, str] | None = None
    num_numbers: int = 0

    def merged(self, other: Summary) -> Summary:
        """The summary of the cells of both; both must be text, or both numbers."""
        if not self.num_cells or not other.num_cells:
            some, none = (self, other) if self.num_cells else (other, self)
            return replace(some, missing=some.missing + none.missing)
        both = None if self.values is None or other.values is None else self.values | other.values
        return Summary(
            name=self.name,
            num_cells=self.num_cells + other.num_cells,
            missing=self.missing + other.missing,
            text=self.text,
            values=_kept(both),
            whole=self.whole and other.whole,
            span=(min(self.span[0], other.span[0]), max(self.span[1], other.span[1])),
            largest=max(self.largest, other.largest, key=lambda pair: abs(pair[0])),
            odd=self.odd or other.odd,
            num_numbers=self.num_numbers + other.num_numbers,
        )


def summarise_frame(frame: pd.DataFrame, target: str) -> dict[str, Summary]:
    """The summary of every column by name: of the target over all rows, of the others over rows with a target."""
    labelled = frame[frame[target].notna()]
    return {name: summarise((frame if name == target else labelled)[name]) for name in frame}


def summarise(cells: pd.Series) -> Summary:
    """The summary of a column of numbers or text, indexed by lines of the file."""
    present = cells.dropna()
    name, missing, where = str(cells.name), len(cells) - len(present), cells.index.name or "line"
    if not len(present):
        return Summary(name, 0, missing, text=False)
    if not pd.api.types.is_numeric_dtype(present):
        values = frozenset(present.unique().tolist())
        numeric = present.map({value: is_number(value) for value in values}).to_numpy(bool)
        odd = None if numeric.all() else (str(present.iloc[~numeric].iloc[0]), f"{where} {present.index[~numeric][0]}")
        meant = numeric | present.map({value: is_meant_as_number(value) for value in values}).to_numpy(bool)
        return Summary(
            name, len(present), missing, text=True, values=_kept(values), odd=odd, num_numbers=int(meant.sum())
        )
    numbers = present.to_numpy(np.float64)
    farthest = int(np.argmax(np.abs(numbers)))
    return Summary(
        name,
        len(present),
        missing,
        text=False,
        values=_kept(frozenset(np.unique(numbers).tolist())),
        whole=bool((numbers == np.round(numbers)).all()),
        span=(float(numbers.min()), float(numbers.max())),
        largest=(float(numbers[farthest]), f"{where} {present.index[farthest]}"),
    )


def infer_kind(column: Summary) -> str:
    """`bernoulli`, `categorical` or `normal`, or the reason to leave the column out, to follow "the column has"."""
    distinct = MOST_VALUES + 1 if column.values is None else len(column.values)
    if distinct == 2:
        return "bernoulli"
    if column.text:
        many = column.values is None or distinct > ID_SHARE * column.num_cells
        return "a different text in nearly every row" if many else "categorical"
    if not column.whole:
        return "normal"
    if distinct <= MOST_INTEGER_CATEGORIES:
        return "categorical"
    # Each whole number of a range once: a row number, which reveals the class if rows are sorted by class. If there are
    # too many values to keep, compare only the number of cells with the length of the range.
    once = column.values is None or distinct == column.num_cells
    is_row_number = once and column.span[1] - column.span[0] == column.num_cells - 1
    return "a number for each row" if is_row_number else "normal"


def no_use(column: Summary) -> str:
    """The reason why nothing can be learned from a column, or an empty string."""
    distinct = -1 if column.values is None else len(column.values)
    return NOTHING if distinct == 0 else ONE_VALUE if distinct == 1 else ""


def describe_column(column: Summary, kind: Kind) -> Column:
    """The column under a likelihood.

    Raises:
        DataError: if its cells are outside the likelihood's support.
    """
    name = column.name
    if kind not in ("bernoulli", "categorical"):
        if column.text:
            cell, place = column.odd or ("", "")
            why = f"'{cell}' on {place} {why_text(cell)}" if column.odd else "its numbers are text"
            raise DataError(f"column '{name}' cannot be {kind}: {why}")
        if abs(column.largest[0]) > LARGEST_CELL:
            value, place = column.largest
            raise DataError(f"column '{name}' holds {value:g} on {place}, which is too large to be squared")
        if kind != "normal" and (column.span[0] < 0 or not column.whole):
            raise DataError(f"column '{name}' cannot be {kind}: its cells are not all counts 0, 1, 2, ...")
        return Column(name, kind, (), False, column.span, column.missing)
    if column.values is None:
        raise DataError(f"column '{name}' cannot be {kind}: it has more than {MOST_VALUES:,} distinct values")
    if kind == "bernoulli" and len(column.values) != 2:
        raise DataError(f"column '{name}' cannot be bernoulli: it has {len(column.values)} distinct values, not two")
    span = None if column.text else column.span
    return Column(name, kind, in_order(column.values), column.text, span, column.missing)


def classes_from(target: Summary) -> tuple[Any, ...]:
    """The classes, sorted.

    Raises:
        DataError: if the target is not a column of classes.
    """
    name, rows = target.name, target.num_cells
    distinct = MOST_VALUES + 1 if target.values is None else len(target.values)
    if rows == 0:
        raise DataError(f"the target '{name}' has nothing in it; choose another with --target")
    if target.values is not None and distinct == 1:
        raise DataError(f"the target '{name}' has one class only, '{label(*target.values)}'")
    shown = f"{distinct}" if target.values is not None else f"more than {MOST_VALUES:,}"
    if not target.text:
        few = distinct <= MOST_INTEGER_CATEGORIES or (target.whole and (distinct <= 20 or rows >= 20 * distinct))
        if not few:
            raise DataError(
                f"the target '{name}' is a measurement ({shown} different numbers in {rows} rows); "
                "classification needs classes"
            )
    if target.values is None or 2 * distinct > rows:
        raise DataError(f"the target '{name}' has {shown} classes in {rows} rows; most would be seen once")
    return in_order(target.values)


def number_warnings(columns: Sequence[Summary]) -> tuple[str, ...]:
    """Warnings about numeric columns that are text because of a few cells (`N/A`, `1,5`, `unknown`)."""
    return tuple(
        f"column '{column.name}' is read as text because of '{column.odd[0]}' on {column.odd[1]}"
        + (f", which {why_text(column.odd[0])}" if is_meant_as_number(column.odd[0]) else "")
        for column in columns
        if column.odd and 2 * column.num_numbers >= column.num_cells
    )


def _kept(values: frozenset[Any] | None) -> frozenset[Any] | None:
    return values if values is None or len(values) <= MOST_VALUES else None
