"""Few rows of plain cells, encoded without a data frame's machinery: what serves one row at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import LARGEST_CELL
from bayesnb.tables.frames._columns import CODED, Column
from bayesnb.tables.frames._values import FLAGS, READING, DataError, Reading

TEXTS, BOOLEANS = {str}, {bool, np.bool_}
NUMBERS = {int, float, np.int64, np.float64}
"""The types of plain cells; those of a column are all of one of these."""


class PlainRows:
    """Encodes few rows of plain cells, given the columns of a fit in the order of its frame, and those of each block.

    ``single`` says that the only block is given as an array instead of a dict by block.
    """

    def __init__(
        self, names: list[str], blocks: Mapping[str, Sequence[Column]], single: bool, reading: Reading = READING
    ) -> None:
        self.names, self.blocks, self.single, self._reading = names, blocks, single, reading
        columns = [column for some in blocks.values() for column in some]
        self._names, self._used = {*names}, {column.name for column in columns}
        self._texts = {column.name for column in columns if column.text}

    def encode(self, X: Any) -> Any:
        """X as ``Schema.encode`` gives it if X is few rows of plain cells, else None."""
        cells, of_single = self._cells(X)
        if cells is None:
            return None
        arrays = {}
        for block, columns in self.blocks.items():
            encoded = [_encode_plain(column, cells[column.name], self._reading) for column in columns]
            if any(column is None for column in encoded):
                return None
            kind = columns[0].kind
            x = np.array([*zip(*encoded, strict=True)], np.int32 if kind == "categorical" else np.float64)
            if kind not in CODED:
                try:
                    columns[0].check(x)
                except DataError:
                    return None
                if {column.name for column in columns} <= of_single and not np.isnan(x).any():
                    x = x.astype(np.float32)
            arrays[block] = x
        return arrays["x"] if self.single else arrays

    def _cells(self, X: Any) -> tuple[dict[str, list[Any]] | None, set[str]]:
        """The cells of each column, and the columns of single precision; None if X is not few rows of the columns."""
        rows = [X] if isinstance(X, Mapping) else X
        if isinstance(rows, list) and 0 < len(rows) <= limits.ROWS_ONE_BY_ONE:
            plain = all(isinstance(row, Mapping) and self._used <= row.keys() <= self._names for row in rows)
            return ({name: [row[name] for row in rows] for name in self._used} if plain else None), set()
        kind = type(X)
        is_pandas = kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == "pandas"
        if not is_pandas or not 0 < len(X) <= limits.ROWS_ONE_BY_ONE or X.columns.tolist() != self.names:
            return None, set()
        types = dict(zip(self.names, X.dtypes, strict=True))
        if not all(_is_plain_type(types[name], text=name in self._texts) for name in self._used):
            return None, set()
        columns = X.to_numpy(dtype=object).T.tolist()
        single = {name for name, dtype in types.items() if dtype.kind == "f" and dtype.itemsize == 4}
        return dict(zip(self.names, columns, strict=True)), single


def _encode_plain(column: Column, cells: list[Any], reading: Reading) -> list[float] | None:
    """The cells as ``Column.encode`` gives them, but numbers are not checked; None if one is not plain."""
    if column.text is None:
        return [column.missing_code] * len(cells)
    missing = [*map(reading.is_missing, cells)]
    types = {type(cell) for cell, absent in zip(cells, missing, strict=True) if not absent}
    if column.kind == "missing":
        return [float(absent) for absent in missing] if types <= TEXTS | NUMBERS | BOOLEANS else None
    if column.kind == "words" or not (types <= (TEXTS if column.text else NUMBERS) or types <= BOOLEANS):
        return None
    value_of: Callable[[Any], Any] = _as_text if column.text else _as_number
    values = [math.nan if absent else value_of(cell) for cell, absent in zip(cells, missing, strict=True)]
    if None in values or column.kind not in CODED:
        return None if None in values else values
    codes = [column.code_of.get(value, -1) for value in values]
    others = [value for value, code in zip(values, codes, strict=True) if code < 0]
    if others:
        column.warn_of_others(np.array(others, object if column.text else float), none_known=max(codes) < 0)
    return [column.missing_code if code < 0 else code for code in codes]


def _as_text(cell: Any) -> str:
    text = str(cell)
    return FLAGS.get(text.casefold(), text)


def _as_number(cell: Any) -> float | None:
    if not isinstance(cell, float) and abs(int(cell)) > limits.LARGEST_WHOLE:
        return None
    number = float(cell)
    return number if abs(number) <= LARGEST_CELL else None


def _is_plain_type(dtype: Any, *, text: bool) -> bool:
    """Whether objects of a pandas column of this type say all; categories that are not text are not plain."""
    name = type(dtype).__name__
    if name == "SparseDtype" or (name == "CategoricalDtype" and not text):
        return False
    return dtype.kind in "Oiub" or (dtype.kind == "f" and dtype.itemsize in (4, 8))
