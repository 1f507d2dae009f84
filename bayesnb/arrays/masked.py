"""numpy's masked arrays: a masked cell of X is missing, and a masked cell of anything else is refused."""

from __future__ import annotations

from typing import Any

import numpy as np


def filled(x: Any) -> Any:
    """X with masked cells replaced by NaN, in its own dtype if that has NaN; X itself if it is not a masked array."""
    if not _is_masked(x):
        return x
    x = np.ma.asarray(x)
    if not np.ma.is_masked(x):
        return x.data
    kind = x.dtype if x.dtype.kind == "f" else np.float64 if x.dtype.kind in "iub" else object
    return x.astype(kind).filled(np.nan)


def fill_masked_codes(x: Any) -> Any:
    """As ``filled``, but integers and booleans stay integers, with -1 for masked cells."""
    if _is_masked(x) and np.ma.is_masked(whole := np.ma.asarray(x)) and whole.dtype.kind in "iub":
        return np.ma.filled(whole.astype(np.int64), -1)
    return filled(x)


def without_mask(name: str, given: Any) -> Any:
    """``given`` if none of its cells is masked, else a ValueError that names the first row with a masked cell."""
    if not _is_masked(given):
        return given
    given = np.ma.asarray(given)
    if np.ma.is_masked(given):
        place = int(np.ma.getmaskarray(given).reshape(len(given), -1).any(axis=1).argmax()) if given.ndim else 0
        raise ValueError(f"{name} is a masked array with a masked cell in row {place}: leave such rows out")
    return given.data


def as_numpy(x: Any) -> Any:
    """A numpy array, with its mask if it has one."""
    return x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)


def _is_masked(x: Any) -> bool:
    """True for a masked array, and for a list that has one among its rows."""
    return isinstance(x, np.ma.MaskedArray) or (
        isinstance(x, list) and any(isinstance(row, np.ma.MaskedArray) for row in x)
    )
