"""Class sums on the host, in float64: compiled loops over one block of numpy rows, and BLAS for soft labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpyro.distributions import constraints
from numpyro.distributions.constraints import Constraint

from bayesnb.arrays import memory
from bayesnb.arrays.cells import observed
from bayesnb.arrays.class_table import ClassTable, is_sparse_enough
from bayesnb.arrays.compiled import for_loops
from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import is_sparse
from bayesnb.primitives.codes import Codes
from bayesnb.primitives.sums import loops
from bayesnb.primitives.sums.interface import Labels

PROVABLE = (constraints.boolean, constraints.real)
"""Supports for which sums can prove that all cells are inside. A check before the sums would make a fit of 10^6 x 10
numbers 1.16 times as long.
"""

LARGEST_MOMENT = 1e60
"""Moments up to this hold no cell whose square is infinite, unless its weight is ``FAINT``."""

FAINT = 1e-100
"""With a weight below this, a cell that is too large may not show in the sums."""

FAR_ORIGIN = 1e3
"""Recompute about a better origin when (mean - origin)^2 exceeds this many variances."""


class HostSums:
    """Class sums of one block of numpy rows, in float64. Without ``evidence`` no base measure is summed.

    With ``tables`` large sums of sparse rows may be a ``ClassTable``.
    """

    def __init__(self, labels: Labels, num_classes: int, *, evidence: bool = True, tables: bool = False) -> None:
        self.labels, self.num_classes, self.evidence, self.tables = labels, num_classes, evidence, tables
        self._proven: list[tuple[Array, Constraint]] = []

    def proves(self, x: Array, support: Constraint) -> bool:
        """True if the sums show that every cell of ``x`` is inside the support or NaN."""
        return any(rows is x and shown is support for rows, shown in self._proven)

    def counts(self) -> Array:
        y, weight = self.labels
        if self.labels.soft:
            return y.sum(axis=0)
        return np.bincount(y, weights=weight, minlength=self.num_classes).astype(np.float64)

    @cached_property
    def _soft(self) -> Array:
        return np.ascontiguousarray(self.labels.y.T, dtype=np.float64)

    def _by_class(self) -> Iterator[tuple[slice, Labels]]:
        """Integer labels as they are; soft labels class by class, as weights of rows of one class."""
        if not self.labels.soft:
            yield slice(None), self.labels
            return
        for k, weight in enumerate(self._soft):
            yield slice(k, k + 1), Labels(np.where(weight > 0, 0, -1).astype(np.int32), weight)

    def cell_counts(self, seen: Array | None, num_columns: int) -> Array:
        if seen is None:
            return np.repeat(self.counts()[:, None], num_columns, axis=1)
        return self.sum(seen)

    def sum(self, values: Array, seen: Array | None = None) -> Array:
        if seen is not None:
            values = np.where(seen, values, 0)
        if self.labels.soft:
            return self._soft @ (values if is_sparse(values) else values.astype(np.float64, copy=False))
        sums = np.zeros((self.num_classes, values.shape[1]))
        if is_sparse(values):
            loops.add_cells(values.data, values.indices, values.indptr, *self.labels, sums)
        else:
            loops.add_rows(for_loops(values), *self.labels, sums)
        return sums

    def cells(self, values: Array, seen: Array | None = None) -> Any:
        shape = self.num_classes, values.shape[1]
        if not (self.tables and is_sparse(values) and not self.labels.soft and is_sparse_enough(shape, 0)):
            return self.sum(values, seen)
        y, weight = self.labels
        weight = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        rows = scipy.sparse.csr_array((weight, (y, np.arange(len(y)))), shape=(self.num_classes, len(y)))
        return ClassTable.of_cells(rows @ values)

    def base(self, measure: Callable[[], Array], seen: Array | None = None) -> Array:
        return self.sum(measure(), seen) if self.evidence else np.full((self.num_classes, 1), np.nan)

    def trials(self, x: Array) -> tuple[Array, Array]:
        if self.labels.soft or is_sparse(x):
            seen = observed(x)
            return self.sum(x, seen), self.cell_counts(seen, x.shape[1])
        rows, ones = for_loops(x), np.zeros((self.num_classes, x.shape[1]))
        loops.add_flags(rows, *self.labels, ones)
        cells = self.cell_counts(None, x.shape[1])
        if np.isnan(ones).any():
            ones, cells = np.zeros((2, *ones.shape))
            loops.add_trials(rows, *self.labels, ones, cells)
        if not np.isnan(ones).any():
            self._proven.append((x, constraints.boolean))
        return ones, cells

    def table(self, codes: Codes, size: int) -> Array:
        what = f"counts of {self.num_classes:,} classes and {size:,} categories"
        memory.require(8 * self.num_classes * size, what, "give codes 0, 1, 2, ... that are fewer")
        table = np.zeros((self.num_classes, size))
        for classes, labels in self._by_class():
            loops.add_codes(for_loops(codes.cells), codes.starts, *labels, table[classes])
        return table

    def has_counted_all(self, table: Array, num_columns: int) -> bool:
        """True if a ``table`` is known to count every cell; False with weights, whose sums are not exact."""
        if self.labels.soft or self.labels.weight is not None:
            return False
        return bool(table.sum() == num_columns * self.counts().sum())

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        rows, weight = for_loops(x), self.labels.weight
        parts = (_moments(rows, labels, len(range(self.num_classes)[k])) for k, labels in self._by_class())
        count, mean, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        small = all(np.abs(part).max(initial=0.0) <= LARGEST_MOMENT for part in (count, mean, squares))
        if small and not self.labels.soft and (weight is None or weight.min(initial=1.0) > FAINT):
            self._proven.append((x, constraints.real))
        return count, mean, squares

    def scatter(self, x: Array) -> tuple[Array, Array, Array]:
        seen = observed(x)
        whole = np.ones(len(x), bool) if seen is None else seen.all(axis=1)
        y, weight = self.labels
        weight = 1.0 if weight is None else weight.astype(np.float64)
        own = y.T if self.labels.soft else ((y == k) * weight for k in range(self.num_classes))
        mean, count, scatter = zip(*(_scatter(x, np.where(whole, w, 0.0)) for w in own), strict=True)
        return np.stack(mean), np.array(count), np.stack(scatter)


def _moments(x: Array, labels: Labels, num_classes: int) -> tuple[Array, Array, Array]:
    """Count, mean and squared deviations [K, D], about a value of the class: a constant is exact, with no variance."""
    shape = (num_classes, x.shape[1])
    origin = np.zeros(shape)
    loops.first_values(x, labels.y, origin, np.zeros(shape, bool))
    with np.errstate(over="ignore", invalid="ignore"):  # overflow comes from cells that are refused
        count, shift, squares = _moments_about(origin, x, labels)
        if (count * np.square(shift) > FAR_ORIGIN * squares).any():
            # a constant column has shift 0 and keeps its origin
            origin += shift
            count, shift, squares = _moments_about(origin, x, labels)
        return count, origin + shift, squares


def _moments_about(origin: Array, x: Array, labels: Labels) -> tuple[Array, Array, Array]:
    """Count, the distance of the mean from the origin, and squared deviations from the mean."""
    count, sums, squares = np.zeros((3, *origin.shape))
    loops.add_moments(x, *labels, origin, count, sums, squares)
    shift = sums / np.maximum(count, np.finfo(np.float64).tiny)
    return count, shift, np.maximum(squares - sums * shift, 0.0)


def _scatter(x: Array, weight: Array) -> tuple[Array, float, Array]:
    """Mean, sum of weights and scatter matrix of weighted rows, about the first row: a constant column is exact."""
    rows = weight.nonzero()[0]
    n, weight = weight.sum(), weight[rows, None]
    if not rows.size:
        return np.zeros(x.shape[1]), 0.0, np.zeros((x.shape[1], x.shape[1]))
    origin = x[rows[0]].astype(np.float64)
    deviations = x[rows] - origin
    mean = (weight * deviations).sum(axis=0) / n
    deviations -= mean
    deviations *= np.sqrt(weight)
    return origin + mean, n, deviations.T @ deviations
