"""Columns of a data frame: the likelihood of each, and the values that its codes stand for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, cast

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.families import Family
from bayesnb.families.parts.support import LARGEST_CELL
from bayesnb.frames.series import (
    Array,
    DataError,
    declared,
    is_meant_as_number,
    is_missing,
    is_number,
    label,
    numbers,
    plain,
    sort_of,
    texts,
    why_text,
)

Kind = Literal["bernoulli", "categorical", "normal", "poisson", "multinomial", "own"]
Value = str | float | bool

KINDS: tuple[Kind, ...] = ("bernoulli", "categorical", "normal", "poisson", "multinomial")
BLOCKS: dict[Kind, str] = {
    "bernoulli": "binary", "categorical": "categorical", "normal": "numeric", "poisson": "counts",
    "multinomial": "words",
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One feature: its likelihood and what its codes mean.

    Attributes:
        name: The column's name.
        kind: The likelihood: `bernoulli`, `categorical`, `normal`, `poisson` or `multinomial`; `own` for a family.
        values: What the codes 0, 1, ... stand for, sorted; empty for kinds whose cells are numbers.
        text: Whether its cells are text; None if no cell has been seen.
        span: The smallest and the largest number; None for text, or if not computed.
        missing: How many cells are missing.
        family: The likelihood of a column of kind `own`.
        own_block: The block of the columns that have this family.
    """

    name: str
    kind: Kind
    values: tuple[Value, ...] = ()
    text: bool | None = False
    span: tuple[float, float] | None = field(default=None, compare=False)
    missing: int = field(default=0, compare=False)
    family: Family | None = field(default=None, compare=False)
    own_block: str = ""

    @property
    def block(self) -> str:
        """The name of the block that the column belongs to."""
        return self.own_block or BLOCKS[self.kind]

    @property
    def likelihood(self) -> str:
        """The name of the column's likelihood."""
        return self.kind if self.family is None else type(self.family).__name__

    def encode(self, given: Any) -> Array:
        """Convert cells [N], a series of any library, to the array that the likelihood takes.

        Returns:
            [N]: 0, 1 or NaN (`bernoulli`), codes with -1 for missing (`categorical`), else numbers or NaN. A value
            that is not among ``values`` counts as missing.

        Raises:
            DataError: if the cells are text and the column holds numbers, or the other way round; for infinities.
        """
        cells = plain(nw.from_native(given, series_only=True))
        counted = self.kind in ("bernoulli", "categorical")
        if self.text is None or is_missing(cells):
            return np.full(len(cells), -1, np.int32) if self.kind == "categorical" else np.full(len(cells), np.nan)
        is_text = sort_of(cells) == "text"
        if is_text and not self.text:
            odd = next((text for text in texts(cells) if text is not None and not is_number(text)), None)
            what = "numbers that are written as text" if odd is None else f"text, '{odd}'"
            why = f"; '{odd}' {why_text(odd)}" if odd is not None and is_meant_as_number(odd) else ""
            raise DataError(f"column '{self.name}' holds {what}, and the model was fitted to numbers in it{why}")
        if self.text and not is_text:
            raise DataError(f"column '{self.name}' holds numbers, and the model was fitted to text in it")
        if is_text:
            codes_of = {value: code for code, value in enumerate(self.values)}
            found = (codes_of.get(text, -1) if text is not None else -1 for text in texts(cells))
            codes = np.fromiter(found, np.int32, len(cells))
        elif counted:
            codes = _codes(self._checked(numbers(cells)), np.array(self.values, np.float64))
        else:
            return self._checked(numbers(cells))
        return np.where(codes < 0, np.nan, codes) if self.kind == "bernoulli" else codes

    def _checked(self, cells: Array) -> Array:
        if np.isinf(cells).any():
            raise DataError(f"column '{self.name}' holds an infinite number: leave the cell out, or its row")
        if self.kind == "normal":
            with np.errstate(invalid="ignore"):
                if (np.abs(cells) > LARGEST_CELL).any():
                    raise DataError(f"column '{self.name}' holds {np.nanmax(np.abs(cells)):g}, too large to be squared")
        elif self.kind in ("poisson", "multinomial") and (
            (cells < 0).any() or (self.kind == "poisson" and (cells % 1 > 0).any())
        ):
            raise DataError(f"column '{self.name}' is {self.kind}, so its cells are counts 0, 1, 2, ... or missing")
        return cells

    def joined(self, other: Self) -> Self:
        """The same column with the values of both.

        Raises:
            DataError: if the kinds differ, or one is text and the other numbers.
        """
        if other.text is None:
            return self
        if self.kind != other.kind or self.text not in (other.text, None):
            before, now = (f"{column.kind}{' (text)' * bool(column.text)}" for column in (self, other))
            raise DataError(
                f"column '{self.name}' was {before} in the rows before and is {now} in these: give it one type, or say "
                f"its likelihood, likelihoods={{'{self.name}': ...}}, from the first rows on"
            )
        return replace(other, values=in_order({*self.values, *other.values}))

    def describe(self) -> str:
        """A short text that describes what the column holds: its range, its values or their number."""
        if not self.values:
            low, high = cast(tuple[float, float], self.span)
            return f"{low:g} to {high:g}"
        if self.kind == "bernoulli" or len(self.values) <= 4:
            return ", ".join(label(value) for value in self.values)
        return f"{len(self.values)} categories"


