"""Statistics of rows for all pairs of columns: those of each block under the labels (class, category of a column)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any, Self

import jax
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._loops import in_threads
from bayesnb.compute.arrays._placement import Array, Node, pytree
from bayesnb.compute.primitives._codes import starts_of
from bayesnb.compute.primitives._pair_sums import count_places
from bayesnb.compute.primitives.sums import Labels, class_sums
from bayesnb.core.families._categorical import CategoricalStatistics
from bayesnb.core.families.parts._statistics import Statistics
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.core.results._combine import table_sizes
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.learned.forests._layout import Layout, Segments, find_places, have_several, join_places


@pytree
class JointStatistics(Statistics):
    """Two real columns in the rows where both are seen, [K, J, J]: the weight of these rows; the mean and the squared
    deviations of the first column; and the sum of the products of both deviations. The diagonal has a column alone.
    """

    count: Array
    mean: Array
    squares: Array
    product: Array

    axes = (("count", "KDD"), ("mean", "KDD"), ("squares", "KDD"), ("product", "KDD"))
    signed = ("mean", "product")

    @property
    def first(self) -> NormalStatistics:
        """The first column."""
        return NormalStatistics(self.count, self.mean, self.squares)

    @property
    def alone(self) -> NormalStatistics:
        """Each column alone, [K, J]."""
        return jax.tree.map(lambda table: table.diagonal(axis1=1, axis2=2), self.first)

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together."""
        first = self.first.merge(other.first)
        change = either.where((self.count > 0) & (other.count > 0), other.mean - self.mean, 0.0)
        share = self.count * other.count / either.where(first.count > 0, first.count, 1.0)
        product = self.product + other.product + share * change * change.swapaxes(1, 2)
        return type(self)(first.count, first.mean, first.squares, product)

    def minus(self, part: Self) -> Self:
        """The statistics without those of some of the rows."""
        first = self.first.minus(part.first)
        change = either.where((first.count > 0) & (part.count > 0), part.mean - first.mean, 0.0)
        share = first.count * part.count / either.where(self.count > 0, self.count, 1.0)
        left = self.product - part.product - share * change * change.swapaxes(1, 2)
        some = first.squares > 0
        return type(self)(first.count, first.mean, first.squares, either.where(some & some.swapaxes(1, 2), left, 0.0))

    def require_part(self, part: Self, block: str) -> None:
        """ValueError also if two columns of what is left would be correlated by more than one, but for rounding."""
        self.alone.require_part(part.alone, block)
        left = self.minus(part)
        of_left, of_total = (np.asarray(one.squares) for one in (left, self))
        about_zero = of_total + np.asarray(self.count) * np.square(np.asarray(self.mean))
        bounds, scale = (np.sqrt(squares * squares.swapaxes(1, 2)) for squares in (of_left, about_zero))
        if (np.abs(np.asarray(left.product)) - bounds > np.sqrt(np.finfo(scale.dtype).eps) * scale).any():
            raise ValueError(
                f"block {block!r}: without the rows to take away two columns would be correlated by more than one, so "
                "they cannot have been counted; take away rows that were"
            )


@pytree
class PairStatistics(Node):
    """What rows add up to for all pairs of columns: statistics with a class for each label (k, c), K S in all.

    c is one of the S categories of all columns that have any, laid end to end. ``categories`` [K S, S] are the counts
    of these columns themselves, and ``blocks`` the statistics of the other blocks. ``reals`` are the moments of two
    Normal columns, by class.
    """

    categories: CategoricalStatistics
    blocks: dict[str, Statistics]
    reals: JointStatistics

    @property
    def num_classes(self) -> int:
        """K."""
        return self.reals.count.shape[0]

    @property
    def num_labels(self) -> int:
        """S."""
        return sum(self.categories.sizes)

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together."""
        return self._map(lambda _, a, b: a.merge(b), other)

    def minus(self, part: Self) -> Self:
        """The statistics without those of some of the rows."""
        return self._map(lambda _, a, b: a.minus(b), part)

    def discount(self, factor: float) -> Self:
        """The statistics of the same rows with their weights times ``factor``."""
        return self._map(lambda _, a: a.discount(factor))

    def spread_classes(self, places: Array) -> Self:
        """The same rows with other classes: class k is number ``places[k]``, or without rows if K."""
        size = self.num_labels
        labels = (places[:, None] * size + np.arange(size)[None]).ravel()
        labels = np.where(labels < self.num_classes * size, labels, self.num_classes * size)
        return self._map(lambda labelled, a: a.spread_classes(labels if labelled else places))

    def check(self) -> None:
        """Raise ValueError unless some rows can have these statistics."""
        for one in (self.categories, *self.blocks.values()):
            one.check("pairs", self.num_classes * self.num_labels)
        self.reals.check("pairs", self.num_classes)

    def require_part(self, part: Self) -> None:
        """ValueError if ``part`` cannot be the statistics of some of these rows."""
        self._map(lambda _, a, b: a.require_part(b, "pairs"), part)

    def _map(self, change: Callable[..., Any], *others: Self) -> Self:
        """``change(labelled, statistics, *those of others)`` of each part; ``labelled`` if it has a class a label."""
        blocks = {name: change(True, one, *(o.blocks[name] for o in others)) for name, one in self.blocks.items()}
        categories = change(True, self.categories, *(o.categories for o in others))
        return type(self)(categories, blocks, change(False, self.reals, *(o.reals for o in others)))


def count_pairs(layout: Layout, rows: LabelledRows, segments: Segments | None = None) -> PairStatistics:
    """The statistics of numpy rows, in float64; of the ``segments`` of columns if they are given."""
    rows, families = rows.drop_unused(), rows.families
    sizes = tuple(s for b in layout.categories for s in table_sizes(families[b], rows.arrays[b].shape[1]))
    sizes = sizes if segments is None else tuple(map(len, segments))
    num_classes, num_labels, starts = rows.num_classes, sum(sizes), starts_of(sizes)
    memory.require(
        8 * 12 * num_classes * (num_labels + layout.count(layout.reals)) ** 2,
        f"every pair of {len(layout.order):,} columns, with {num_labels:,} categories, in {num_classes:,} classes",
        "give fewer columns, or fewer categories",
    )
    labels, weight = rows.labels.y, rows.weight()
    if rows.labels.soft:  # a row of each class
        row, labels = labels.nonzero()
        rows, weight = rows.select(row), rows.labels.y[row, labels]
    places = find_places(layout, families, rows.arrays)
    places = places if segments is None else join_places(places, segments)
    codes = np.where(places < num_labels, places - starts[:-1], -1)

    def by_category(family: Any, x: Array) -> Any:
        """A block's statistics under the labels (k, c) of each column of categories."""

        def of_parent(i: int) -> Any:
            seen = slice(None) if (codes[:, i] >= 0).all() else codes[:, i] >= 0
            found = Labels((labels * sizes[i] + codes[:, i])[seen], weight[seen])
            return family.statistics(x[seen], class_sums(found, num_classes * sizes[i]))

        def join(*tables: Array) -> Array:
            of_classes = [t.reshape(num_classes, size, *t.shape[1:]) for t, size in zip(tables, sizes, strict=True)]
            return np.concatenate(of_classes, axis=1).reshape(num_classes * num_labels, *tables[0].shape[1:])

        return jax.tree.map(join, *in_threads(of_parent, range(len(sizes))))

    x = np.concatenate([np.zeros((len(labels), 0)), *(rows.arrays[name] for name in layout.reals)], axis=1)
    moments = in_threads(lambda k: _joint_moments(x[labels == k], weight[labels == k]), range(num_classes))
    reals = JointStatistics(*map(np.stack, zip(*moments, strict=True)))
    if not sizes:
        return PairStatistics(CategoricalStatistics(np.zeros((0, 0)), ()), {}, reals)
    blocks = {name: by_category(families[name], rows.arrays[name]) for name in (*layout.reals, *layout.others)}
    counts = count_places(np.where(codes < 0, num_labels, places), labels, weight, num_classes, num_labels)
    return PairStatistics(CategoricalStatistics(counts.reshape(-1, num_labels), sizes), blocks, reals)


