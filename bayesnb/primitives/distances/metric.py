"""One covariance prepared for measuring many rows: its inverse factor in strips, and the whitened class centres."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from bayesnb.arrays.placement import Array

STRIP = 64
"""Rows of the inverse factor, a lower triangle, that are multiplied at a time; zeros beyond them are skipped."""


class Metric(NamedTuple):
    """Rows minus ``origin`` [D] are whitened, and measured from the whitened ``centres`` [C, D].

    ``strips`` are rows of the inverse factor of the ``joint`` columns, transposed, [stop, STRIP]. The columns ``alone``
    covary with no other column, such as pixels that no digit of a class touches: they are divided by ``scale``, which
    is far cheaper.
    """

    origin: Array
    joint: Array
    strips: tuple[Array, ...]
    alone: Array
    scale: Array
    centres: Array

    def single(self) -> Metric:
        """The same in float32."""
        strips = tuple(strip.astype(np.float32) for strip in self.strips)
        return self._replace(
            strips=strips, scale=self.scale.astype(np.float32), centres=self.centres.astype(np.float32)
        )

    def whiten(self, x: Array) -> Array:
        """L^-1 (x - origin), [N, D], the joint columns first."""
        x = x - self.origin
        z = np.empty_like(x)
        joint = x[:, self.joint] if self.alone.size else x
        for number, strip in enumerate(self.strips):
            start, (stop, _) = number * STRIP, strip.shape
            np.matmul(joint[:, :stop], strip, out=z[:, start:stop])
        np.divide(x[:, self.alone], self.scale, out=z[:, self.joint.size :])
        return z

    def squares(self, x: Array) -> Array:
        """Squared distances of rows from each centre, [N, C]."""
        z = self.whiten(x)
        away = (z - centre if centre.any() else z for centre in self.centres)
        return np.stack([np.einsum("nd,nd->n", a, a) for a in away], axis=1)


def metric_of(covariance: Array, factor: Array, loc: Array, dtype: Any) -> Metric:
    """The metric of one covariance [D, D] with its lower factor, and of the classes that share it, loc [C, D].

    The origin has the precision ``dtype`` of the rows, so that differences from it are exact to rounding.
    """
    single = np.count_nonzero(covariance, axis=1) == 1
    joint, alone = np.flatnonzero(~single), np.flatnonzero(single)
    inverse = scipy.linalg.lapack.dtrtri(factor[np.ix_(joint, joint)], lower=1)[0] if joint.size else factor[:0, :0]
    ends = range(STRIP, joint.size + STRIP, STRIP)
    strips = tuple(np.ascontiguousarray(inverse[end - STRIP : end, :end].T) for end in ends)
    origin = loc.mean(axis=0).astype(dtype if np.issubdtype(dtype, np.floating) else np.float64)
    metric = Metric(origin, joint, strips, alone, factor.diagonal()[alone], np.zeros((1, 1)))
    return metric._replace(centres=metric.whiten(loc))
