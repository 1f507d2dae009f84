"""Sufficient statistics: sums, and means with squared deviations, which merge about the common mean.

Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.arrays.placement import Array, namespace
from bayesnb.arrays.pytree import Node, pytree
from bayesnb.families.parts.support import Axes, require_axes, require_finite_numbers


class Statistics(Node):
    """Sufficient statistics of one block, arrays [K, ...]: sums, unless a class overrides ``merge`` and ``pool``."""

    axes: ClassVar[Axes] = ()
    """The shape of each array; a subclass that does not declare it is not checked."""

    signed: ClassVar[tuple[str, ...]] = ("mean", "log_base", "scatter")
    """The arrays that may be negative."""

    def check(self, block: str, num_classes: int) -> None:
        """Raise ValueError unless rows in ``num_classes`` classes can have these statistics."""
        if not self.axes:
            return
        owner, values = f"statistics of block {block!r}", {name: getattr(self, name) for name, _ in self.axes}
        require_axes(owner, values, self.axes, self.axis_sizes(num_classes))
        require_finite_numbers(owner, **values)
        if (np.abs(values.get("mean", 0.0)) > LARGEST_CELL).any():
            raise ValueError(f"{owner}: mean holds a number that is too large to be squared")
        for name in values.keys() - {*self.signed}:
            if not (np.asarray(values[name]) >= 0).all():
                raise ValueError(f"{owner}: {name} must not be negative")

    @property
    def num_columns(self) -> int:
        """The number of columns D."""
        return np.shape(getattr(self, self.axes[0][0]))[-1]

    def axis_sizes(self, num_classes: int) -> Mapping[str, int]:
        """The sizes that the letters of ``axes`` stand for."""
        return {"K": num_classes, "D": self.num_columns, "1": 1}

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together."""
        return jax.tree.map(lambda a, b: a + b, self, other)

    def pool(self) -> Self:
        """The statistics of all classes together, [1, ...]."""
        return jax.tree.map(lambda a: a.sum(axis=0, keepdims=True), self)

    def minus(self, part: Self) -> Self:
        """The statistics without those of some of the rows."""
        return jax.tree.map(without, self, part)

    def join_columns(self, groups: Sequence[int]) -> Self:
        """The statistics with each group of columns joined into one, [K, G]; for arrays [K, D]."""
        pooled = jax.tree.map(lambda a: _by_group(a, groups), self).pool()
        return jax.tree.map(lambda a: a[0], pooled)


def _by_group(table: Array, groups: Sequence[int]) -> Array:
    """The columns of a table [K, D, ...] by group, [M, K, G, ...], with zeros where a group has fewer than M."""
    if table.shape[1] < len(groups):  # [K, 1]: a base measure that was not summed
        return table[None]
    members = [np.flatnonzero(np.asarray(groups) == g) for g in range(max(groups) + 1)]
    places = np.full((max(map(len, members)), len(members)), len(groups))
    for g, columns in enumerate(members):
        places[: len(columns), g] = columns
    xp = namespace(table)
    padded = xp.concatenate([table, xp.zeros_like(table[:, :1])], axis=1)
    return xp.moveaxis(padded[:, places], 1, 0)