def _joint_moments(x: Array, weight: Array) -> tuple[Array, Array, Array, Array]:
    """The fields of ``JointStatistics`` of real cells [N, J] in one class, NaN where missing."""
    seen = ~np.isnan(x)
    first = weight @ np.where(seen, x, 0.0) / np.maximum(weight @ seen, np.finfo(np.float64).tiny)
    z, seen = np.where(seen, x - first, 0.0), seen.astype(np.float64)
    weighed = weight[:, None] * z
    count = (weight[:, None] * seen).T @ seen
    known = np.where(count > 0, count, 1.0)
    mean = weighed.T @ seen / known
    # about the mean of the column little cancels, and nothing where no cell is missing
    squares = np.maximum((weighed * z).T @ seen - count * mean * mean, 0.0)
    return count, np.where(count > 0, first[:, None] + mean, 0.0), squares, weighed.T @ z - count * mean * mean.T


def merge_labels(statistics: Any, sizes: tuple[int, ...]) -> Any:
    """Statistics with so many neighbouring labels merged into one."""
    left = np.array(sizes, int)
    while left.max(initial=0) > 1:  # in twos, so that little is added to much
        ends = np.cumsum(left)
        first = np.flatnonzero((np.arange(left.sum()) - np.repeat(ends - left, left)) % 2 == 0)
        left = -(-left // 2)
        second = np.where(first + 1 < np.repeat(ends, left), first + 1, ends[-1])
        statistics = statistics.spread_classes(first).merge(statistics.spread_classes(second))
    return statistics


def join_segments(pairs: PairStatistics, segments: Segments) -> PairStatistics:
    """The statistics with the segments of columns instead of their categories, of columns of several segments."""
    some = have_several(segments)
    if pairs.categories.sizes != tuple(map(len, segments)):  # others were counted
        pairs = _merge_categories(pairs, segments)
    if some.all():
        return pairs
    of_labels, categories = np.repeat(some, pairs.categories.sizes), pairs.categories
    labels = np.flatnonzero(np.tile(of_labels, pairs.num_classes))
    sizes = tuple(np.array(categories.sizes)[some].tolist())
    left = replace(categories, counts=categories.counts[labels][:, np.flatnonzero(of_labels)], sizes=sizes)
    return replace(pairs, categories=left, blocks={b: one.spread_classes(labels) for b, one in pairs.blocks.items()})


def _merge_categories(pairs: PairStatistics, segments: Segments) -> PairStatistics:
    num_classes, sizes = pairs.num_classes, tuple(chain.from_iterable(segments)) * pairs.num_classes
    blocks = {name: merge_labels(statistics, sizes) for name, statistics in pairs.blocks.items()}
    categories = pairs.categories
    for _ in range(2):  # the labels, and the counted categories: counts are symmetric
        categories = merge_labels(categories, sizes)
        table = categories.counts.reshape(num_classes, -1, categories.counts.shape[1]).swapaxes(1, 2)
        categories = replace(categories, counts=table.reshape(-1, table.shape[2]))
    joined = replace(categories, sizes=tuple(map(len, segments)))
    return replace(pairs, categories=joined, blocks=blocks)
