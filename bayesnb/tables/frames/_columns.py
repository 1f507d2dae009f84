"""Columns of a data frame: the likelihood of each, the values that its codes represent, and how cells are encoded.

Few rows of plain cells, as a service gets them, are encoded without a data frame, which takes ten times as long. What
is not plain, such as an infinite number or text among numbers, is left to ``Schema.encode``, whose answer is the same
for plain cells, and whose errors are those of any number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatch
from typing import Any, Literal, Self

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import LARGEST_CELL
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.families import Family, OfNumPyro
from bayesnb.core.families.parts._support import words_of
from bayesnb.tables.frames import _series as series
from bayesnb.tables.frames._texts import DATES, Lookup, as_texts, encoded, factorise
from bayesnb.tables.frames._values import (
    FLAGS,
    READING,
    Array,
    DataError,
    Reading,
    cure,
    is_meant_as_number,
    label,
    listing,
    reads_as_number,
    why_text,
)

Kind = Literal[
    "bernoulli", "categorical", "ordered", "normal", "histogram", "poisson", "multinomial", "words", "missing", "own",
    "skip",
]  # fmt: skip
Value = str | float | bool

KINDS: tuple[Kind, ...] = ("bernoulli", "categorical", "ordered", "normal", "histogram", "poisson", "multinomial")
SKIP: Kind = "skip"
"""The kind of a column that is left out."""

SPARSE: tuple[Kind, ...] = ("bernoulli", "multinomial")
"""The kinds whose columns may be sparse."""

BLOCKS: dict[Kind, str] = {
    "bernoulli": "binary", "categorical": "categorical", "ordered": "ordered", "normal": "numeric",
    "histogram": "cells", "poisson": "counts", "multinomial": "words", "missing": "missing",
}  # fmt: skip

MISSING = "missing"
"""The block of indicators."""

CODED: tuple[Kind, ...] = ("bernoulli", "categorical", "ordered", "missing")
"""The kinds whose cells are codes of the column's values."""


@singledispatch
def title_of(family: Any) -> str:
    """The name of a family's likelihood."""
    return type(family).__name__


title_of.register(OfNumPyro, lambda family: family.density.title)


