"""Class sums on the host: numpy and scipy, for one block of rows; sums leave in float64."""

from __future__ import annotations

import math
import threading
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.arrays import Array, observed
from bayesnb.sparse import is_sparse, sum_by_class
from bayesnb.sums.labels import Labels


class Scratch(threading.local):
    """A buffer for each thread, used again for every block: fresh memory would cost more than the arithmetic."""

    def __init__(self) -> None:
        self.memory = np.empty(0, np.uint8)

    def __call__(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array of this shape with anything in it, until the next call."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if self.memory.size < size:
            self.memory = np.empty(size, np.uint8)
        return self.memory[:size].view(dtype).reshape(shape)


WORTH = 4
"""Rows in a sum of bytes for each class, below which there are too many of these sums."""


class HostSums:
    """numpy and scipy, for one block of rows; sums leave in float64."""

    def __init__(self, labels: Labels, num_classes: int, scratch: Scratch) -> None:
        self.labels, self.num_classes, self.scratch = labels, num_classes, scratch

    @cached_property
    def _exact(self) -> Array:
        return self._matrix(np.float64)

    def _matrix(self, dtype: type) -> Array:
        y, weight = self.labels
        if self.labels.soft:
            return np.ascontiguousarray(y.T, dtype=np.float64)
        return _one_hot(y, self.num_classes, dtype if weight is None else np.float64, weight)

    @property
    def adds_bytes(self) -> bool:
        """True where zeros and ones may be added as bytes: the sums are then far fewer than the rows."""
        return self._unweighted and WORTH * self.num_classes <= 255

    @property
    def _unweighted(self) -> bool:
        return self.labels.weight is None and not self.labels.soft

    def _fast(self, values: Array) -> Array:
        """The matrix in float32 where the values are too: exact for zeros and ones, a first pass for the rest."""
        return self._matrix(np.float32) if self._unweighted and values.dtype == np.float32 else self._exact

    def counts(self) -> Array:
        return self._counts

    @cached_property
    def _counts(self) -> Array:
        y, weight = self.labels
        if self.labels.soft:
            return y.sum(axis=0)
        return np.bincount(y, weights=weight, minlength=self.num_classes).astype(np.float64)

    def cell_counts(self, seen: Array | None, num_columns: int) -> Array:
        if seen is None:
            return np.repeat(self.counts()[:, None], num_columns, axis=1)
        return self.sum(seen, binary=True)

    def sum(self, values: Array, seen: Array | None = None, *, binary: bool = False) -> Array:
        if is_sparse(values):
            return self._exact @ values if self.labels.soft else sum_by_class(*self.labels, self.num_classes, values)
        if seen is None and values.dtype in (bool, np.uint8) and self.adds_bytes:
            together = 255 // max(int(values.max(initial=0)), 1)
            if together >= WORTH * self.num_classes:
                return self._sum_of_bytes(values.view(np.uint8), together)
        values = _masked(values, seen)
        if binary:
            values = values.astype(np.float32, copy=False)
            return np.asarray(self._fast(values) @ values, np.float64)
        return self._exact @ values.astype(np.float64, copy=False)

    def _sum_of_bytes(self, values: Array, together: int) -> Array:
        """Several columns in one word, and no more values of a class in one sum than a byte holds."""
        rows, columns = values.shape
        if columns % 4 == 0 and values.flags.c_contiguous:
            words = values.view(np.uint32)
        else:
            words = self.scratch((rows, -(-columns // 8)), np.uint64)
            cells = words.view(np.uint8)
            cells[:, :columns], cells[:, columns:] = values, 0
        part, parts = np.arange(rows, dtype=np.int32) // together, max(-(-rows // together), 1)
        sums = _one_hot(self.labels.y + self.num_classes * part, self.num_classes * parts, words.dtype) @ words
        by_class = sums.view(np.uint8).reshape(parts, self.num_classes, words.shape[1] * words.itemsize)[:, :, :columns]
        return by_class.sum(axis=0, dtype=np.float64)

    def table(self, codes: Array, size: int, seen: Array | None) -> Array:
        y, weight = self.labels
        keep = slice(None) if seen is None else seen.reshape(-1)
        if self.labels.soft:
            flat = codes.reshape(-1)[keep]
            spread = (np.repeat(y[:, k], codes.shape[1])[keep] for k in range(self.num_classes))
            return np.stack([np.bincount(flat, weights=column, minlength=size) for column in spread])
        flat = (y.astype(np.intp)[:, None] * size + codes).reshape(-1)[keep]
        weights = None if weight is None else np.repeat(weight, codes.shape[1])[keep]
        counted = np.bincount(flat, weights=weights, minlength=self.num_classes * size)
        return counted.reshape(self.num_classes, size).astype(np.float64)

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
        seen = observed(x) if self.labels.soft else None
        if self.labels.soft:
            return self.cell_counts(seen, x.shape[1]), *self._careful_moments(x, seen)
        mean, squares = self._moments(x, None, self._fast(x))
        if not np.isfinite(squares).all():
            # only now is it worth a pass to look for missing cells
            seen = observed(x)
            mean, squares = self._moments(x, seen, self._fast(x))
        count = self.cell_counts(seen, x.shape[1])
        # where the spread is near the rounding of the mean, the columns are done again from a value of their own
        several = np.bincount(self.labels.y, minlength=self.num_classes)[:, None] > 1
        narrow = squares <= count * np.square(1e-4 * mean)
        delicate = several & narrow & ((mean != 0) | (squares != 0))
        columns = (delicate | ~np.isfinite(squares)).any(axis=0).nonzero()[0]
        if columns.size:
            some = None if seen is None else seen[:, columns]
            mean[:, columns], squares[:, columns] = self._careful_moments(x[:, columns], some)
        return count, mean, squares

    def _moments(self, x: Array, seen: Array | None, matrix: Array) -> tuple[Array, Array]:
        """Two passes, the second of which also mends the mean that the first one rounded."""
        # without missing cells the counts are those of the class, [K, 1]
        n = self.counts()[:, None] if seen is None else self.sum(seen, binary=True)
        n = np.maximum(n, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore", invalid="ignore"):  # float32 that overflows is done again in float64
            first = ((matrix @ _masked(x, seen)) / n).astype(x.dtype)
            deviations = self.scratch(x.shape, x.dtype)
            np.take(first, self.labels.y, axis=0, out=deviations, mode="clip")
            np.subtract(x, deviations, out=deviations)
            if seen is not None:
                np.copyto(deviations, 0.0, where=~seen)
            shift = (matrix @ deviations) / n
            squares = np.asarray(matrix @ np.square(deviations, out=deviations), np.float64)
            return first + shift, np.maximum(squares - n * np.square(shift), 0.0)

    def _careful_moments(self, x: Array, seen: Array | None) -> tuple[Array, Array]:
        """In float64 and from a reference row, so that a constant column has its exact value and no variance."""
        first = np.zeros(x.shape[1], int) if seen is None else seen.argmax(axis=0)
        reference = np.nan_to_num(x[first, np.arange(x.shape[1])].astype(np.float64))
        x = _masked(x.astype(np.float64) - reference, seen)
        if not self.labels.soft:
            mean, squares = self._moments(x, seen, self._exact)
        else:
            n = np.maximum(self.cell_counts(seen, x.shape[1]), np.finfo(np.float64).tiny)
            mean = (self._exact @ x) / n
            deviations = (_masked(x - row, seen) for row in mean)
            squares = np.stack([z @ np.square(d) for z, d in zip(self._exact, deviations, strict=True)])
        return mean + reference, squares

    def scatter(self, x: Array) -> tuple[Array, Array, Array]:
        seen = observed(x)
        whole = np.ones(len(x), bool) if seen is None else seen.all(axis=1)
        weights = (self._weights_of(k, whole) for k in range(self.num_classes))
        mean, count, scatter = zip(*(_scatter(x, w) for w in weights), strict=True)
        return np.stack(mean), np.array(count), np.stack(scatter)

    def _weights_of(self, k: int, whole: Array) -> Array:
        y, weight = self.labels
        if self.labels.soft:
            return np.where(whole, y[:, k], 0.0)
        return ((y == k) & whole) * (1.0 if weight is None else weight.astype(np.float64))


def _scatter(x: Array, weight: Array) -> tuple[Array, float, Array]:
    """Of rows with these weights, measured from the first of them: a constant column is exactly constant."""
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


def _one_hot(y: Array, size: int, dtype: Any, weight: Array | None = None) -> Any:
    """Sparse columns [size, B] with a one, or a weight, in the row of each label."""
    data = np.ones(len(y), dtype) if weight is None else weight.astype(dtype)
    pointers = np.arange(len(y) + 1, dtype=np.int32)
    return scipy.sparse.csc_array((data, y.astype(np.int32), pointers), shape=(size, len(y)))


def _masked(values: Array, seen: Array | None) -> Array:
    return values if seen is None else np.where(seen, values, 0)
