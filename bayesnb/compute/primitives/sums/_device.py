"""Class sums on a device: JAX, for all rows at once, concrete or traced."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from bayesnb.compute.arrays._cells import observed
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives._codes import Codes
from bayesnb.compute.primitives.sums._host import Labels


class DeviceSums:
    """Class sums by JAX, for all rows at once. ``seen`` [N, D] is False where a cell is missing, or None."""

    def __init__(self, labels: Labels, num_classes: int) -> None:
        y, weight = labels
        self.soft, self.num_classes = labels.soft, num_classes
        y = jnp.asarray(y)
        # a label outside 0..K-1 belongs to no class; a negative one would wrap around
        self.y = y if self.soft else jnp.where((y >= 0) & (y < num_classes), y, num_classes)
        self.weight = None if weight is None else jnp.asarray(weight, jnp.result_type(float))

    def counts(self) -> Array:
        """sum_n z_nk, [K]."""
        if self.soft:
            return self.y.sum(axis=0)
        return self._segment_sum(jnp.ones((self.y.shape[0], 1), jnp.int32))[:, 0]

    def cell_counts(self, seen: Array | None, num_columns: int) -> Array:
        """sum_n z_nk seen_nd, [K, D]."""
        if seen is None:
            return jnp.repeat(self.counts()[:, None], num_columns, axis=1)
        return self._segment_sum(seen.astype(jnp.int32))

    def sum(self, values: Array, seen: Array | None = None) -> Array:
        """sum_n z_nk values_nd over seen cells, [K, D]."""
        values = values if seen is None else jnp.where(seen, values, 0)
        # integer sums could exceed the largest int32, so floats are added pairwise
        return self._segment_sum(values.astype(jnp.promote_types(values.dtype, jnp.result_type(float))))

    cells = sum

    def base(self, measure: Callable[[], Array], seen: Array | None = None) -> Array:
        """The sum of a base measure [N, F], which only the evidence needs; NaN [K, 1] if it is not needed."""
        return self.sum(measure(), seen)

    def trials(self, x: Array) -> tuple[Array, Array]:
        """sum_n z_nk x_nd of zeros and ones, and sum_n z_nk of cells that are not NaN, [K, D]."""
        seen = observed(x)
        ones = x if seen is None else jnp.where(seen, x, 0)
        # integers are exact for unweighted rows
        return self._segment_sum(ones.astype(jnp.int32)), self.cell_counts(seen, x.shape[1])

    def table(self, codes: Codes, size: int) -> Array:
        """sum_n z_nk 1[place of x_nd = c] over all columns d, [K, size]."""
        places, seen = codes.places()
        if self.soft:
            # one class at a time: a one-hot of the codes would be [N, D, size]
            return jax.lax.map(lambda weight: self._scatter(places, size, seen, weight), self.y.T)
        flat = self.y[:, None] * size + places
        inside = self.y < self.num_classes
        seen = inside[:, None] if seen is None else seen & inside[:, None]
        counted = self._scatter(flat, self.num_classes * size, seen, self.weight)
        return counted.reshape(self.num_classes, size)

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        """Count, mean and sum of squared deviations from it, each [K, D]; NaN is missing."""
        x = x.astype(jnp.promote_types(x.dtype, jnp.result_type(float)))
        seen = ~jnp.isnan(x)
        count = self.cell_counts(seen, x.shape[1])
        if self.soft:
            # one class at a time, or the working set would be K times that of x

            def of_class(weight: Array) -> tuple[Array, Array]:
                w = jnp.where(seen, weight[:, None], 0.0)
                mean, deviations = _weighted_deviations(x, w)
                return mean, (w * jnp.square(deviations)).sum(axis=0)

            return count, *jax.lax.map(of_class, self.y.T)
        # the smallest value of each class is the origin: a constant column is exact, and no other class can spoil it
        present = seen if self.weight is None else seen & (self.weight > 0)[:, None]
        origin = jax.ops.segment_min(jnp.where(present, x, jnp.inf), self.y, self.num_classes)
        origin = jnp.where(jnp.isfinite(origin), origin, 0.0)
        shifted = jnp.where(present, x - origin[self.y], 0.0)
        mean = self._segment_sum(shifted) / jnp.maximum(count, jnp.finfo(x.dtype).tiny)
        deviations = jnp.where(present, shifted - mean[self.y], 0.0)
        return count, origin + mean, self._segment_sum(jnp.square(deviations))

    def scatter(self, x: Array) -> tuple[Array, Array, Array]:
        """Mean [K, D], count [K] and scatter matrix [K, D, D] about the mean, of the rows without a missing cell."""
        x = x.astype(jnp.promote_types(x.dtype, jnp.result_type(float)))
        whole = ~jnp.isnan(x).any(axis=1)
        count = self._segment_sum(whole[:, None].astype(jnp.int32))[:, 0]
        weights = self.y if self.soft else jax.nn.one_hot(self.y, self.num_classes, dtype=x.dtype)
        if not self.soft and self.weight is not None:
            weights = weights * self.weight[:, None]

        def of_class(weight: Array) -> tuple[Array, Array]:
            w = jnp.broadcast_to(jnp.where(whole, weight, 0.0)[:, None], x.shape)
            mean, deviations = _weighted_deviations(x, w)
            return mean, jnp.matmul((w * deviations).T, deviations, precision="highest")

        mean, scatter = jax.lax.map(of_class, weights.T)  # one class at a time: the working set is that of x
        return mean, count, scatter

    def _segment_sum(self, values: Array) -> Array:
        if self.soft:
            return jnp.matmul(self.y.T, values.astype(self.y.dtype), precision="highest")
        if self.weight is not None:
            values = jnp.where(self.weight[:, None] > 0, values * self.weight[:, None], 0.0)
        if jnp.issubdtype(values.dtype, jnp.integer):
            return jax.ops.segment_sum(values, self.y, self.num_classes)
        return _pairwise_segment_sum(values, self.y, self.num_classes)

    @staticmethod
    def _scatter(places: Array, size: int, seen: Array | None, weight: Array | None) -> Array:
        ones = jnp.ones(places.shape, jnp.int32) if seen is None else seen.astype(jnp.int32)
        values = ones if weight is None else jnp.where(weight[:, None] > 0, ones * weight[:, None], 0.0)
        return jnp.zeros(size, values.dtype).at[jnp.clip(places, 0, size - 1)].add(values)


def _weighted_deviations(x: Array, w: Array) -> tuple[Array, Array]:
    """Mean [D] and the deviations from it (0 where w is 0), computed about the observed value nearest the mean."""
    if not x.shape[0]:
        return jnp.zeros(x.shape[1], x.dtype), x  # without rows there is no nearest value
    n = jnp.maximum(w.sum(axis=0), jnp.finfo(x.dtype).tiny)
    rough = jnp.where(w > 0, x * w, 0.0).sum(axis=0) / n
    distance = jnp.where(w > 0, jnp.abs(x - rough[None]), jnp.inf)
    origin = jnp.take_along_axis(x, distance.argmin(axis=0)[None], axis=0)
    origin = jnp.where(jnp.isfinite(distance.min(axis=0)), origin[0], 0.0)
    shifted = jnp.where(w > 0, x - origin[None], 0.0)
    mean = (w * shifted).sum(axis=0) / n
    return origin + mean, jnp.where(w > 0, shifted - mean[None], 0.0)


def _pairwise_segment_sum(values: Array, y: Array, num_classes: int, chunk: int = 128) -> Array:
    """segment_sum in chunks of rows, whose sums are added in pairs: the rounding error grows with log N, not N."""
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
