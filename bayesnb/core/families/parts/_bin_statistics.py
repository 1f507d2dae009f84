"""Edges of bins of about equal mass, found whatever the labels, and counts of bins, which merge if edges agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, sqrt
from typing import Any, ClassVar, Self

import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Array, as_array, known, pytree
from bayesnb.core.families.parts._statistics import Statistics, without
from bayesnb.core.families.parts._support import Axes
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics

NO_EDGE = np.inf
"""What pads the edges of columns with fewer bins than others, and the point masses of bins that are intervals."""

ROUNDING = 2.0**-49
"""How far an edge lies below the middle of two numbers, relative to them: a cell there reaches it in any unit."""


def known_rows(
    finds: str, x: Array, weight: Callable[[], Array | None], instead: str = ""
) -> tuple[Array, Array | None]:
    """The rows that find bins, as ``finds`` words it, and their ``weight()``; ValueError if they are traced."""
    of_rows = weight()
    numbers, heavy = known(x), known(1.0 if of_rows is None else of_rows)
    if numbers is None or heavy is None:
        raise ValueError(
            f"{finds} from known rows, and inside a JAX transformation they are not known: {instead}resolve the model "
            "outside, model.resolve(X, y)"
        )
    return numbers, None if of_rows is None else heavy


def find_edges(x: Array, weight: Array | None, num_bins: int | None) -> tuple[Array, Array]:
    """Edges [D, G - 1] of numpy rows [N, D] with these weights [N], and the point masses [D, G]: values that repeat.

    A value as heavy as an average bin is a bin of its own, and the other bins hold about as many rows as each other.
    An edge is half-way between two values. If there are no more values than bins, each has its bin. None means
    sqrt(N) bins, N the weight of all rows, from ``limits.FEW_BINS`` to ``limits.MANY_BINS``.
    """
    if weight is not None:
        x, weight = x[weight > 0], weight[weight > 0]
    num_rows = len(x) if weight is None else float(weight.sum())
    num_bins = num_bins or min(max(limits.FEW_BINS, ceil(sqrt(num_rows))), limits.MANY_BINS)
    step = -(-len(x) // limits.QUANTILE_ROWS) or 1
    x, weight = x[::step], None if weight is None else weight[::step]
    edges = np.full((x.shape[1], num_bins - 1), NO_EDGE)
    points = np.full((x.shape[1], num_bins), NO_EDGE)
    columns, alike = x.T.astype(np.float64, order="C"), np.zeros(x.shape[1], bool)
    if weight is None and len(x):
        columns.sort(axis=1)  # NaN behind all numbers
        alike = (columns[:, 1:] > columns[:, :-1]).all(axis=1) & np.isfinite(columns[:, [0, -1]]).all(axis=1)
        first = np.flatnonzero(np.diff(_bins(np.ones(len(x)), num_bins))) + 1  # where all values differ
        edges[alike, : len(first)] = _between(columns[alike][:, first - 1], columns[alike][:, first])
    for d in np.flatnonzero(~alike):
        values, mass = _values(columns[d], weight)
        if not len(values):
            continue
        own = _bins(mass, num_bins)
        first = np.flatnonzero(np.diff(own)) + 1  # the first value of each bin but the lowest
        edges[d, : len(first)] = _between(values[first - 1], values[first])
        point = (np.bincount(own)[own] == 1) & (mass > 1.0)
        points[d, own[point]] = values[point]
    return edges, points


def _between(low: Array, high: Array) -> Array:
    """Edges between numbers; between neighbours among floats, where nothing lies, the higher one."""
    middle = low + 0.5 * (high - low) - ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return np.where(middle > low, middle, high)


def _values(column: Array, weight: Array | None) -> tuple[Array, Array]:
    """The distinct finite values in order, and the weight of each; a column without weights is sorted already."""
    seen = np.isfinite(column)
    if weight is None:
        column = column if seen.all() else column[seen]
        first = np.flatnonzero(np.diff(column, prepend=-np.inf) > 0)
        return column[first], np.diff(first, append=len(column)).astype(np.float64)
    values, place = np.unique(column[seen], return_inverse=True)
    return values, np.bincount(place, weights=weight[seen], minlength=len(values))


def _bins(mass: Array, num_bins: int) -> Array:
    """The bin of each value, 0, 1, ... in order, for values of these masses."""
    if len(mass) <= num_bins:
        return np.arange(len(mass))
    heavy = np.zeros(len(mass), bool)
    # each heavy value may also cut one bin of others in two
    most = (num_bins - 1) // 2
    candidates = np.flatnonzero(mass * num_bins >= mass.sum())
    heavy[candidates[np.argsort(-mass[candidates], kind="stable")[:most]]] = True
    rest = np.where(heavy, 0.0, mass)
    free = num_bins - 2 * int(heavy.sum())
    middle = np.cumsum(rest) - 0.5 * rest
    group = np.minimum((middle / rest.sum() * free).astype(int), free - 1)
    new = np.ones(len(mass), bool)
    new[1:] = (np.diff(group) > 0) | heavy[1:] | heavy[:-1]
    return np.cumsum(new) - 1


def check_edges(given: Any) -> Array:
    """Edges that a user gives, for all columns [E] or one row a column [D, E], with infinite ones at the end of a row.

    Raises:
        ValueError: unless they are numbers that rise, between 1 and 255 of them.
    """
    if isinstance(given, list | tuple) and any(np.ndim(row) == 1 for row in given):
        size = max(map(len, given), default=0)
        given = [[*row, *[NO_EDGE] * (size - len(row))] for row in given]
    edges = as_array(given)
    shown = known(edges)
    if shown is None:
        return edges
    if shown.ndim not in (1, 2, 3) or shown.dtype.kind not in "iuf" or not 1 <= shown.shape[-1] < limits.MOST_BINS:
        raise ValueError(
            f"Histogram: edges are numbers between bins, [E] for all columns or a row for each, from 1 to "
            f"{limits.MOST_BINS - 1}, got an array of shape {shown.shape} and type {shown.dtype}"
        )
    last = shown == NO_EDGE
    before, after = shown[..., :-1], shown[..., 1:]
    if np.isnan(shown).any() or (shown == -np.inf).any() or not ((after > before) | (last[..., 1:])).all():
        raise ValueError(
            "Histogram: edges must be finite and rise within a column: sort them, and leave out NaN and repeated ones"
        )
    return edges


@pytree
class HistogramStatistics(Statistics):
    """``counts`` [K, D, G] of bins, and ``log_base`` [K, D]: how far numbers lie in the tails, in scales, times -1.

    ``edges`` [K, D, G - 1] and point masses ``atoms`` [K, D, G] are alike for all classes.
    """

    counts: Array
    log_base: Array
    edges: Array
    atoms: Array

    axes: ClassVar[Axes] = (("counts", "KDG"), ("log_base", "KD"), ("edges", "KDE"), ("atoms", "KDG"))
    alike = ("edges", "atoms")

    def axis_sizes(self, num_classes: int) -> Mapping[str, int]:
        columns, bins = np.shape(self.counts)[-2:]
        return {"K": num_classes, "D": columns, "G": bins, "E": bins - 1}

    @property
    def num_columns(self) -> int:
        return np.shape(self.counts)[-2]

    def check(self, block: str, num_classes: int) -> None:
        super().check(block, num_classes)
        check_edges(self.edges)
        if np.isnan(self.atoms).any() or any((table != table[:1]).any() for table in (self.edges, self.atoms)):
            raise ValueError(
                f"statistics of block {block!r}: all classes must have the same edges and point masses, without NaN"
            )

    @classmethod
    def of_levels(cls, tables: Sequence[Array]) -> Self:
        """Those of ordered columns, from the rows of each class at each level, [K, C] for each column."""
        edges, atoms = level_bins([table.shape[1] for table in tables])
        counts = np.stack([np.pad(t, ((0, 0), (0, atoms.shape[1] - t.shape[1]))) for t in tables], axis=1)
        alike = (np.repeat(table[None], len(counts), axis=0) for table in (edges, atoms))
        return cls(counts, np.zeros(counts.shape[:2]), *alike)

    def spread(self, codes: Sequence[Array], sizes: Sequence[int]) -> Self:
        """Those of the same ordered columns with more levels: level c of column d becomes ``codes[d][c]``."""
        tables = [np.zeros((len(self.counts), size)) for size in sizes]
        for d, (table, places) in enumerate(zip(tables, codes, strict=True)):
            table[:, places] = self.counts[:, d, : len(places)]
        return self.of_levels(tables)

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together.

        Raises:
            ValueError: if their bins are known to differ.
        """
        if not same_bins(self.edges, other.edges):
            raise ValueError(
                "statistics of Histogram can be merged only if their edges are the same: resolve the model on some "
                "rows first, model.resolve(X, y), or give edges"
            )
        return super().merge(other)

    def minus(self, part: Self) -> Self:
        left, base = without(self.counts, part.counts), self.log_base - part.log_base
        return type(self)(left, base, self.edges, self.atoms)


