"""Sufficient statistics: sums, and means with squared deviations, which merge about the common mean.

Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import reduce
from typing import Self

import jax
import numpy as np

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


@pytree
class CategoricalStatistics(Statistics):
    """``counts`` [K, S]: how often each category was seen; columns are laid end to end, S = sum of their C.

    Rows that were counted apart may have shown other categories: tables of different sizes merge into the larger one.
    """

    counts: Array
    sizes: tuple[int, ...] = field(metadata={"static": True})

    def merge(self, other: Self) -> Self:
        """The counts of both sets of rows together."""
        if self.sizes == other.sizes:
            return super().merge(other)
        sizes = tuple(map(max, self.sizes, other.sizes))
        return self.resized(sizes).merge(other.resized(sizes))

    def columns(self) -> list[Array]:
        """The counts of each column, [K, C]."""
        return np.split(self.counts, np.cumsum(self.sizes)[:-1], axis=1)

    def resized(self, sizes: Sequence[int]) -> Self:
        """The same counts with so many categories a column: more of them, or fewer, which must hold all that count."""
        if tuple(sizes) == self.sizes:
            return self
        resized = self._zeros(sizes)
        for old, new in zip(self.columns(), resized.columns(), strict=True):
            kept = min(old.shape[1], new.shape[1])
            new[:, :kept] = old[:, :kept]
        return resized

    def spread(self, codes: Sequence[Array], sizes: Sequence[int]) -> Self:
        """The same counts under other codes: a column's categories [C] are those of ``codes`` among ``sizes``."""
        spread = self._zeros(sizes)
        for old, new, places in zip(self.columns(), spread.columns(), codes, strict=True):
            new[:, places] = old
        return spread

    def shown(self) -> tuple[int, ...]:
        """How many categories of each column there are up to the last that counts, and 1 at least."""
        ends = np.cumsum(self.sizes)
        counted = np.flatnonzero(self.counts.any(axis=0))
        last = np.append(counted, -1)[np.searchsorted(counted, ends) - 1]
        return tuple(np.maximum(last + 1 - ends + self.sizes, 1).tolist())

    def _zeros(self, sizes: Sequence[int]) -> Self:
        return type(self)(np.zeros((self.counts.shape[0], sum(sizes))), tuple(sizes))


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
