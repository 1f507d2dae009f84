"""Class sums, the one primitive of fitting: sum over rows n of z_nk · t(x_n), with z the labels times the weights.

Families are written above it and know neither of its bodies. On the host the labels of a block of rows are a matrix
[K, B], sparse for integer labels, and scipy or BLAS multiplies; on a device integer labels are a segment sum. Counts
do not saturate: float64 on the host, int32 on the device where rows are unweighted, pairwise float32 sums otherwise.
"""

from __future__ import annotations

import math
import threading
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.arrays import Array, observed, on_host


class Labels(NamedTuple):
    """Who a row belongs to: integer labels [N] with weights [N] or None, or weights [N, K] (soft labels)."""

    y: Array
    weight: Array | None

    @property
    def soft(self) -> bool:
        """True for a matrix of weights, which sample weights have multiplied: ``weight`` is then None."""
        return self.y.ndim == 2

    def rows(self, block: Any) -> Labels:
        """The labels of some rows, by a slice or a mask."""
        return Labels(self.y[block], None if self.weight is None else self.weight[block])


class ClassSums(Protocol):
    """What a family may ask of the labels; ``seen`` [N, D] is False where a cell is missing, or None."""

    num_classes: int

    def counts(self) -> Array:
        """sum_n z_nk, [K]."""

    def cell_counts(self, seen: Array | None, num_columns: int) -> Array:
        """sum_n z_nk seen_nd, [K, D]."""

    def sum(self, values: Array, seen: Array | None = None, *, binary: bool = False) -> Array:
        """sum_n z_nk values_nd over seen cells, [K, D]; ``binary`` promises zeros and ones."""

    def table(self, codes: Array, size: int, seen: Array | None) -> Array:
        """sum_n z_nk 1[codes_nd = c] over all columns d, [K, size]."""

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        """Count, mean and sum of squared deviations from it, each [K, D], by two passes; NaN is missing."""


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


def class_sums(labels: Labels, num_classes: int, scratch: Scratch | None = None) -> ClassSums:
    """The body that fits the labels: the host's or the device's."""
    if on_host(labels):
        return HostSums(labels, num_classes, scratch or Scratch())
    return DeviceSums(labels, num_classes)


def _masked(values: Array, seen: Array | None) -> Array:
    if seen is None:
        return values
    return np.where(seen, values, 0) if on_host(values) else jnp.where(seen, values, 0)


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
        data = np.ones(len(y), dtype) if weight is None else weight.astype(np.float64)
        pointers = np.arange(len(y) + 1, dtype=np.int32)
        return scipy.sparse.csc_array((data, y.astype(np.int32), pointers), shape=(self.num_classes, len(y)))

    def _fast(self, values: Array) -> Array:
        """The matrix in float32 where the values are too: exact for zeros and ones, a first pass for the rest."""
        unweighted = self.labels.weight is None and not self.labels.soft
        return self._matrix(np.float32) if unweighted and values.dtype == np.float32 else self._exact

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
        values = _masked(values, seen)
        if binary:
            values = values.astype(np.float32, copy=False)
            return np.asarray(self._fast(values) @ values, np.float64)
        return self._exact @ values.astype(np.float64, copy=False)

    def table(self, codes: Array, size: int, seen: Array | None) -> Array:
        y, weight = self.labels
        keep = slice(None) if seen is None else seen.reshape(-1)
        if self.labels.soft:
            flat = codes.reshape(-1)[keep]
            spread = (np.repeat(y[:, k], codes.shape[1])[keep] for k in range(self.num_classes))
            return np.stack([np.bincount(flat, weights=column, minlength=size) for column in spread])
        flat = (y[:, None] * size + codes).reshape(-1)[keep]
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


