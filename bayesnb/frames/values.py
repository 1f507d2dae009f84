"""Plain values of cells: which texts are numbers, how messages show them, and few rows of them encoded one by one.

A served model encodes few rows so: cells are looked up in dictionaries, in a tenth of the time that a data frame takes
for one row. Whatever is not plain, such as an infinite number or text among numbers, is left to ``FrameSchema.encode``,
whose answer is the same for plain cells, and whose errors are those of any number of rows. It imports no data frames,
so that a served model starts quickly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.arrays.user_warnings import warn

LARGEST_INTEGER = 2**53
"""float64 represents every whole number up to this one."""

FLAGS = {"false": "False", "true": "True"}
"""How booleans are written as text, by their lower case."""

MOST_REMEMBERED = 1 << 16
"""Texts whose answers are remembered, as the batches of a file have mostly the same texts."""

WHOLE = re.compile(r"([+-]?[0-9]+)(\.0*)?")
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}((,[0-9]{3})+\.[0-9]+|(,[0-9]{3}){2,})")
DECIMAL_COMMA = re.compile(r"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+),[0-9]+([eE][+-]?[0-9]+)?")

Array = np.ndarray[Any, Any]
Cells = Mapping[str, list[Any]]

FEW = 16
"""The largest number of rows that are encoded one by one."""

TEXTS, BOOLEANS = {str}, {bool, np.bool_}
NUMBERS = {int, float, np.int64, np.float64}
"""The types of plain cells; those of a column are all of one of these."""

CODED = ("bernoulli", "categorical", "missing")
"""The likelihoods whose cells are codes of the column's values."""


def label(value: Any) -> str:
    """The text of a category or a class; whole numbers are written without a decimal point."""
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def listing(names: Sequence[str], most: int = 8) -> str:
    """The names, quoted and separated by commas; at most the first ``most``, then the number of the rest."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def warn_of_unseen(name: str, values: Sequence[Any], cell: Any) -> None:
    """Warn of a column in which no cell is among the values of the fit; ``cell`` is one of them."""
    warn(
        f"column '{name}' holds no value that the model was fitted to, so all its cells count as missing: expected "
        f"{listing([label(value) for value in values])}, got '{label(cell)}'"
    )


def without_others(X: np.ndarray[Any, Any], columns: Sequence[int]) -> np.ndarray[Any, Any]:
    """These columns of an array, X, with NaN for finite cells other than 0 and 1, with a warning."""
    others = ~((X == 0) | (X == 1)) & np.isfinite(X)
    if not others.any():
        return X
    row, place = np.argwhere(others)[0]
    warn(
        f"column {columns[place]} of X is bernoulli, as its first rows suggested, so {X[row, place]:g} counts as "
        f"missing: choose its likelihood, likelihoods={{{columns[place]}: 'normal', ...}}, if it is another"
    )
    return np.where(others, np.nan, X)


@lru_cache(maxsize=MOST_REMEMBERED)
def is_number(cell: str) -> bool:
    """Whether the text of a cell is a number, and not a whole number that float64 would round."""
    try:
        number = float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_rounded(cell, number)  # Python reads 1_000 as a number; in data it is text


def is_rounded(cell: str, number: float) -> bool:
    """Whether the text is a whole number that float64 rounds to another one."""
    if not LARGEST_INTEGER <= abs(number) < np.inf:
        return False
    whole = WHOLE.fullmatch(cell.strip())
    return whole is not None and int(whole[1]) != float(number)


@lru_cache(maxsize=MOST_REMEMBERED)
def is_meant_as_number(cell: str) -> bool:
    """Whether text that is not a number looks like one: it has commas, or is whole and too large."""
    return any(pattern.fullmatch(cell) is not None for pattern in (DECIMAL_COMMA, THOUSANDS, WHOLE))


def why_text(cell: str) -> str:
    """The reason why a cell is not a number, worded to follow the cell."""
    if DECIMAL_COMMA.fullmatch(cell):
        whole, _, part = cell.rpartition(",")
        if len(part) == 3 and "." not in whole:
            return f"may have a decimal comma or a comma between thousands: write {whole}.{part} or {whole}{part}"
        return f"looks like a number with a decimal comma: write {cell.replace('.', '').replace(',', '.')}"
    if THOUSANDS.fullmatch(cell):
        return f"looks like a number with commas between thousands: write {cell.replace(',', '')}"
    if WHOLE.fullmatch(cell):
        return f"would be rounded to {float(cell):.0f} as a number"
    return "is not a number"


@dataclass(frozen=True)
class PlainColumn:
    """A column of a fit: its likelihood, whether it is text, and the values of its codes; see ``Column``."""

    name: str
    kind: str
    text: bool | None
    inferred: bool
    values: Sequence[Any]

    @cached_property
    def code_of(self) -> dict[Any, int]:
        """The code of each value; the numbers 0 and 1 are those of False and True."""
        return {value: code for code, value in enumerate(self.values)}

    def encode(self, cells: list[Any]) -> list[float] | None:
        """The cells as ``Column.encode`` gives them, with its warning of unseen values; None if one is not plain."""
        missing = -1 if self.kind == "categorical" else math.nan
        if self.kind == "words":
            return None
        if self.text is None:
            return [missing] * len(cells)
        present = [cell for cell in cells if not _is_missing(cell)]
        types = {*map(type, present)}
        if self.kind == "missing":
            return [float(_is_missing(cell)) for cell in cells] if types <= TEXTS | NUMBERS | BOOLEANS else None
        if not (types <= (TEXTS if self.text else NUMBERS) or types <= BOOLEANS):
            return None
        value_of = _as_text if self.text else _as_number
        values = [value_of(cell) for cell in present]
        codes: list[float] = []
        for value in values:
            code = None if value is None else self._encode_value(value)
            if code is None:
                return None
            codes.append(code)
        if codes and self.kind == "categorical" and max(codes) < 0:
            warn_of_unseen(self.name, self.values, values[0])
        found = iter(codes)
        return [missing if _is_missing(cell) else next(found) for cell in cells]

    def _encode_value(self, value: Any) -> float | None:
        """The code or the number; None if it is outside the likelihood's support."""
        if self.kind in CODED:
            code = self.code_of.get(value, -1)
            refused = self.kind == "bernoulli" or (self.inferred and not self.text and value % 1 != 0)
            return None if code < 0 and refused else code
        counted = self.kind not in ("poisson", "multinomial") or (
            value >= 0 and (self.kind == "multinomial" or value % 1 == 0)
        )
        return value if counted else None


