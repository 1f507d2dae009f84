"""Columns of a data frame: the likelihood of each, and the values that its codes represent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from bayesnb.families import Family
from bayesnb.families.parts.support import LARGEST_CELL
from bayesnb.frames.series import (
    Array,
    DataError,
    declared_categories,
    is_meant_as_number,
    is_missing,
    is_number,
    label,
    numbers,
    sort_of,
    texts,
    to_plain,
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
        values: The values of the codes 0, 1, ..., sorted; empty for kinds whose cells are numbers.
        text: Whether its cells are text; None if no cell has been seen.
        span: The smallest and the largest number; None for text, or if not computed.
        missing: The number of missing cells.
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
        """Cells [N], a series of any library, as the array that the likelihood takes.

        Returns:
            [N]: 0, 1 or NaN (`bernoulli`), codes with -1 for missing (`categorical`), else numbers or NaN. A value
            that is not among ``values`` counts as missing.

        Raises:
            DataError: if the cells are text and the column is numbers, or vice versa; for infinities.
        """
        cells = to_plain(nw.from_native(given, series_only=True))
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
        found = pd.Index(texts(cells), dtype=object) if is_text else self._check(numbers(cells))
        if self.kind not in ("bernoulli", "categorical"):
            return found
        codes = pd.Index(self.values, dtype=object if is_text else np.float64).get_indexer(found).astype(np.int32)
        return np.where(codes < 0, np.nan, codes) if self.kind == "bernoulli" else codes

    def _check(self, cells: Array) -> Array:
        require_finite(cells, self.name)
        if self.kind == "normal":
            with np.errstate(invalid="ignore"):
                if (np.abs(cells) > LARGEST_CELL).any():
                    raise DataError(f"column '{self.name}' holds {np.nanmax(np.abs(cells)):g}, too large to be squared")
        elif self.kind in ("poisson", "multinomial") and (
            (cells < 0).any() or (self.kind == "poisson" and (cells % 1 > 0).any())
        ):
            raise DataError(f"column '{self.name}' is {self.kind}, so its cells are counts 0, 1, 2, ... or missing")
        return cells

    def join(self, other: Self) -> Self:
        """The same column with the values of both.

        Raises:
            DataError: if the kinds differ, or one is text and the other numbers.
        """
        if other.text is None:
            return self
        if self.kind != other.kind or self.text not in (other.text, None):
            before, now = (f"{column.kind}{' (text)' * bool(column.text)}" for column in (self, other))
            raise DataError(
                f"column '{self.name}' was {before} in the rows before and is {now} in these: give it one type, or "
                f"choose its likelihood, likelihoods={{'{self.name}': ...}}, from the first rows on"
            )
        return replace(other, values=in_order({*self.values, *other.values}))

    def describe(self) -> str:
        """A short description: the range, the values or their number."""
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


def describe_column(cells: nw.Series[Any], chosen: Kind | Family | None, own_block: str = "") -> Column:
    """The column, described by its type alone, so that any part of its rows gives the same likelihood.

    Text is Categorical, booleans are Bernoulli, numbers Normal. Categories are those declared or present.

    Args:
        cells: The column.
        chosen: Its likelihood, if the user has chosen one.
        own_block: The block of a column whose likelihood is a family.

    Raises:
        DataError: for a type that no likelihood takes, and for text unless the likelihood is Categorical.
    """
    cells = to_plain(cells)
    sort, family = sort_of(cells), chosen if isinstance(chosen, Family) else None
    kind = "own" if isinstance(chosen, Family) else chosen
    if kind is None:
        kind = "bernoulli" if sort == "flag" else "categorical" if sort == "text" else "normal"
    missing = is_missing(cells)
    if sort == "text" and kind == "categorical":
        values = in_order({*declared_categories(cells), *texts(cells)} - {None})
        return Column(cells.name, kind, values, True if values else None)
    if sort == "text" and not missing:
        name = kind if family is None else type(family).__name__
        same = ", which for two values is the same model" if kind == "bernoulli" else ""
        raise DataError(f"column '{cells.name}' holds text, which cannot be {name}: make it categorical{same}")
    text = None if missing else False
    if kind not in ("bernoulli", "categorical"):
        return Column(cells.name, kind, text=text, family=family, own_block=own_block)
    values = () if missing else _distinct_numbers(cells)
    if kind == "categorical" and sort != "flag":
        return Column(cells.name, kind, values, text)
    if not {*values} <= {0.0, 1.0}:
        raise DataError(f"column '{cells.name}' is bernoulli, so its cells are 0, 1 or missing, got {values[-1]:g}")
    return Column(cells.name, kind, (False, True), text)


def _distinct_numbers(cells: nw.Series[Any]) -> tuple[Value, ...]:
    found = numbers(cells)
    require_finite(found, cells.name)
    return in_order(np.unique(found[~np.isnan(found)]).tolist())


def require_finite(cells: Array, name: str) -> None:
    """Raise DataError if one of the numbers is infinite."""
    if np.isinf(cells).any():
        raise DataError(f"column '{name}' holds an infinite number: leave out the cell or its row")
