"""Sufficient statistics: sums, and means with squared deviations, which merge about the common mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.arrays.placement import Array, Node, fields_of, pytree
from bayesnb.families.left_out import (
    by_group,
    class_rows,
    common_mean,
    over,
    pooled_mean,
    require_scatter,
    require_squares,
    require_sums,
    without,
)
from bayesnb.families.parts.support import Axes, require_axes, require_finite_numbers


class Statistics(Node):
    """Sufficient statistics of one block, arrays [K, ...]: sums, unless a class overrides ``merge`` and ``pool``."""

    axes: ClassVar[Axes] = ()
    """The shape of each array; a subclass that does not declare it is not checked."""

    signed: ClassVar[tuple[str, ...]] = ("mean", "log_base", "scatter")
    """The arrays that may be negative."""

    fixed: ClassVar[tuple[str, ...]] = ("mean", "centre", "edges", "atoms")
    """The arrays that are no sums over rows."""

    def check(self, block: str, num_classes: int) -> None:
        """Raise ValueError unless rows in ``num_classes`` classes can have these statistics."""
        if not self.axes:
            return
        owner, values = f"statistics of block {block!r}", {name: getattr(self, name) for name, _ in self.axes}
        require_axes(owner, values, self.axes, self.axis_sizes(num_classes))
        require_finite_numbers(owner, **values)
        if (np.abs(np.asarray(values.get("mean", 0.0), float)) > LARGEST_CELL).any():
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

    def spread_classes(self, places: Array) -> Self:
        """The same rows with other classes: class k is that of number ``places[k]``, or one without rows if this is K.

        Its arrays are zeros; a class whose arrays are then others overrides it.
        """
        return jax.tree.map(lambda a: class_rows(a, places), self)

    def minus(self, part: Self) -> Self:
        """The statistics without those of some of the rows; a class that overrides ``merge`` overrides it as well."""
        if type(self).merge is not Statistics.merge:
            raise NotImplementedError(f"{type(self).__name__} defines merge, and so must define minus")
        return self.map(lambda name, a, b: a - b if name in self.signed else without(a, b), part)

    def require_part(self, part: Self, block: str) -> None:
        """Raise ValueError if ``part`` cannot be the statistics of some of these rows, but for rounding."""
        for name in self.sums:
            if name not in self.signed:
                require_sums(f"block {block!r}", name, getattr(self, name), getattr(part, name))

    def discount(self, factor: Array) -> Self:
        """The statistics of the same rows with their weights times ``factor``, or one for each class, [K]."""
        tall = lambda a: factor.reshape(-1, *[1] * (a.ndim - 1)) if np.ndim(factor) else factor  # noqa: E731
        return self.map(lambda name, a: a * tall(a) if name in self.sums else a)

    @property
    def observed_cells(self) -> Array | None:
        """The weight of the cells that are not missing, [K, D]; None if it is not kept."""
        return None

    @property
    def sums(self) -> tuple[str, ...]:
        """The names of the arrays that are sums over rows."""
        return tuple(f.name for f in fields_of(self) if not (f.metadata.get("static") or f.name in self.fixed))

    def map(self, change: Callable[..., Array], *others: Self) -> Self:
        """The same with other arrays, each ``change(name, array, *arrays of others)``."""
        node: Any = self
        names = [f.name for f in fields_of(self) if not f.metadata.get("static")]
        return replace(node, **{n: change(n, *(getattr(one, n) for one in (self, *others))) for n in names})

    def join_columns(self, groups: Sequence[int]) -> Self:
        """The statistics with each group of columns joined into one, [K, G]; for arrays [K, D]."""
        pooled = jax.tree.map(lambda a: by_group(a, groups), self).pool()
        return jax.tree.map(lambda a: a[0], pooled)


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

    def minus(self, part: Self) -> Self:
        return replace(self, counts=without(self.counts, part.resize(self.sizes).counts))

    def join_columns(self, groups: Sequence[int]) -> Self:
        table = by_group(self.counts.reshape(len(self.counts), len(self.sizes), -1), groups).sum(axis=0)
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
        mean, change, count, share = common_mean(self.mean, self.count, other.mean, other.count)
        return type(self)(count, mean, self.squares + other.squares + change * change * self.count * share)

    def pool(self) -> Self:
        mean, deviations = pooled_mean(self.mean, self.count)
        squares = self.squares + deviations * deviations * self.count
        return type(self)(self.count.sum(axis=0, keepdims=True), mean, squares.sum(axis=0, keepdims=True))

    def without(self, x: Array, y: Array, weight: Array) -> Self:
        """The statistics of each row's class without the row's own cells, [N, D]."""
        missing, of_class = jnp.isnan(x), jax.tree.map(lambda table: table[y], self)
        cells = type(self)(jnp.where(missing, 0.0, weight[:, None]), x, jnp.zeros(()))
        return of_class.minus(cells)

    def minus(self, part: Self) -> Self:
        left = without(self.count, part.count)
        change = either.where(part.count > 0, part.mean - self.mean, 0.0)
        share = either.where(left > 0, part.count / either.where(left > 0, left, 1.0), 0.0)
        between = self.count * share * either.square(change)
        lost = either.where(left > 0, part.squares + between, self.squares)
        return type(self)(left, self.mean - share * change, without(self.squares, lost))

    @property
    def observed_cells(self) -> Array:
        return self.count

    def require_part(self, part: Self, block: str) -> None:
        require_sums(f"block {block!r}", "count", self.count, part.count)
        require_squares(f"block {block!r}", *((s.count, s.mean, s.squares) for s in (self, part)))

    @property
    def variance(self) -> Array:
        """Sum of squared deviations over n, 0 for fewer than two values."""
        return over(self.squares, self.count)


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
        mean, change, count, share = common_mean(*pair)
        between = (self.count[:, None] * share)[:, :, None] * change[:, :, None] * change[:, None, :]
        return type(self)(mean, count[:, 0], self.scatter + other.scatter + between)

    def minus(self, part: Self) -> Self:
        alone = (NormalStatistics(s.count[:, None], s.mean, s.variances) for s in (self, part))
        left = NormalStatistics.minus(*alone)
        some = left.squares > 0
        change = either.where(part.count[:, None] > 0, part.mean - left.mean, 0.0)
        share = left.count[:, 0] * part.count / either.where(self.count > 0, self.count, 1.0)
        between = share[:, None, None] * change[:, :, None] * change[:, None, :]
        left_over = self.scatter - part.scatter - between
        scatter = either.where(some[:, :, None] & some[:, None, :], left_over, 0.0)
        return type(self)(left.mean, left.count[:, 0], scatter)

    def require_part(self, part: Self, block: str) -> None:
        require_sums(f"block {block!r}", "count", self.count, part.count)
        require_squares(f"block {block!r}", *((s.count[:, None], s.mean, s.variances) for s in (self, part)))
        require_scatter(f"block {block!r}", self.scatter, self.minus(part).scatter)

    def pool(self) -> Self:
        mean, deviations = pooled_mean(self.mean, self.count[:, None])
        between = deviations[:, :, None] * deviations[:, None, :] * self.count[:, None, None]
        scatter = (self.scatter + between).sum(axis=0, keepdims=True)
        return type(self)(mean, self.count.sum(keepdims=True), scatter)

    @property
    def variances(self) -> Array:
        """The sums of squared deviations of each column, [K, D]."""
        return self.scatter.diagonal(axis1=1, axis2=2)

    @property
    def covariance(self) -> Array:
        """Scatter over n, [K, D, D]; 0 for a class without rows."""
        return over(self.scatter, self.count[:, None, None])
