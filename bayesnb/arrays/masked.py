"""numpy's masked arrays: a masked cell of X is missing, and a masked cell of anything else is refused."""

from __future__ import annotations

from typing import Any

import numpy as np


def fill_masked(x: Any) -> Any:
    """X with masked cells replaced by NaN, in its own dtype if that has NaN; X itself if it is not a masked array."""
    masked = _masked_array(x)
    if masked is None:
        return x
    if not np.ma.is_masked(masked):
        return masked.data
    kind = masked.dtype if masked.dtype.kind == "f" else np.float64 if masked.dtype.kind in "iub" else object
    return masked.astype(kind).filled(np.nan)


def fill_masked_codes(x: Any) -> Any:
    """As ``fill_masked``, but integers and booleans stay integers, with -1 for masked cells."""
    masked = _masked_array(x)
    if masked is None or not np.ma.is_masked(masked) or masked.dtype.kind not in "iub":
        return fill_masked(x)
    return masked.astype(np.int64).filled(-1)


def without_mask(name: str, given: Any) -> Any:
    """``given`` if none of its cells is masked, else a ValueError that names the first row with a masked cell."""
    masked = _masked_array(given)
    if masked is None:
        return given
    if np.ma.is_masked(masked):
        row = int(np.atleast_1d(np.ma.getmaskarray(masked)).nonzero()[0][0])
        raise ValueError(f"{name} is a masked array with a masked cell in row {row}: leave such rows out")
    return masked.data


def as_numpy(x: Any) -> Any:
    """A numpy array, with its mask if it has one."""
    return x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)


def _masked_array(x: Any) -> Any:
    """A masked array itself, or that of a list with masked arrays among its rows; None for anything else."""
    if isinstance(x, list) and any(isinstance(row, np.ma.MaskedArray) for row in x):
        return np.ma.asarray(x)
    return x if isinstance(x, np.ma.MaskedArray) else None