def in_order(values: Any) -> tuple[Value, ...]:
    """Sorted values; values of several types are sorted as text."""
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=str))


def by_type(cells: nw.Series[Any], chosen: Kind | Family | None, own_block: str = "") -> Column:
    """Describe a column by its type alone, so that any part of its rows gives the same likelihood.

    Text is Categorical, booleans are Bernoulli, numbers Normal. Categories are those declared or present. Text with two
    values is Categorical with two categories, which is the same model as Bernoulli.

    Args:
        cells: The column.
        chosen: Its likelihood, if it has been chosen.
        own_block: The block of a column whose likelihood is a family.

    Raises:
        DataError: for a type that no likelihood takes, and for text if the likelihood takes numbers.
    """
    cells = plain(cells)
    sort, family = sort_of(cells), chosen if isinstance(chosen, Family) else None
    kind = "own" if isinstance(chosen, Family) else chosen
    if kind is None:
        kind = "bernoulli" if sort == "flag" else "categorical" if sort == "text" else "normal"
    if sort == "text":
        if kind not in ("bernoulli", "categorical"):
            name = kind if family is None else type(family).__name__
            raise DataError(f"column '{cells.name}' holds text, which cannot be {name}: make it categorical")
        values = in_order({*declared(cells), *texts(cells)} - {None})
        return Column(cells.name, "categorical", values, True if values else None)
    text = None if is_missing(cells) else False
    if kind not in ("bernoulli", "categorical"):
        return Column(cells.name, kind, text=text, family=family, own_block=own_block)
    found = numbers(cells)
    if np.isinf(found).any():
        raise DataError(f"column '{cells.name}' holds an infinite number: leave the cell out, or its row")
    values = in_order(np.unique(found[~np.isnan(found)]).tolist())
    if kind == "categorical" and sort != "flag":
        return Column(cells.name, kind, values, text)
    if not {*values} <= {0.0, 1.0}:
        raise DataError(f"column '{cells.name}' is bernoulli, so its cells are 0, 1 or missing, got {values[-1]:g}")
    return Column(cells.name, kind, (False, True), text)


def _codes(cells: Array, values: Array) -> Array:
    """Positions of numbers among sorted values; -1 for numbers that are not among them."""
    if not len(values):
        return np.full(len(cells), -1, np.int32)
    codes = np.searchsorted(values, cells)
    codes = np.where(codes < len(values), codes, 0)
    return np.where(values[codes] == cells, codes, -1).astype(np.int32)
