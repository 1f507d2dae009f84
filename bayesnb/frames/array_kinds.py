"""Infer the likelihood of each column of an array: Bernoulli for zeros and ones, else Normal."""

from __future__ import annotations

import numpy as np

from bayesnb.arrays.user_warnings import warn
from bayesnb.frames.inference import FEW
from bayesnb.frames.series import Array, listing

Undecided = tuple[int, Array] | None
"""The number of rows so far, and which columns [D] are Normal and may turn out to be zeros and ones; None if none."""


def infer_kinds(X: Array, before: tuple[str, ...], seen: Undecided) -> tuple[tuple[str, ...], Undecided]:
    """Bernoulli for each column whose cells are zeros and ones, both of which occur, else Normal.

    Where all cells are zeros and ones, all columns are Bernoulli. Fewer than 10 rows, such as a small first batch, are
    too few to tell: they are Normal, with a warning later.

    Args:
        X: Rows [N, D].
        before: The kinds of earlier rows, which are kept; empty for the first rows.
        seen: What was returned for the earlier rows.
    """
    if before and seen is None:
        return before, None
    rows, open_ = seen or (0, np.ones(X.shape[1], bool))
    rows += len(X)
    flags, zeros, ones = _find_flags(X, open_)
    whole = rows >= FEW and flags.all() and zeros.any() and ones.any()
    clear = flags & (whole | (zeros & ones & (rows >= FEW)))
    if before and clear.any():
        names = [f"x{d}" for d in np.flatnonzero(clear)]
        which = "X stays" if whole else f"{listing(names)} of X stay"
        warn(
            f"{which} normal, as the first rows suggested, and all rows together suggest bernoulli: choose likelihoods "
            "from the first rows on, 'bernoulli', 'normal', or a dict of them by position"
        )
        return before, None
    if whole:
        warn(
            "all cells of X are zeros and ones, so its columns are Bernoulli: write likelihoods='bernoulli' to say so, "
            "or likelihoods='normal' for numbers that happen to be zeros and ones"
        )
    kinds = before or tuple("bernoulli" if flag else "normal" for flag in clear.tolist())
    left = flags & ~clear
    return kinds, (rows, left) if left.any() else None


def _find_flags(X: Array, among: Array) -> tuple[Array, Array, Array]:
    """Which columns ``among`` [D] hold zeros, ones and NaN only, and which of these hold a zero, and a one."""
    flags, zeros, ones = (np.zeros(len(among), bool) for _ in range(3))
    places = np.flatnonzero(among & (X.dtype.kind != "m"))  # numpy compares durations with numbers no more
    for rows in (X[:100], X):  # the first rows settle it for most columns
        cells = rows if len(places) == X.shape[1] else rows[:, places]
        zero, one = cells == 0, cells == 1
        kept = (zero | one | np.isnan(cells)).all(axis=0)
        places, zero, one = places[kept], zero[:, kept], one[:, kept]
    flags[places], zeros[places], ones[places] = True, zero.any(axis=0), one.any(axis=0)
    return flags, zeros, ones
