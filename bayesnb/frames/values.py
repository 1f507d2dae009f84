"""Values of cells, and how messages show them. It imports no data frames, so that a served model starts quickly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.arrays.user_warnings import warn

LARGEST_INTEGER = 2**53
"""float64 represents every whole number up to this one."""

FLAGS = {"false": "False", "true": "True"}
"""How booleans are written as text, by their lower case."""


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
