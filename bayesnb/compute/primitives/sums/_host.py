"""Class sums on the host, in float64: compiled loops over one block of numpy rows, and BLAS for soft labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpyro.distributions import constraints
from numpyro.distributions.constraints import Constraint

from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._cells import is_sparse, observed
from bayesnb.compute.arrays._loops import compiled, for_loops
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives._codes import Codes
from bayesnb.compute.primitives._polynomials import add_polynomials, scale_at

PROVABLE = (constraints.boolean, constraints.real)
"""Supports for which sums can prove that all cells are inside. A check before the sums would make a fit of 10^6 x 10
numbers 1.16 times as long.
"""


class Labels(NamedTuple):
    """The labels of rows: integer labels [N] with weights [N] or None, or weights [N, K] (soft labels)."""

    y: Array
    weight: Array | None

    @property
    def soft(self) -> bool:
        """True for soft labels, a matrix already multiplied by the sample weights; ``weight`` is then None."""
        return self.y.ndim == 2

    def rows(self, block: Any) -> Labels:
        """The labels of some rows, given by a slice or a mask."""
        return Labels(self.y[block], None if self.weight is None else self.weight[block])


class HostSums:
    """Class sums of one block of numpy rows, in float64. Without ``evidence`` no base measure is summed."""

    def __init__(self, labels: Labels, num_classes: int, *, evidence: bool = True) -> None:
        self.labels, self.num_classes, self.evidence = labels, num_classes, evidence
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

    @cached_property
    def _members(self) -> Any:
        """The weight of each row in its class, sparse [K, N]; none of a row with a label outside of 0..K-1."""
        y, weight = self.labels
        inside = (y >= 0) & (y < self.num_classes)
        weight = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        ends = np.concatenate([[0], np.cumsum(inside)])
        return scipy.sparse.csc_array((weight[inside], y[inside], ends), shape=(self.num_classes, len(y)))

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
        if not is_sparse(values):
            return self._members @ for_loops(values)
        sums = np.zeros((self.num_classes, values.shape[1]))
        _add_cells(values.data, values.indices, values.indptr, *self.labels, sums)
        return sums

    def base(self, measure: Callable[[], Array], seen: Array | None = None) -> Array:
        return self.sum(measure(), seen) if self.evidence else np.full((self.num_classes, 1), np.nan)

    def trials(self, x: Array) -> tuple[Array, Array]:
        if self.labels.soft or is_sparse(x):
            seen = observed(x)
            return self.sum(x, seen), self.cell_counts(seen, x.shape[1])
        rows, ones = for_loops(x), np.zeros((self.num_classes, x.shape[1]))
        _add_flags(rows, *self.labels, ones)
        cells = self.cell_counts(None, x.shape[1])
        if np.isnan(ones).any():
            ones, cells = np.zeros((2, *ones.shape))
            _add_trials(rows, *self.labels, ones, cells)
        if not np.isnan(ones).any():
            self._proven.append((x, constraints.boolean))
        return ones, cells

    def table(self, codes: Codes, size: int) -> Array:
        what = f"counts of {self.num_classes:,} classes and {size:,} categories"
        memory.require(8 * self.num_classes * size, what, "give codes 0, 1, 2, ... that are fewer")
        table = np.zeros((self.num_classes, size))
        for classes, labels in self._by_class():
            _add_codes(for_loops(codes.cells), codes.starts, *labels, table[classes])
        return table

    def spread(self, first: Array, t: Array, size: int, nodes: Array) -> Array:
        """Sums [K, D size] of the Lagrange polynomials of ``nodes`` [P] at t [N, D], from the places ``first`` on."""
        table = np.zeros((self.num_classes, first.shape[1] * size + len(nodes)))  # a place may have no room behind it
        for classes, labels in self._by_class():
            add_polynomials(first, t, size, nodes, scale_at(nodes), *labels, table[classes])
        return table[:, : first.shape[1] * size]

    def has_counted_all(self, table: Array, num_columns: int) -> bool:
        """True if a ``table`` is known to count every cell; False with weights, whose sums are not exact."""
        if self.labels.soft or self.labels.weight is not None:
            return False
        return bool(table.sum() == num_columns * self.counts().sum())

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        rows, weight = for_loops(x), self.labels.weight
        parts = (_moments(rows, labels, len(range(self.num_classes)[k])) for k, labels in self._by_class())
        count, mean, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        small = all(np.abs(part).max(initial=0.0) <= 1e60 for part in (count, mean, squares))
        # then no cell has an infinite square, unless it has so little weight that it may not show in the sums
        if small and not self.labels.soft and (weight is None or weight.min(initial=1.0) > 1e-100):
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
    _first_values(x, labels.y, origin, np.zeros(shape, bool))
    with np.errstate(over="ignore", invalid="ignore"):  # overflow comes from cells that are refused
        count, shift, squares = _moments_about(origin, x, labels)
        if (count * np.square(shift) > 1e3 * squares).any():  # digits are lost about an origin so many variances off
            # a constant column has shift 0 and keeps its origin
            origin += shift
            count, shift, squares = _moments_about(origin, x, labels)
        return count, origin + shift, squares


def _moments_about(origin: Array, x: Array, labels: Labels) -> tuple[Array, Array, Array]:
    """Count, the distance of the mean from the origin, and squared deviations from the mean."""
    count, sums, squares = np.zeros((3, *origin.shape))
    _add_moments(x, *labels, origin, count, sums, squares)
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


# each loop adds to given sums, and skips rows with labels outside 0..K-1; ``weight`` is [N], or None for ones


@compiled
def _add_flags(x: Array, y: Array, weight: Array | None, ones: Array) -> None:
    """ones_kd += sum of w_n x_nd over the rows of class k, of zeros and ones; any other cell makes its sum NaN."""
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < ones.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(x.shape[1]):
                value = x[n, d]
                # without a branch the loop vectorises
                ones[k, d] += w * value if (value == 0) | (value == 1) else np.nan


@compiled
def _add_trials(x: Array, y: Array, weight: Array | None, ones: Array, cells: Array) -> None:
    """As ``_add_flags``, but NaN cells are missing; also adds w_n of the observed cells to ``cells``."""
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < ones.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(x.shape[1]):
                value = x[n, d]
                seen = value == value
                one = w * value if seen else 0.0
                ones[k, d] += one if (value == 0) | (value == 1) | (not seen) else np.nan
                cells[k, d] += w if seen else 0.0


@compiled
def _add_cells(data: Array, columns: Array, pointers: Array, y: Array, weight: Array | None, sums: Array) -> None:
    """sums_kd += sum of w_n x_nd over the rows of class k, of the stored cells of a sparse matrix, in any order."""
    for n in range(y.shape[0]):
        if 0 <= y[n] < sums.shape[0]:
            k, w = np.uintp(y[n]), 1.0 if weight is None else weight[n]
            # unsigned indices need no check for negative ones, which would count from the end
            for cell in range(np.uintp(pointers[n]), np.uintp(pointers[n + 1])):
                sums[k, np.uintp(columns[cell])] += w * data[cell]


@compiled
def _add_codes(cells: Array, starts: Array, y: Array, weight: Array | None, table: Array) -> None:
    """table_kc += sum of w_n over the cells of class k whose place, starts_d + x_nd < starts_{d+1}, is c."""
    for n in range(cells.shape[0]):
        k = y[n]
        if 0 <= k < table.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(cells.shape[1]):
                if 0 <= cells[n, d] < starts[d + 1] - starts[d]:
                    table[k, starts[d] + np.int64(cells[n, d])] += w


@compiled
def _first_values(x: Array, y: Array, origin: Array, found: Array) -> None:
    """origin_kd = the first value of class k that is not NaN; ``found`` marks where there is one."""
    missing = np.empty(found.shape[0], np.int64)
    for k in range(found.shape[0]):
        missing[k] = 0
        for d in range(found.shape[1]):  # ``sum`` of numba takes a second to compile
            missing[k] += not found[k, d]
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < missing.shape[0] and missing[k] > 0:
            for d in range(x.shape[1]):
                value = x[n, d]
                if not found[k, d] and value == value:
                    origin[k, d], found[k, d] = value, True
                    missing[k] -= 1


@compiled
def _add_moments(
    x: Array, y: Array, weight: Array | None, origin: Array, count: Array, sums: Array, squares: Array
) -> None:
    """Adds w_n, w_n z and w_n z^2 over the cells of class k that are not NaN, z = x_nd - origin_kd."""
    for n in range(x.shape[0]):
        k = y[n]
        if 0 <= k < count.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(x.shape[1]):
                value = x[n, d]
                seen = value == value
                z = value - origin[k, d] if seen else 0.0
                count[k, d] += w if seen else 0.0
                sums[k, d] += w * z
                squares[k, d] += w * z * z
