"""Logarithms of smoothed frequencies, of numpy counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array


def log_frequencies(counts: Array, alpha: Any, sizes: Any) -> Array:
    """log((count + alpha) / sum(count + alpha)), [K, S], for simplexes of these sizes laid end to end.

    If alpha is 0, a class without counts gets the counts of all classes, or ones if these are zero as well.
    """
    if not np.isfinite(alpha).all():
        raise ValueError(f"alpha must be finite, got {alpha!r}")
    starts = np.cumsum(sizes) - sizes
    raised = counts + alpha
    totals = np.add.reduceat(raised, starts, axis=1)
    if not totals.all():
        pooled = raised.sum(axis=0)
        pooled = np.where(np.repeat(np.add.reduceat(pooled, starts), sizes) > 0, pooled, 1.0)
        raised = np.where(np.repeat(totals > 0, sizes, axis=1), raised, pooled)
        totals = np.add.reduceat(raised, starts, axis=1)
    with np.errstate(divide="ignore"):
        # in place: memory that the system has yet to give takes longer than the logarithms
        logs, log_totals = np.log(raised, out=raised), np.log(totals)
    # one simplex broadcasts, which takes a tenth of the time
    logs -= log_totals if len(sizes) == 1 else log_totals[:, np.repeat(np.arange(len(sizes)), sizes)]
    return logs