@pytree
class ViewStatistics(HistogramStatistics):
    """The statistics of bins, and ``count``, ``mean`` and ``squares`` [K, D] of the same numbers, as for a Normal."""

    count: Array
    mean: Array
    squares: Array

    axes = (*HistogramStatistics.axes, *NormalStatistics.axes)

    @classmethod
    def join(cls, bins: HistogramStatistics, moments: NormalStatistics) -> Self:
        """Both statistics of the same rows."""
        return cls(bins.counts, bins.log_base, bins.edges, bins.atoms, moments.count, moments.mean, moments.squares)

    def of(self, family: Any) -> HistogramStatistics | NormalStatistics:
        """Those of one of the families."""
        return self.moments if family.statistics_type is NormalStatistics else self.bin_counts

    @property
    def bin_counts(self) -> HistogramStatistics:
        """Those of the bins alone."""
        return HistogramStatistics(self.counts, self.log_base, self.edges, self.atoms)

    @property
    def moments(self) -> NormalStatistics:
        """Those of a Normal alone."""
        return NormalStatistics(self.count, self.mean, self.squares)

    def merge(self, other: Self) -> Self:
        if not same_bins(self.edges, other.edges):
            raise ValueError(
                "statistics of numbers in several views can be merged only if their bins are the same, and each fit "
                "finds its own: fit with method='posterior' or likelihoods 'normal', or resolve a model, "
                "model.resolve(X, y)"
            )
        return self.join(self.bin_counts.merge(other.bin_counts), self.moments.merge(other.moments))

    def pool(self) -> Self:
        return self.join(self.bin_counts.pool(), self.moments.pool())

    def minus(self, part: Self) -> Self:
        return self.join(self.bin_counts.minus(part.bin_counts), self.moments.minus(part.moments))

    def require_part(self, part: Self, block: str) -> None:
        self.bin_counts.require_part(part.bin_counts, block)
        self.moments.require_part(part.moments, block)

    @property
    def observed_cells(self) -> Array:
        return self.count


