"""Leave-one-out of sparse rows of words: a row changes its own class only, and there its own words only."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.class_table import cells_at
from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import row_sums
from bayesnb.families.parts.subtraction import without
from bayesnb.primitives.products import by_rows, of_pairs


def left_out_words(concentration: Any, counts: Any, x: Any, y: Array, weight: Array) -> Array:
    """log p(x_n | class y_n, all rows but this one), [N], of the Dirichlet-multinomial, but for its coefficient.

    The tables [K, D], arrays or a ``ClassTable``, are those of the prior and of all rows; x is a scipy matrix.
    """
    row = np.repeat(np.arange(len(y)), np.diff(x.indptr))
    count, length = x.data.astype(np.float64), row_sums(x)
    before, all_ = (cells_at(table, y[row], x.indices) for table in (concentration, counts))
    words = _risen(before + without(all_, weight[row] * count), count)
    before, all_ = (np.asarray(table.sum(axis=1, keepdims=True))[y, 0] for table in (concentration, counts))
    return np.bincount(row, words, len(y)) - _risen(before + without(all_, weight * length), length)


def _risen(a: Array, count: Array) -> Array:
    """log Gamma(a + x) / Gamma(a)."""
    risen: Array = by_rows(of_pairs, (), (a[:, None], count[:, None]))
    return risen[:, 0]
