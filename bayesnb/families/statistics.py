"""Sufficient statistics: sums, and means with squared deviations, which merge about the common mean.

Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979).
"""

from __future__ import annotations

from functools import reduce
from typing import Self

import jax

from bayesnb.arrays import Array, namespace
from bayesnb.nodes import Node, pytree


class Statistics(Node):
    """Sufficient statistics of one block, every array [K, ...]. Sums, unless a class says otherwise."""

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together."""
        return jax.tree.map(lambda a, b: a + b, self, other)

    def pool(self) -> Self:
        """The statistics of all classes together, [1, ...]."""
        return jax.tree.map(lambda a: a.sum(axis=0, keepdims=True), self)


class Moments(Statistics):
    """Statistics whose ``pool`` merges the classes one by one."""

    def pool(self) -> Self:
        """The statistics of all classes together, [1, ...]."""
        num_classes = jax.tree.leaves(self)[0].shape[0]
        classes = (jax.tree.map(lambda a, k=k: a[k : k + 1], self) for k in range(num_classes))
        return reduce(lambda a, b: a.merge(b), classes)


@pytree
class NormalStatistics(Moments):
    """``count``, ``mean`` and ``squares`` (the sum of squared deviations from the mean), each [K, D]."""

    count: Array
    mean: Array
    squares: Array

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together."""
        mean, change, count, share = _common_mean(self.mean, self.count, other.mean, other.count)
        return type(self)(count, mean, self.squares + other.squares + change * change * self.count * share)

    @property
    def variance(self) -> Array:
        """Sum of squared deviations over n, 0 for fewer than two values."""
        return _over(self.squares, self.count)


@pytree
class MultivariateNormalStatistics(Moments):
    """``mean`` [K, D], ``count`` [K] of rows, and ``scatter`` [K, D, D], the sum of d d' for deviations d of rows."""

    mean: Array
    count: Array
    scatter: Array

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together."""
        pair = self.mean, self.count[:, None], other.mean, other.count[:, None]
        mean, change, count, share = _common_mean(*pair)
        between = (self.count[:, None] * share)[:, :, None] * change[:, :, None] * change[:, None, :]
        return type(self)(mean, count[:, 0], self.scatter + other.scatter + between)

    @property
    def covariance(self) -> Array:
        """Scatter over n, [K, D, D]; 0 for a class without rows."""
        return _over(self.scatter, self.count[:, None, None])


def _common_mean(mean: Array, count: Array, other_mean: Array, other_count: Array) -> tuple[Array, ...]:
    """The mean of both parts, the change from one to the other, the common count, and the other's share of it."""
    common = count + other_count
    share = other_count.astype(mean.dtype) / namespace(common).where(common > 0, common, 1)
    change = other_mean - mean
    # an empty side has no mean: taking the other's keeps a constant column exact
    return namespace(common).where(count > 0, mean + change * share, other_mean), change, common, share


def _over(squares: Array, count: Array) -> Array:
    return squares / namespace(count).where(count > 0, count, 1)