@dataclass(frozen=True)
class Column:
    """One feature: its likelihood and what its codes mean.

    Of kind `missing` it is the indicator of the missing cells of the column ``name``:

        theta_k ~ Beta(l, l),   m_n | y_n = k ~ Bernoulli(theta_k),   m_n = 1 if the cell of row n is missing, else 0

    Attributes:
        name: The column's name.
        kind: The likelihood, one of ``KINDS``, `words` or `missing`; `own` for a family; `skip` if it is left out.
        values: The values of the codes 0, 1, ..., or the words, sorted; levels from low to high; empty for kinds whose
            cells are numbers.
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
        return self.kind if self.family is None else title_of(self.family)

    @property
    def missing_code(self) -> float:
        """What stands for a missing cell."""
        return -1 if self.kind == "categorical" else np.nan

    @property
    def levels(self) -> tuple[Value, ...]:
        """The levels that later rows must have: those of an ordered column, unless they are numbers as they rise."""
        fixed = self.kind == "ordered" and (self.text or [*self.values] != sorted(self.values))
        return tuple(self.values) if fixed else ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns in the block."""
        return (f"{self.name} is missing" if self.kind == "missing" else self.name,)

    def encode(self, given: Any, reading: Reading = READING) -> Array:
        """Cells [N], a series of any library, as the array that the likelihood takes; ``reading`` says which are there.

        Returns:
            [N]: 0, 1 or NaN (`bernoulli`), codes with NaN (`ordered`) or -1 for missing (`categorical`), else numbers
            or NaN. A value that is not among ``values`` counts as missing, with a warning if no cell is among them, or
            if the kind was inferred and the value is outside its support.

        Raises:
            DataError: if the cells are text and the column is numbers, or vice versa; for infinities.
        """
        cells = series.as_series(given, coded=self.text is True, missing=reading.missing)
        if self.kind == "missing":
            return series.are_missing(cells, reading.missing).astype(np.float64)
        if self.text is None:
            return self._missing(len(cells))
        try:
            positions, found = self._values(cells, reading)
        except DataError:
            if series.are_missing(cells, reading.missing).all():  # then a column of any type will do
                return self._missing(len(cells))
            raise
        if self.kind not in CODED:
            return found if positions is None else found[positions]
        codes = self._codes_of_texts(positions, found) if self.text else self._codes(found)
        if not self.text and (codes < 0).any():
            self.warn_of_others(found[codes < 0], none_known=codes.max() < 0)
        codes = codes if self.text or positions is None else codes[positions]
        return codes if self.kind == "categorical" else np.where(codes < 0, np.nan, codes)

    def _values(self, cells: Any, reading: Reading) -> tuple[Any, Any]:
        """The position of each cell of a series among some values, -1 if it is missing, and the values.

        The position is None if the values are the cells themselves: numbers, as integers where their codes will be
        looked up. Otherwise these are texts, which may not all occur, or 0 and 1 from texts of booleans.
        """
        sort = series.sort_of(cells)
        if sort == "number" or (sort == "flag" and not self.text):
            if self.text:
                raise DataError(
                    f"column '{self.name}' holds numbers, and the model was fitted to text in it: convert them to text"
                )
            whole = series.whole_numbers(cells) if self.kind in CODED else None
            found = series.numbers(cells) if whole is None else whole
            if reading.numbers:
                found = np.where(np.isin(found, reading.numbers), np.nan, found)
            return None, self.check(found)
        if self.text:
            return encoded(cells, reading.missing)
        if sort == "nothing":
            return np.full(len(cells), -1), np.array([np.nan])
        if cells.dtype in DATES:
            raise DataError(
                f"column '{self.name}' holds {cells.dtype}, and the model was fitted to numbers: {series.NO_DATES}"
            )
        positions, texts = factorise(cells, reading.missing)
        names = texts.to_pylist()
        if {*names} <= {*FLAGS.values()}:
            return positions, np.array([*(name == FLAGS["true"] for name in names), np.nan])
        flags, known = any(isinstance(value, bool) for value in self.values), {*FLAGS.values()}
        others = [name for name in names if not (name in known if flags else reads_as_number(name))]
        odd = min(others, key=known.__contains__, default=None)  # true and false alone would be no error
        if odd is None:
            what, why = "numbers that are written as text", ": convert them to numbers"
        else:
            what, why = f"text, '{odd}'", (f"; '{odd}' {why_text(odd)}" if is_meant_as_number(odd) else "") + cure(odd)
        fitted = "true and false" if flags else "numbers"
        raise DataError(f"column '{self.name}' holds {what}, and the model was fitted to {fitted} in it{why}")

    def _missing(self, num_cells: int) -> Array:
        return np.full(num_cells, self.missing_code, np.int32 if self.kind == "categorical" else np.float64)

    def _codes(self, found: Array) -> Array:
        """The codes of numbers; -1 if they are missing, or were not fitted."""
        if found.dtype == np.int64 and self._table is not None:
            below, table = self._table
            return table[np.clip(found, below, below + len(table) - 1) - below]
        known, codes = self._numbers
        place = np.minimum(np.searchsorted(known, found), len(known) - 1)
        return np.where(known[place] == found, codes[place], -1).astype(np.int32)

    def _codes_of_texts(self, positions: Array, texts: Any) -> Array:
        """The codes of the texts at these positions [N]; -1 if they are missing, or were not fitted."""
        codes = self._lookup.codes(texts)
        found = np.append(codes, np.int32(-1))[positions]
        others = np.flatnonzero((found < 0) & (positions >= 0)) if (codes < 0).any() else codes[:0]
        if len(others):
            first = texts[int(positions[others[0]])].as_py()
            self.warn_of_others(np.array([first], object), none_known=found.max() < 0)
        return found

    def codes_of(self, values: Sequence[Value]) -> Array:
        """The code of each of some values of this column."""
        if not self.text:
            return self._codes(np.array(values, np.float64))
        return self._lookup.find(as_texts(values))

    @cached_property
    def code_of(self) -> dict[Value, int]:
        """The code of each value; the numbers 0 and 1 are those of False and True."""
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def _table(self) -> tuple[int, Array] | None:
        """The codes of the whole numbers from one below the values to one above; None if these are too many."""
        known, codes = self._numbers
        places = np.flatnonzero((np.abs(known) <= limits.LARGEST_WHOLE) & (known % 1 == 0))
        if not len(places) or known[places[-1]] - known[places[0]] > limits.CODE_TABLE:
            return None
        whole = known[places].astype(np.int64)
        below = int(whole[0]) - 1
        table = np.full(int(whole[-1]) - below + 2, -1, np.int32)
        table[whole - below] = codes[places]
        return below, table

    @cached_property
    def _numbers(self) -> tuple[Array, Array]:
        """The values, as numbers in order, and their codes; NaN if there are none."""
        values = np.array(self.values or (np.nan,), np.float64)
        codes = np.argsort(values, kind="stable")
        return values[codes], codes

    @cached_property
    def _lookup(self) -> Any:
        """Finds the codes of texts."""
        return Lookup(self.values)

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
                f"expected {listing([*map(label, self.values[:8]), *self.values[8:]])}, got '{label(others[0])}'"
            )

    def outside(self, others: Array) -> Array:
        """Those numbers, none of them among ``values``, that are outside the support of an inferred kind."""
        if not self.inferred or self.text or self.kind not in CODED:
            return others[:0]
        return others if self.kind == "bernoulli" else others[others % 1 != 0]

    def check(self, cells: Array) -> Array:
        """Numbers of any shape, if they are in the support of the likelihood; DataError if not."""
        if cells.dtype.kind == "f" and np.isinf(cells).any():
            raise DataError(f"column '{self.name}' holds an infinite number: leave out the cell or its row")
        if self.kind in ("normal", "histogram"):
            with np.errstate(invalid="ignore", over="ignore"):  # LARGEST_CELL is infinite in float32
                if (np.abs(cells) > LARGEST_CELL).any():
                    raise DataError(f"column '{self.name}' holds {np.nanmax(np.abs(cells)):g}, too large to be squared")
        elif self.kind in ("poisson", "multinomial") and (
            (cells < 0).any() or (self.kind == "poisson" and (cells % 1 > 0).any())
        ):
            raise DataError(f"column '{self.name}' is {self.kind}, so its cells are counts 0, 1, 2, ... or missing")
        elif self.family is not None and not self.family.support.event_dim:
            outside = cells[~(np.isnan(cells) | self.family.support(cells))]
            if outside.size:
                _, allowed, advice = words_of(self.family.support)
                raise DataError(
                    f"column '{self.name}' cannot be {self.likelihood}: a cell is {allowed} or missing, got "
                    f"{outside[0]:g}{'; ' * bool(advice)}{advice}"
                )
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
        both = in_order([*self.values, *in_order(new)]) if new and self.values else self.values or values
        return replace(self, values=both, text=text)

    def describe(self) -> str:
        """A short description: the range, the values or their number."""
        if not self.values:
            return "{:g} to {:g}".format(*self.span) if self.span else "no cells"
        names = [*map(label, self.values)] if self.kind == "ordered" or len(self.values) <= 4 else []
        if self.kind == "ordered":
            return " < ".join(names if len(names) <= 4 else (names[0], f"... ({len(names)} levels) ...", names[-1]))
        return ", ".join(names) or f"{len(self.values)} categories"


def in_order(values: Any) -> tuple[Value, ...]:
    """Sorted values; values of several types are sorted as text."""
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=str))