def level_bins(num_levels: Sequence[int]) -> tuple[Array, Array]:
    """The edges [D, G - 1] between levels 0, 1, ..., C - 1 of ordered columns, and these as point masses, [D, G]."""
    sizes = np.array(num_levels, int)[:, None]
    levels = np.arange(float(max(sizes.max(), limits.FEWEST_BINS)))[None]
    edges = np.where(levels < sizes - 1, levels + 0.5, NO_EDGE)[:, :-1]
    return edges, np.where(levels < sizes, levels, NO_EDGE)


def same_bins(edges: Array, others: Array) -> bool:
    """False if these edges [..., D, E] are known to differ, in the first class of each."""
    a, b = known(edges), known(others)
    if a is None or b is None or not a.size or not b.size:
        return np.shape(edges)[-2:] == np.shape(others)[-2:]
    a, b = (x.reshape(-1, *x.shape[-2:])[0] for x in (a, b))
    kind = np.float32 if np.float32 in (a.dtype, b.dtype) else np.float64
    return a.shape == b.shape and bool((a.astype(kind) == b.astype(kind)).all())


def bin_mass(counts: Array, edges: Array) -> Array:
    """The share of each bin in all rows, [D, G], from counts of all classes; 0 for padding bins.

    A bin without rows has half the share of the smallest one with rows, so that it can have some later.
    """
    counts = jnp.asarray(counts, jnp.result_type(float))
    real = jnp.concatenate([jnp.ones((*edges.shape[:-1], 1), bool), jnp.isfinite(edges)], axis=-1)
    least = jnp.where(counts > 0, counts, jnp.inf).min(axis=-1, keepdims=True, initial=jnp.inf)
    share = jnp.where(counts > 0, counts, jnp.where(jnp.isfinite(least), 0.5 * least, 1.0))
    share = jnp.where(real, share, 0.0)
    return share / share.sum(axis=-1, keepdims=True)


def require_exact(x: Array, block: str) -> None:
    """Raise ValueError if float64 would round an integer cell: cells of one value may be several."""
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return
    odd = next((cell for cell in x[(x > 2**53) | (x < -(2.0**53))].tolist() if cell != float(cell)), None)
    if odd is not None:
        raise ValueError(
            f"block {block!r} holds {odd}, which floating point would round to {float(odd):.0f}: subtract a constant "
            "from the column, or convert it to floating point if rounding does no harm"
        )