@pytree
class CategoricalStatistics(Statistics):
    """``counts`` [K, S]: how often each category was seen; columns are laid end to end, S = sum of their C.

    Blocks of rows may contain different categories: each column of a merged table has the larger of the two sizes.
    """

    counts: Array
    sizes: tuple[int, ...] = field(metadata={"static": True})

    axes = (("counts", "KS"),)

    @property
    def num_columns(self) -> int:
        return len(self.sizes)

    def axis_sizes(self, num_classes: int) -> Mapping[str, int]:
        if not isinstance(self.sizes, tuple) or not all(type(size) is int and size > 0 for size in self.sizes):
            raise ValueError(f"the sizes of categorical columns must be positive ints, got {self.sizes!r}")
        return {"K": num_classes, "S": sum(self.sizes)}

    def merge(self, other: Self) -> Self:
        if self.sizes == other.sizes:
            return super().merge(other)
        sizes = tuple(map(max, self.sizes, other.sizes))
        return self.resize(sizes).merge(other.resize(sizes))

    def join_columns(self, groups: Sequence[int]) -> Self:
        table = _by_group(self.counts.reshape(len(self.counts), len(self.sizes), -1), groups).sum(axis=0)
        return type(self)(table.reshape(len(table), -1), self.sizes[: table.shape[1]])

    def columns(self) -> list[Array]:
        """The counts of each column, [K, C]."""
        return np.split(self.counts, np.cumsum(self.sizes)[:-1], axis=1)

    def resize(self, sizes: Sequence[int]) -> Self:
        """The same counts with ``sizes`` categories per column; categories that are dropped must not have counts."""
        if tuple(sizes) == self.sizes:
            return self
        resized = self._zeros(sizes)
        for old, new in zip(self.columns(), resized.columns(), strict=True):
            kept = min(old.shape[1], new.shape[1])
            new[:, :kept] = old[:, :kept]
        return resized

    def without_room(self, least: Sequence[int]) -> Self:
        """The same counts without unused last categories, but with at least ``least`` categories per column."""
        return self.resize(tuple(map(max, self.used_sizes(), least)))

    def spread(self, codes: Sequence[Array], sizes: Sequence[int]) -> Self:
        """The same counts recoded, with other ``sizes``: category c of column d becomes ``codes[d][c]``."""
        spread = self._zeros(sizes)
        for old, new, places in zip(self.columns(), spread.columns(), codes, strict=True):
            new[:, places] = old
        return spread

    def used_sizes(self) -> tuple[int, ...]:
        """The number of categories of each column up to the last with a count, at least 1."""
        ends = np.cumsum(self.sizes)
        counted = np.flatnonzero(self.counts.any(axis=0))
        last = np.append(counted, -1)[np.searchsorted(counted, ends) - 1]
        return tuple(np.maximum(last + 1 - ends + self.sizes, 1).tolist())

    def _zeros(self, sizes: Sequence[int]) -> Self:
        return type(self)(np.zeros((self.counts.shape[0], sum(sizes))), tuple(sizes))


@pytree
class NormalStatistics(Statistics):
    """``count``, ``mean`` and ``squares`` (the sum of squared deviations from the mean), each [K, D]."""

    count: Array
    mean: Array
    squares: Array

    axes = (("count", "KD"), ("mean", "KD"), ("squares", "KD"))

    def merge(self, other: Self) -> Self:
        mean, change, count, share = _common_mean(self.mean, self.count, other.mean, other.count)
        return type(self)(count, mean, self.squares + other.squares + change * change * self.count * share)

    def pool(self) -> Self:
        mean, deviations = _pooled_mean(self.mean, self.count)
        squares = self.squares + deviations * deviations * self.count
        return type(self)(self.count.sum(axis=0, keepdims=True), mean, squares.sum(axis=0, keepdims=True))

    def without(self, x: Array, y: Array, weight: Array) -> Self:
        """The statistics of each row's class without the row's own cells, [N, D]."""
        missing, of_class = jnp.isnan(x), jax.tree.map(lambda table: table[y], self)
        cells = type(self)(jnp.where(missing, 0.0, weight[:, None]), x, jnp.zeros(()))
        return of_class.minus(cells)

    def minus(self, part: Self) -> Self:
        left, change = without(self.count, part.count), jnp.where(part.count > 0, part.mean - self.mean, 0.0)
        share = jnp.where(left > 0, part.count / jnp.where(left > 0, left, 1.0), 0.0)
        between = self.count * share * jnp.square(change)
        lost = jnp.where(left > 0, part.squares + between, self.squares)
        return type(self)(left, self.mean - share * change, without(self.squares, lost))

    @property
    def variance(self) -> Array:
        """Sum of squared deviations over n, 0 for fewer than two values."""
        return _over(self.squares, self.count)


