"""Columns of a data frame: the likelihood of each, the values that its codes represent, and how cells are encoded.

It imports no data frames, so that a served model starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.arrays.user_warnings import warn
from bayesnb.frames.values import (
    FLAGS,
    LARGEST_INTEGER,
    Array,
    DataError,
    is_meant_as_number,
    label,
    listing,
    reads_as_number,
    why_text,
)

if TYPE_CHECKING:  # families import NumPyro
    from bayesnb.families import Family

Kind = Literal[
    "bernoulli", "categorical", "normal", "histogram", "poisson", "multinomial", "words", "missing", "own", "skip"
]  # fmt: skip
Value = str | float | bool

KINDS: tuple[Kind, ...] = ("bernoulli", "categorical", "normal", "histogram", "poisson", "multinomial")
SKIP: Kind = "skip"
"""The kind of a column that is left out."""

SPARSE: tuple[Kind, ...] = ("bernoulli", "multinomial")
"""The kinds whose columns may be sparse."""

MOST_IN_TABLE = 1 << 10
"""The longest span of whole numbers whose codes stand in a table."""

BLOCKS: dict[Kind, str] = {
    "bernoulli": "binary", "categorical": "categorical", "normal": "numeric", "histogram": "cells",
    "poisson": "counts", "multinomial": "words", "missing": "missing",
}  # fmt: skip

MISSING = "missing"
"""The block of indicators."""

CODED: tuple[Kind, ...] = ("bernoulli", "categorical", "missing")
"""The kinds whose cells are codes of the column's values."""


