"""Codes from one-hot columns, the output of sparse encoders."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array


def codes_of_one_hot(one_hot: Any, num_categories: int | tuple[int, ...], block: str) -> Array:
    """Codes [N, D] of one-hot columns laid end to end in a CSR matrix [N, S]; -1 where there is no 1.

    Raises:
        ValueError: for a wrong width, for cells other than 0 and 1, and for two ones in a row's cells of one column.
    """
    num_rows, width = one_hot.shape
    sizes = num_categories if isinstance(num_categories, tuple) else (num_categories,) * (width // num_categories)
    starts = np.cumsum((0, *sizes))
    column = np.searchsorted(starts, one_hot.indices, side="right") - 1
    row = np.repeat(np.arange(num_rows), np.diff(one_hot.indptr))
    ones = one_hot.data != 0
    codes = np.full(num_rows * len(sizes), -1, np.int32)
    if starts[-1] == width:
        codes[row[ones] * len(sizes) + column[ones]] = one_hot.indices[ones] - starts[column[ones]]
    # two ones in one column set only one code
    if starts[-1] != width or (one_hot.data[ones] != 1).any() or np.count_nonzero(codes >= 0) < ones.sum():
        raise ValueError(
            f"block {block!r}: a sparse matrix of Categorical columns holds them one-hot and end to end, "
            f"{starts[-1]} wide for these categories, with one 1 a column at most; got {width} columns; give codes, or "
            "take Bernoulli for flags that do not exclude each other"
        )
    return codes.reshape(num_rows, len(sizes))
