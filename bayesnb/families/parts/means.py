"""Means of rows in several parts.

Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979).
"""

from __future__ import annotations

from bayesnb.arrays.placement import Array, namespace


def common_mean(mean: Array, count: Array, other_mean: Array, other_count: Array) -> tuple[Array, ...]:
    """The common mean, the difference of the means, the common count, and the other part's share of it."""
    common = count + other_count
    share = other_count.astype(mean.dtype) / namespace(common).where(common > 0, common, 1)
    change = other_mean - mean
    # an empty side has no mean: taking the other's keeps a constant column exact
    return namespace(common).where(count > 0, mean + change * share, other_mean), change, common, share


def pooled_mean(mean: Array, count: Array) -> tuple[Array, Array]:
    """The mean of all classes [1, D], and the deviation of each class from it [K, D], 0 for a class without rows."""
    xp, seen = namespace(mean), count > 0
    total = count.sum(axis=0, keepdims=True)
    share = count.astype(mean.dtype) / xp.where(total > 0, total, 1)
    # relative to the mean of the largest class nothing cancels, and a constant column is exact
    origin = xp.take_along_axis(mean, count.argmax(axis=0, keepdims=True), axis=0)
    pooled = origin + (share * xp.where(seen, mean - origin, 0.0)).sum(axis=0, keepdims=True)
    return pooled, xp.where(seen, mean - pooled, 0.0)


def over(squares: Array, count: Array) -> Array:
    """The mean square; 0 where nothing is counted."""
    return squares / namespace(count).where(count > 0, count, 1)