@dataclass(frozen=True)
class Column:
    """One feature: its likelihood and what its codes mean.

    Of kind `missing` it is the indicator of the missing cells of the column ``name``:

        theta_k ~ Beta(l, l),   m_n | y_n = k ~ Bernoulli(theta_k),   m_n = 1 if the cell of row n is missing, else 0

    Attributes:
        name: The column's name.
        kind: The likelihood, one of ``KINDS``, `words` or `missing`; `own` for a family; `skip` if it is left out.
        values: The values of the codes 0, 1, ..., or the words, sorted; empty for kinds whose cells are numbers.
        text: Whether its cells are text; None if no cell has been seen.
        span: The smallest and the largest number; None for text, or if not computed.
        missing: The number of missing cells.
        family: The likelihood of a column of kind `own`.
        own_block: The block of the columns that have this family.
        inferred: Whether the kind follows from the first rows; cells outside its support then count as missing.
        reason: Why the kind was inferred, or the column left out.
        width: The number of neighbours in an array that it stands for.
    """

    name: str
    kind: Kind
    values: Sequence[Value] = ()
    text: bool | None = False
    span: tuple[float, float] | None = field(default=None, compare=False)
    missing: int = field(default=0, compare=False)
    family: Family | None = field(default=None, compare=False)
    own_block: str = ""
    inferred: bool = field(default=False, compare=False)
    reason: str = field(default="", compare=False)
    width: int = 1

    @property
    def block(self) -> str:
        """The name of the block that the column belongs to; empty if it is left out."""
        return self.own_block or BLOCKS.get(self.kind, "")

    @property
    def likelihood(self) -> str:
        """The name of the column's likelihood."""
        return self.kind if self.family is None else type(self.family).__name__

    @property
    def missing_code(self) -> float:
        """What stands for a missing cell."""
        return -1 if self.kind == "categorical" else np.nan

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns in the block."""
        return (indicator_name(self.name) if self.kind == "missing" else self.name,)

    def encode(self, given: Any) -> Array:
        """Cells [N], a series of any library, as the array that the likelihood takes.

        Returns:
            [N]: 0, 1 or NaN (`bernoulli`), codes with -1 for missing (`categorical`), else numbers or NaN. A value
            that is not among ``values`` counts as missing, with a warning if no cell is among them, or if the kind was
            inferred and the value is outside its support.

        Raises:
            DataError: if the cells are text and the column is numbers, or vice versa; for infinities.
        """
        from bayesnb.frames import series

        cells = series.as_series(given, coded=self.text is True)
        if self.kind == "missing":
            return series.are_missing(cells).astype(np.float64)
        if self.text is None:
            return self._missing(len(cells))
        try:
            positions, found = self._values(cells)
            found = found if self.text else self.check(found)
        except DataError:
            if series.are_missing(cells).all():  # then a column of any type will do
                return self._missing(len(cells))
            raise
        if self.kind not in CODED:
            return found if positions is None else found[positions]
        codes = self._codes(found)
        if (codes < 0).any():
            self.warn_of_others(found[codes < 0], none_known=codes.max() < 0)
        codes = codes if positions is None else np.append(codes, np.int32(-1))[positions]
        return np.where(codes < 0, np.nan, codes) if self.kind == "bernoulli" else codes

    def _values(self, cells: Any) -> tuple[Array | None, Array]:
        """The position of each cell of a series among some values, -1 if it is missing, and the values.

        The position is None if the values are the cells themselves: numbers, as integers where their codes will be
        looked up. Otherwise these are the distinct texts, or 0 and 1 from texts of booleans.
        """
        from bayesnb.frames import series

        sort = series.sort_of(cells)
        if sort == "number" or (sort == "flag" and not self.text):
            if self.text:
                raise DataError(
                    f"column '{self.name}' holds numbers, and the model was fitted to text in it: convert them to text"
                )
            whole = series.whole_numbers(cells) if self.kind in CODED else None
            return None, series.numbers(cells) if whole is None else whole
        positions, names = series.factorise(cells) if sort != "nothing" else (np.full(len(cells), -1), [])
        if self.text:
            return positions, np.array(names, object)
        if cells.dtype in series.DATES:
            raise DataError(
                f"column '{self.name}' holds {cells.dtype}, and the model was fitted to numbers: {series.NO_DATES}"
            )
        if {*names} <= {*FLAGS.values()}:
            return positions, np.array([*(name == FLAGS["true"] for name in names), np.nan])
        odd = next((name for name in names if not reads_as_number(name)), None)
        if odd is None:
            what, why = "numbers that are written as text", ": convert them to numbers"
        else:
            what, why = f"text, '{odd}'", f"; '{odd}' {why_text(odd)}" if is_meant_as_number(odd) else ""
        fitted = "true and false" if any(isinstance(value, bool) for value in self.values) else "numbers"
        raise DataError(f"column '{self.name}' holds {what}, and the model was fitted to {fitted} in it{why}")

    def _missing(self, num_cells: int) -> Array:
        return np.full(num_cells, self.missing_code, np.int32 if self.kind == "categorical" else np.float64)

    def _codes(self, found: Array) -> Array:
        """The codes of values or cells; -1 if they are missing, or were not fitted."""
        if self.text:
            return np.array([self.code_of.get(name, -1) for name in found], np.int32)
        if found.dtype == np.int64 and self._table is not None:
            below, table = self._table
            return table[np.clip(found, below, below + len(table) - 1) - below]
        known = self._numbers
        place = np.minimum(np.searchsorted(known, found), len(known) - 1)
        return np.where(known[place] == found, place, -1).astype(np.int32)

    @cached_property
    def code_of(self) -> dict[Value, int]:
        """The code of each value; the numbers 0 and 1 are those of False and True."""
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def _numbers(self) -> Array:
        """The values, which are in order, as numbers."""
        return np.array(self.values or (np.nan,), np.float64)

    @cached_property
    def _table(self) -> tuple[int, Array] | None:
        """The codes of the whole numbers from one below the values to one above; None if these are too many."""
        numbered = ((float(value), code) for code, value in enumerate(self.values))
        whole = [(int(value), code) for value, code in numbered if abs(value) <= LARGEST_INTEGER and value % 1 == 0]
        if not whole or whole[-1][0] - whole[0][0] > MOST_IN_TABLE:
            return None
        below = whole[0][0] - 1
        table = np.full(whole[-1][0] - below + 2, -1, np.int32)
        for value, code in whole:
            table[value - below] = code
        return below, table

    def codes_of(self, values: Sequence[Value]) -> Array:
        """The codes of these values, all of which it has; 0 if there are none."""
        if isinstance(self.values, range):
            return np.array(values)
        return np.array([self.code_of[value] for value in values] or [0])

    def warn_of_others(self, others: Array, *, none_known: bool) -> None:
        """Warn of values that count as missing, if none is known, or some are outside what an inferred kind takes."""
        others = others[others == others]  # not NaN
        outside = self.outside(others)
        if len(outside):
            warn(
                f"column '{self.name}' is {self.kind}, as its first rows suggested, so {outside[0]:g} counts as "
                f"missing: choose its likelihood, likelihoods={{'{self.name}': ...}} or --as, if it is another"
            )
        elif len(others) and none_known:
            warn(
                f"column '{self.name}' holds no value that the model was fitted to, so all its cells count as missing: "
                f"expected {listing([label(value) for value in self.values])}, got '{label(others[0])}'"
            )

    def outside(self, others: Array) -> Array:
        """Those numbers, none of them among ``values``, that are outside the support of an inferred kind."""
        if not self.inferred or self.text or self.kind not in CODED:
            return others[:0]
        return others if self.kind == "bernoulli" else others[others % 1 != 0]

    def check(self, cells: Array) -> Array:
        """Numbers of any shape, if they are in the support of the likelihood; DataError if not."""
        if cells.dtype.kind == "f":
            require_finite(cells, self.name)
        if self.kind in ("normal", "histogram"):
            with np.errstate(invalid="ignore", over="ignore"):  # LARGEST_CELL is infinite in float32
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
        if other.text is None or self.kind == other.kind == SKIP:
            return self
        values, text = other.values, other.text
        if self.text and all(isinstance(value, bool) for value in values):  # booleans among text are text
            values, text = tuple(FLAGS.values()), True
        if self.kind != other.kind or self.text not in (text, None):
            before, now = (f"{column.kind}{' (text)' * bool(column.text)}" for column in (self, other))
            raise DataError(
                f"column '{self.name}' was {before} in the rows before and is {now} in these: give it one type, or "
                f"choose its likelihood, likelihoods={{'{self.name}': ...}}, from the first rows on"
            )
        new = {*values} - {*self.values}
        if self.inferred and not text:
            new -= {*self.outside(np.array([*new], float)).tolist()}
        return replace(self, values=in_order({*self.values, *new}), text=text)

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


def require_finite(cells: Array, name: str, place: Callable[[int], str] = "".format) -> None:
    """Raise DataError if one of the numbers is infinite; ``place`` words its position, to follow the sentence."""
    infinite = np.isinf(cells)
    if infinite.any():
        where = place(int(infinite.argmax()))
        raise DataError(f"column '{name}' holds an infinite number{where}: leave out the cell or its row")


def indicator_name(column: str) -> str:
    """The name of the indicator of a column's missing cells."""
    return f"{column} is missing"