@dataclass(frozen=True)
class PlainRows:
    """The names of the columns of a fit, in the order of its frame, and the columns of each block.

    ``single`` says that the only block is given as an array instead of a dict by block.
    """

    names: list[str]
    blocks: dict[str, list[PlainColumn]]
    single: bool

    def encode(self, X: Any) -> Any:
        """X as ``FrameSchema.encode`` gives it if X is few rows of plain cells, else None."""
        cells, of_single = self._cells(X)
        if cells is None:
            return None
        arrays = {}
        for block, columns in self.blocks.items():
            encoded = [column.encode(cells[column.name]) for column in columns]
            if any(column is None for column in encoded):
                return None
            dtype = np.int32 if columns[0].kind == "categorical" else np.float64
            x = np.array([*zip(*encoded, strict=True)], dtype)
            in_single = columns[0].kind not in CODED and {column.name for column in columns} <= of_single
            arrays[block] = x.astype(np.float32) if in_single and not np.isnan(x).any() else x
        return arrays["x"] if self.single else arrays

    def _cells(self, X: Any) -> tuple[Cells | None, set[str]]:
        """The cells of each column, and the columns of single precision; None if X is not few rows of the columns."""
        rows = [X] if isinstance(X, Mapping) else X
        if isinstance(rows, list) and 0 < len(rows) <= FEW:
            plain = all(isinstance(row, Mapping) and self._used <= row.keys() <= self._names for row in rows)
            return ({name: [row[name] for row in rows] for name in self._used} if plain else None), set()
        kind = type(X)
        is_pandas = kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == "pandas"
        if not is_pandas or not 0 < len(X) <= FEW or X.columns.tolist() != self.names:
            return None, set()
        types = dict(zip(self.names, X.dtypes, strict=True))
        if not all(_is_plain_type(types[name], text=name in self._texts) for name in self._used):
            return None, set()
        columns = X.to_numpy(dtype=object).T.tolist()
        single = {name for name, dtype in types.items() if dtype.kind == "f" and dtype.itemsize == 4}
        return dict(zip(self.names, columns, strict=True)), single

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _used(self) -> frozenset[str]:
        return frozenset(column.name for columns in self.blocks.values() for column in columns)

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(column.name for columns in self.blocks.values() for column in columns if column.text)


def _is_missing(cell: Any) -> bool:
    """None, NaN or pandas' NA, of which no comparison is true or false."""
    return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ == "NAType"


def _as_text(cell: Any) -> str:
    text = str(cell)
    return FLAGS.get(text.casefold(), text)


def _as_number(cell: Any) -> float | None:
    if not isinstance(cell, float) and abs(int(cell)) > LARGEST_INTEGER:
        return None
    number = float(cell)
    return number if abs(number) <= LARGEST_CELL else None


def _is_plain_type(dtype: Any, *, text: bool) -> bool:
    """Whether objects of a pandas column of this type say all; categories that are not text are not plain."""
    name = type(dtype).__name__
    if name == "SparseDtype" or (name == "CategoricalDtype" and not text):
        return False
    return dtype.kind in "Oiub" or (dtype.kind == "f" and dtype.itemsize in (4, 8))
