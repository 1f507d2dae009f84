"""Counts of the cells of a histogram, which merge if the cells are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array, is_traced
from bayesnb.arrays.pytree import pytree
from bayesnb.families.parts.cell_edges import check_edges
from bayesnb.families.parts.statistics import NormalStatistics, Statistics, without
from bayesnb.families.parts.support import Axes, require_axes, require_finite_numbers


@pytree
class HistogramStatistics(Statistics):
    """``counts`` [K, D, G] of cells, and ``log_base`` [K, D]: how far numbers lie in the tails, in scales, times -1.

    ``edges`` [K, D, G - 1] and ``atoms`` [K, D, G] are those of the cells, alike for all classes.
    """

    counts: Array
    log_base: Array
    edges: Array
    atoms: Array

    axes: ClassVar[Axes] = (("counts", "KDG"), ("log_base", "KD"), ("edges", "KDE"), ("atoms", "KDG"))

    def axis_sizes(self, num_classes: int) -> Mapping[str, int]:
        columns, cells = np.shape(self.counts)[-2:]
        return {"K": num_classes, "D": columns, "G": cells, "E": cells - 1}

    @property
    def num_columns(self) -> int:
        return np.shape(self.counts)[-2]

    def check(self, block: str, num_classes: int) -> None:
        owner = f"statistics of block {block!r}"
        values = {name: getattr(self, name) for name, _ in self.axes}
        require_axes(owner, values, self.axes, self.axis_sizes(num_classes))
        require_finite_numbers(owner, counts=self.counts, log_base=self.log_base)
        if not (np.asarray(self.counts) >= 0).all():
            raise ValueError(f"{owner}: counts must not be negative")
        check_edges(self.edges)
        if np.isnan(self.atoms).any() or any((table != table[:1]).any() for table in (self.edges, self.atoms)):
            raise ValueError(f"{owner}: all classes must have the same edges and atoms, without NaN")

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together.

        Raises:
            ValueError: if their cells are known to differ.
        """
        if not same_cells(self.edges, other.edges):
            raise ValueError(
                "statistics of Histogram can be merged only if their edges are the same: resolve the model on some "
                "rows first, model.resolve(X, y), or give edges"
            )
        counts, log_base = self.counts + other.counts, self.log_base + other.log_base
        return type(self)(counts, log_base, self.edges, self.atoms)

    def pool(self) -> Self:
        counts, log_base = (table.sum(axis=0, keepdims=True) for table in (self.counts, self.log_base))
        return type(self)(counts, log_base, self.edges[:1], self.atoms[:1])

    def spread_classes(self, places: Array) -> Self:
        first = np.zeros(len(places), np.intp)  # all classes have the same cells
        return replace(super().spread_classes(places), edges=self.edges[first], atoms=self.atoms[first])

    def minus(self, part: Self) -> Self:
        left, base = without(self.counts, part.counts), self.log_base - part.log_base
        return type(self)(left, base, self.edges, self.atoms)


@pytree
class ViewStatistics(HistogramStatistics):
    """The statistics of cells, and ``count``, ``mean`` and ``squares`` [K, D] of the same numbers, as for a Normal."""

    count: Array
    mean: Array
    squares: Array

    axes = (*HistogramStatistics.axes, *NormalStatistics.axes)

    @classmethod
    def join(cls, cells: HistogramStatistics, moments: NormalStatistics) -> Self:
        """Both statistics of the same rows."""
        return cls(cells.counts, cells.log_base, cells.edges, cells.atoms, moments.count, moments.mean, moments.squares)

    @property
    def cell_counts(self) -> HistogramStatistics:
        """Those of the cells alone."""
        return HistogramStatistics(self.counts, self.log_base, self.edges, self.atoms)

    @property
    def moments(self) -> NormalStatistics:
        """Those of a Normal alone."""
        return NormalStatistics(self.count, self.mean, self.squares)

    def check(self, block: str, num_classes: int) -> None:
        super().check(block, num_classes)
        self.moments.check(block, num_classes)

    def merge(self, other: Self) -> Self:
        if not same_cells(self.edges, other.edges):
            raise ValueError(
                "statistics of numbers in several views can be merged only if their cells are the same, and each fit "
                "finds its own: fit with temper=False or likelihoods 'normal', or resolve a model, model.resolve(X, y)"
            )
        return self.join(self.cell_counts.merge(other.cell_counts), self.moments.merge(other.moments))

    def pool(self) -> Self:
        return self.join(self.cell_counts.pool(), self.moments.pool())

    def spread_classes(self, places: Array) -> Self:
        return self.join(self.cell_counts.spread_classes(places), self.moments.spread_classes(places))

    def minus(self, part: Self) -> Self:
        return self.join(self.cell_counts.minus(part.cell_counts), self.moments.minus(part.moments))

    def require_part(self, part: Self, block: str) -> None:
        self.cell_counts.require_part(part.cell_counts, block)
        self.moments.require_part(part.moments, block)

    @property
    def observed_cells(self) -> Array:
        return self.count


def same_cells(edges: Array, others: Array) -> bool:
    """False if these edges [..., D, E] are known to differ, in the first class of each."""
    if is_traced(edges, others) or not np.size(edges) or not np.size(others):
        return np.shape(edges)[-2:] == np.shape(others)[-2:]
    with jax.core.eval_context():
        a, b = (np.asarray(x).reshape(-1, *np.shape(x)[-2:])[0] for x in (edges, others))
    kind = np.float32 if np.float32 in (a.dtype, b.dtype) else np.float64
    return a.shape == b.shape and bool((a.astype(kind) == b.astype(kind)).all())


def cell_mass(counts: Array, edges: Array) -> Array:
    """The share of each cell in all rows, [D, G], from counts of all classes; 0 for cells that a column does not have.

    A cell without rows has half the share of the smallest one with rows, so that it can have some later.
    """
    counts = jnp.asarray(counts, jnp.result_type(float))
    real = jnp.concatenate([jnp.ones((*edges.shape[:-1], 1), bool), jnp.isfinite(edges)], axis=-1)
    least = jnp.where(counts > 0, counts, jnp.inf).min(axis=-1, keepdims=True, initial=jnp.inf)
    share = jnp.where(counts > 0, counts, jnp.where(jnp.isfinite(least), 0.5 * least, 1.0))
    share = jnp.where(real, share, 0.0)
    return share / share.sum(axis=-1, keepdims=True)