class DeviceSums:
    """JAX, for all rows at once, concrete or traced."""

    def __init__(self, labels: Labels, num_classes: int) -> None:
        y, weight = labels
        self.soft, self.num_classes = labels.soft, num_classes
        y = jnp.asarray(y)
        # a label outside 0..K-1 belongs to no class; a negative one would wrap around
        self.y = y if self.soft else jnp.where((y >= 0) & (y < num_classes), y, num_classes)
        self.weight = None if weight is None else jnp.asarray(weight, jnp.result_type(float))

    def counts(self) -> Array:
        if self.soft:
            return self.y.sum(axis=0)
        return self._segment_sum(jnp.ones((self.y.shape[0], 1), jnp.int32))[:, 0]

    def cell_counts(self, seen: Array | None, num_columns: int) -> Array:
        if seen is None:
            return jnp.repeat(self.counts()[:, None], num_columns, axis=1)
        return self.sum(seen, binary=True)

    def sum(self, values: Array, seen: Array | None = None, *, binary: bool = False) -> Array:
        values = _masked(values, seen)
        if binary or not jnp.issubdtype(values.dtype, jnp.inexact):
            values = values.astype(jnp.int32)
        return self._segment_sum(values)

    def table(self, codes: Array, size: int, seen: Array | None) -> Array:
        if self.soft:
            # one class at a time: a one-hot of the codes would be [N, D, size]
            weights = [self.y[:, k] for k in range(self.num_classes)]
            return jnp.stack([self._scatter(codes, size, seen, w) for w in weights])
        flat = self.y[:, None] * size + codes
        inside = self.y < self.num_classes
        seen = inside[:, None] if seen is None else seen & inside[:, None]
        counted = self._scatter(flat, self.num_classes * size, seen, self.weight)
        return counted.reshape(self.num_classes, size)

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        x = x.astype(jnp.promote_types(x.dtype, jnp.result_type(float)))
        seen = ~jnp.isnan(x)
        count = self.cell_counts(seen, x.shape[1])
        if self.soft:
            return count, *jax.vmap(lambda w: _weighted_moments(x, seen, w), in_axes=1)(self.y)
        # the smallest value of each class is the origin: a constant column is exact, and no other class can spoil it
        present = seen if self.weight is None else seen & (self.weight > 0)[:, None]
        origin = jax.ops.segment_min(jnp.where(present, x, jnp.inf), self.y, self.num_classes)
        origin = jnp.where(jnp.isfinite(origin), origin, 0.0)
        shifted = jnp.where(present, x - origin[self.y], 0.0)
        mean = self._segment_sum(shifted) / jnp.maximum(count, jnp.finfo(x.dtype).tiny)
        deviations = jnp.where(present, shifted - mean[self.y], 0.0)
        return count, origin + mean, self._segment_sum(jnp.square(deviations))

    def _segment_sum(self, values: Array) -> Array:
        if self.soft:
            return jnp.matmul(self.y.T, values.astype(self.y.dtype), precision="highest")
        if self.weight is not None:
            values = jnp.where(self.weight[:, None] > 0, values * self.weight[:, None], 0.0)
        if jnp.issubdtype(values.dtype, jnp.integer):
            return jax.ops.segment_sum(values, self.y, self.num_classes)
        return _pairwise_segment_sum(values, self.y, self.num_classes)

    @staticmethod
    def _scatter(codes: Array, size: int, seen: Array | None, weight: Array | None) -> Array:
        ones = jnp.ones(codes.shape, jnp.int32) if seen is None else seen.astype(jnp.int32)
        values = ones if weight is None else jnp.where(weight[:, None] > 0, ones * weight[:, None], 0.0)
        return jnp.zeros(size, values.dtype).at[jnp.clip(codes, 0, size - 1)].add(values)


def _weighted_moments(x: Array, seen: Array, weight: Array) -> tuple[Array, Array]:
    """Mean and squared deviations [D] of rows with these weights, from the observed value nearest the mean."""
    w = jnp.where(seen, weight[:, None], 0.0)
    n = jnp.maximum(w.sum(axis=0), jnp.finfo(x.dtype).tiny)
    rough = jnp.where(seen, x * w, 0.0).sum(axis=0) / n
    distance = jnp.where(w > 0, jnp.abs(x - rough[None]), jnp.inf)
    origin = jnp.take_along_axis(x, distance.argmin(axis=0)[None], axis=0)
    origin = jnp.where(jnp.isfinite(distance.min(axis=0)), origin[0], 0.0)
    shifted = jnp.where(w > 0, x - origin[None], 0.0)
    mean = (w * shifted).sum(axis=0) / n
    return origin + mean, (w * jnp.square(jnp.where(w > 0, shifted - mean[None], 0.0))).sum(axis=0)


def _pairwise_segment_sum(values: Array, y: Array, num_classes: int, chunk: int = 128) -> Array:
    """segment_sum in chunks of rows, added two by two: the rounding error grows with log N, not N."""
    rows = values.shape[0]
    if rows <= chunk:
        return jax.ops.segment_sum(values, y, num_classes)
    chunks = -(-rows // chunk)
    values = jnp.pad(values, ((0, chunks * chunk - rows), (0, 0))).reshape(chunks, chunk, -1)
    y = jnp.pad(y, (0, chunks * chunk - rows)).reshape(chunks, chunk)
    sums = jax.vmap(lambda v, k: jax.ops.segment_sum(v, k, num_classes))(values, y)
    while sums.shape[0] > 1:
        sums = jnp.pad(sums, ((0, sums.shape[0] % 2), (0, 0), (0, 0)))
        sums = sums[0::2] + sums[1::2]
    return sums[0]
