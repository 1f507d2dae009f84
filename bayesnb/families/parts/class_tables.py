"""Tables with a row for each class: other classes, and their size in memory."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array, namespace


def class_rows(table: Array, places: Array) -> Array:
    """The rows of a table [K, ...] at these places [L], zeros where a place is K."""
    xp, own = namespace(table), places < table.shape[0]
    rows = table[np.where(own, places, 0)]
    return rows if own.all() else xp.where(own.reshape(-1, *[1] * (table.ndim - 1)), rows, 0)


def class_bytes(family: Any, num_columns: int) -> int:
    """The size in bytes of the statistics of one class."""
    sizes = family.axis_sizes(1, num_columns)
    return 8 * sum(prod(sizes.get(letter, 1) for letter in letters) for _, letters in family.statistics_type.axes)
