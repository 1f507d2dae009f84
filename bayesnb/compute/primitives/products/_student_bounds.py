"""Bounds of Student's t whose hyperparameters lie in a box, cell by cell and summed over columns.

numpy's rows go through numpy, in float32 where that is enough: 20 million cells take .21 s, and by XLA .68. Columns are
first and rows last, so that its operations run along rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._loops import row_blocks
from bayesnb.compute.arrays._placement import Array, on_host
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products._linear_scores import score_rows, single_precision


class StudentBox(NamedTuple):
    """Student's t of a Normal whose mean, strength, shape and rate lie in a box; tables [F, K, 1], or [F, K, N] by row.

    Means lie within ``half`` of the ``centre``. The largest density has the shape ``least_shape``, the least density
    ``most_shape``; the rate is between the ``rates``, and of these two the first has less density for squares above
    ``level``. Squares of distances from the nearest and farthest mean are in such ``units``.
    """

    centre: Array
    half: Array
    units: tuple[Array, Array]
    rates: tuple[Array, Array]
    level: Array
    least_shape: Array
    most_shape: Array
    offsets: tuple[Array, Array]
    scaleless: Array

    def terms(self, x: Array) -> tuple[Array, Array]:
        """Those of cells [N, F], as [N, K, F]; 0 for missing ones and columns without a scale. Pure JAX."""
        cells = x.T[:, None]
        nothing = jnp.isnan(cells) | self.scaleless
        low, high = (
            jnp.where(nothing, 0.0, offset - 0.5 * part).T
            for offset, part in zip(self.offsets, self.below(cells), strict=True)
        )
        return low, high

    def scores(self, x: Array, powers: Array) -> Array:
        """Their sums over the columns of rows [N, F] with powers [F] or [1], both beside each other, [N, 2 K]."""
        if not on_host(self, x, powers):
            cells = jnp.asarray(x, jnp.result_type(float))
            return jnp.concatenate([(part * powers[None, None]).sum(axis=2) for part in self.terms(cells)], axis=1)
        tables = cache(lambda dtype: jax.tree.map(lambda part: part.astype(dtype), self))
        powers = powers[:, None, None] * ~self.scaleless
        widths = np.sqrt(2.0 * self.most_shape * self.units[1] / self.rates[0])
        condition = np.where(self.scaleless, 0.0, abs(self.centre) * widths).max(initial=0.0)

        def score(block: Array, dtype: Any) -> LogProb:
            parts = []
            for rows in row_blocks(len(block), 8 * self.centre.size, block_bytes=limits.IN_CACHE):
                cells = np.ascontiguousarray(block[rows].T, dtype)[:, None]
                seen = ~np.isnan(cells)
                own, weights = tables(dtype), powers * seen
                both = zip(own.offsets, own.below(np.where(seen, cells, 0.0)), strict=True)
                if (weights == 1.0).all():
                    sums = [offset.sum(axis=0) - 0.5 * part.sum(axis=0) for offset, part in both]
                else:
                    sums = [(weights * (offset - 0.5 * part)).sum(axis=0) for offset, part in both]
                parts.append(np.concatenate(sums).T)
            return LogProb(np.concatenate(parts), None)

        return score_rows(score, x, 2 * self.centre.shape[1], single=single_precision(condition)).finite

    def below(self, x: Array) -> tuple[Array, Array]:
        """Twice what the least and the largest log density at x [F, 1, N] lie below their ``offsets``, [F, K, N].

        Each hyperparameter is where it is worst, or best.
        """
        away, (near_unit, far_unit), (least, most) = abs(x - self.centre), self.units, self.rates
        near = near_unit * either.square(away - either.minimum(away, self.half))
        far = far_unit * either.square(away + self.half)
        best = either.minimum(either.maximum(2.0 * self.least_shape * near, least), most)
        worst = either.where(far > self.level, least, most)
        low, high = (
            (2.0 * shape + 1.0) * either.log1p(square / rate) + either.log(rate)
            for shape, square, rate in ((self.most_shape, far, worst), (self.least_shape, near, best))
        )
        return low, high
