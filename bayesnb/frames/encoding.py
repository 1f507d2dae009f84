"""The columns of one block of a data frame as one array."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL, all_within
from bayesnb.frames.column_kinds import Column
from bayesnb.frames.series import Array, Frame

FEW_COLUMNS = 8
"""The most columns of a frame that are read one by one; more are selected from it first."""


def encode_columns(columns: Sequence[Column], frame: Frame) -> Array:
    """The columns of one block as an array [N, D], each as ``Column.encode`` gives it; words as a sparse matrix."""
    together = _read_floats(columns, frame)
    if together is not None:
        return together
    encoded = [column.encode(frame.get_column(column.name)) for column in columns]
    return encoded[0] if columns[0].is_block else np.stack(encoded, axis=1)


def _read_floats(columns: Sequence[Column], frame: Frame) -> Array | None:
    """Columns of numbers read at once, which is faster; None if some are not float64, or a cell may be refused."""
    if any(column.kind not in ("normal", "histogram", "own") or column.text is not False for column in columns):
        return None
    names = [column.name for column in columns]
    if len(names) <= FEW_COLUMNS:
        read = [frame.get_column(name) for name in names]
        floats = all(column.dtype == nw.Float64 for column in read)
        cells = np.stack([column.to_numpy() for column in read], axis=1) if floats else None
    else:
        types = frame.schema
        cells = frame.select(names).to_numpy() if all(types[name] == nw.Float64 for name in names) else None
    valid = cells is not None and cells.dtype == np.float64 and all_within(cells, LARGEST_CELL)
    return np.ascontiguousarray(cells) if valid else None
