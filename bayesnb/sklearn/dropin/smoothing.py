"""Additive smoothing: the posterior mean under Dirichlet(alpha), or the maximum likelihood if alpha is 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array


def smoothed(counts: Array, alpha: Any) -> Array:
    """counts + alpha, [K, ..., C], with positive sums along the last axis.

    If alpha is 0, a class without counts gets the counts of all classes, or ones if these are zero as well.
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
