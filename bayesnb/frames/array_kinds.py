"""Infer the likelihood of each column of an array: Bernoulli for zeros and ones, else Normal."""

from __future__ import annotations

import numpy as np

from bayesnb.arrays.user_warnings import warn
from bayesnb.frames.inference import FEW
from bayesnb.frames.series import Array, listing

Undecided = tuple[int, Array] | None
"""The number of rows so far, and which columns [D] are Normal and may turn out to be zeros and ones; None if none."""


def infer_kinds(X: Array, before: tuple[str, ...], seen: Undecided) -> tuple[tuple[str, ...], Undecided]:
    """Bernoulli for each column of zeros and ones, both of which occur, else Normal; or the kinds of earlier rows.

    Where all cells are zeros and ones, all columns are Bernoulli. Fewer than 10 rows, such as a small first batch, are
    too few to tell: they are Normal, with a warning later. ``seen`` is what was returned for the earlier rows.
    """
    if before and seen is None:
        return before, None
    rows, among = seen or (0, np.ones(X.shape[1], bool))
    rows += len(X)
    flags, both = _find_flags(X, among)
    clear = both & (rows >= FEW)
    if before and clear.any():
        names = [f"x{d}" for d in np.flatnonzero(clear)]
        warn(
            f"{'X stays' if clear.all() else listing(names) + ' of X stay'} normal, as the first rows suggested, and "
            "all rows together suggest bernoulli: choose likelihoods from the first rows on, 'bernoulli', 'normal', or "
            "a dict of them by position"
        )
        return before, None
    if clear.all():
        warn(
            "all cells of X are zeros and ones, so its columns are Bernoulli: write likelihoods='bernoulli' to say so, "
            "or likelihoods='normal' for numbers that happen to be zeros and ones"
        )
    left = flags & ~clear
    kinds = before or tuple("bernoulli" if flag else "normal" for flag in clear.tolist())
    return kinds, (rows, left) if left.any() else None


def _find_flags(X: Array, among: Array) -> tuple[Array, Array]:
    """Which columns ``among`` [D] hold zeros, ones and NaN only, and which of these hold both, or all of them do."""
    places = np.flatnonzero(among & (X.dtype.kind != "m"))  # numpy compares durations with numbers no more
    for rows in (X[:100], X):  # the first rows settle it for most columns
        cells = rows if len(places) == X.shape[1] else rows[:, places]
        zero, one = cells == 0, cells == 1
        kept = (zero | one | np.isnan(cells)).all(axis=0)
        places, zeros, ones = places[kept], zero.any(axis=0)[kept], one.any(axis=0)[kept]
    flags, both = np.zeros((2, X.shape[1]), bool)
    flags[places], both[places] = True, zeros & ones
    return flags, both if not flags.all() else flags & zeros.any() & ones.any()
