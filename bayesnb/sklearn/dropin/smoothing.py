"""Additive smoothing: the posterior mean under Dirichlet(alpha), which is the maximum likelihood where alpha is 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array


def smoothed(counts: Array, alpha: Any) -> Array:
    """counts + alpha, [K, ..., C], each of whose last axis has a positive sum.

    Where a class shows nothing and alpha is 0, it is the counts of all classes, and ones where there are none at all.
    """
    raised = counts + alpha
    if np.all(raised.any(axis=-1)):
        return raised
    raised = np.where(_some(raised), raised, raised.sum(axis=0, keepdims=True))
    return np.where(_some(raised), raised, 1.0)


def log_shares(counts: Array) -> Array:
    """log(count / sum of counts) along the last axis, -inf for a count of zero."""
    return log(counts) - np.log(counts.sum(axis=-1, keepdims=True))


def log(values: Array) -> Array:
    """The logarithm, -inf for zero."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def _some(counts: Array) -> Array:
    return counts.any(axis=-1, keepdims=True)