@pytree
class MultivariateNormalStatistics(Statistics):
    """``mean`` [K, D], ``count`` [K] of rows, and ``scatter`` [K, D, D], the sum of d d' for deviations d of rows."""

    mean: Array
    count: Array
    scatter: Array

    axes = (("mean", "KD"), ("count", "K"), ("scatter", "KDD"))

    def check(self, block: str, num_classes: int) -> None:
        """Check the scatter as well: it must be positive semi-definite, up to rounding."""
        super().check(block, num_classes)
        scatter = np.asarray(self.scatter, np.float64)
        rounding = 1e-4 * np.abs(scatter).max(initial=0.0)
        try:
            np.linalg.cholesky(scatter + (rounding + 1e-300) * np.eye(self.num_columns))
            symmetric = (np.abs(scatter - scatter.swapaxes(1, 2)) <= rounding).all()
        except np.linalg.LinAlgError:
            symmetric = False
        if not symmetric:
            raise ValueError(f"statistics of block {block!r}: scatter must be symmetric and positive semi-definite")

    def merge(self, other: Self) -> Self:
        pair = self.mean, self.count[:, None], other.mean, other.count[:, None]
        mean, change, count, share = _common_mean(*pair)
        between = (self.count[:, None] * share)[:, :, None] * change[:, :, None] * change[:, None, :]
        return type(self)(mean, count[:, 0], self.scatter + other.scatter + between)

    def pool(self) -> Self:
        mean, deviations = _pooled_mean(self.mean, self.count[:, None])
        between = deviations[:, :, None] * deviations[:, None, :] * self.count[:, None, None]
        scatter = (self.scatter + between).sum(axis=0, keepdims=True)
        return type(self)(mean, self.count.sum(keepdims=True), scatter)

    @property
    def covariance(self) -> Array:
        """Scatter over n, [K, D, D]; 0 for a class without rows."""
        return _over(self.scatter, self.count[:, None, None])


def class_bytes(family: Any, num_columns: int) -> int:
    """The size in bytes of the statistics of one class."""
    sizes = family.axis_sizes(1, num_columns)
    return 8 * sum(prod(sizes.get(letter, 1) for letter in letters) for _, letters in family.statistics_type.axes)


def _common_mean(mean: Array, count: Array, other_mean: Array, other_count: Array) -> tuple[Array, ...]:
    """The common mean, the difference of the means, the common count, and the other part's share of it."""
    common = count + other_count
    share = other_count.astype(mean.dtype) / namespace(common).where(common > 0, common, 1)
    change = other_mean - mean
    # an empty side has no mean: taking the other's keeps a constant column exact
    return namespace(common).where(count > 0, mean + change * share, other_mean), change, common, share


def _pooled_mean(mean: Array, count: Array) -> tuple[Array, Array]:
    """The mean of all classes [1, D], and the deviation of each class from it [K, D], 0 for a class without rows."""
    xp, seen = namespace(mean), count > 0
    total = count.sum(axis=0, keepdims=True)
    share = count.astype(mean.dtype) / xp.where(total > 0, total, 1)
    # relative to the mean of the largest class nothing cancels, and a constant column is exact
    origin = xp.take_along_axis(mean, count.argmax(axis=0, keepdims=True), axis=0)
    pooled = origin + (share * xp.where(seen, mean - origin, 0.0)).sum(axis=0, keepdims=True)
    return pooled, xp.where(seen, mean - pooled, 0.0)


def others_of(table: Array) -> Array:
    """The sum over all other classes, [K, ...], without a subtraction."""
    xp, nothing = namespace(table), 0 * table[:1]
    before = xp.concatenate([nothing, xp.cumsum(table[:-1], axis=0)])
    after = xp.concatenate([xp.cumsum(table[:0:-1], axis=0)[::-1], nothing])
    return before + after


ROUNDINGS = 4.0
"""What is left of a sum counts as 0 if it is at most this many rounding errors of the sum."""


def without(total: Array, part: Array, scale: Array | None = None) -> Array:
    """total - part, never negative, and 0 if only rounding error is left; ``scale`` is the number that was rounded."""
    xp, left = namespace(total), total - part
    eps, scale = xp.finfo(left.dtype).eps, total if scale is None else scale
    # whole numbers that the type represents exactly are not rounded
    exact = (total == xp.floor(total)) & (part == xp.floor(part)) & (scale < 1 / eps)
    noise = xp.where(exact, 0.0, ROUNDINGS * eps * scale)
    return xp.where(left > noise, left, 0.0)


def _over(squares: Array, count: Array) -> Array:
    return squares / namespace(count).where(count > 0, count, 1)
