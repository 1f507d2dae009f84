"""Distances on the host: rows with the same missing cells are grouped, and computed by BLAS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from bayesnb.arrays.cells import observed
from bayesnb.arrays.compute import compute_rows
from bayesnb.arrays.placement import Array
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.numerics.covariances import log_determinant, variances
from bayesnb.primitives.distances.device import Distances, row_by_row

ROWS_A_PATTERN = 16
"""If fewer rows than this share a pattern of missing cells, on average, each row gets its own factors."""

LOSS, RELATIVE_LOSS = 1e-3, 1e-6
"""Nats a row, and the share of its distance, that float32 may lose before rows are recomputed in float64."""

STRIP = 64
"""Rows of the inverse factor, a lower triangle, that are multiplied at a time; zeros beyond them are skipped."""


def distances(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with a factor for each class and pattern of missing cells, or for each row if few share a pattern."""
    varying = (variances(covariance) > 0).any(axis=0)
    patterns = list(_patterns(x))
    if len(patterns) > max(len(x) // ROWS_A_PATTERN, 1):
        return Distances(*compute_rows(row_by_row, (loc, covariance), x))
    shape = len(x), len(loc)
    out = Distances(np.empty(shape), np.empty(shape), np.empty(len(x)))
    for rows, seen in patterns:
        seen = seen & varying
        cells = x[rows] if seen.all() else x[rows][:, seen]
        part = covariance if seen.all() else covariance[:, seen][:, :, seen]
        centres = loc[:, None, seen] if len(part) > 1 else loc[None, :, seen]
        metrics = in_threads(lambda pair: Mahalanobis.of(*pair, x.dtype), zip(part, centres, strict=True))
        out.squares[rows] = _squares(metrics, cells)
        out.log_det[rows] = [metric.log_det for metric in metrics]
        out.count[rows] = seen.sum()
    far = ~np.isfinite(out.squares).all(axis=1)
    if far.any():
        out.squares[far] = compute_rows(row_by_row, (loc, covariance), x[far]).squares
    return out


def _patterns(x: Array) -> Iterator[tuple[Any, Array]]:
    """The rows that share a pattern of observed cells, and that pattern [D]."""
    seen = observed(x)
    if seen is None:
        yield slice(None), np.ones(x.shape[1], bool)
        return
    patterns, group, counts = np.unique(seen, axis=0, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    yield from zip(np.split(np.argsort(group.reshape(-1), kind="stable"), ends[:-1]), patterns, strict=True)


class Mahalanobis(NamedTuple):
    """One covariance S = L L': rows are whitened, L^-1 (x - origin), and measured from the whitened ``centres`` [C, D].

    ``strips`` are rows of the inverse factor of the ``joint`` columns, transposed, [stop, STRIP]; their products take
    0.8 of the time of the whole inverse's. The columns ``alone`` covary with no other column, such as pixels that no
    digit of a class touches: they are divided by ``scale``, which halves the time for such images.
    """

    origin: Array
    joint: Array
    strips: tuple[Array, ...]
    alone: Array
    scale: Array
    log_det: float
    centres: Array

    @classmethod
    def of(cls, covariance: Array, loc: Array, dtype: Any) -> Mahalanobis:
        """The metric of a covariance [D, D], and of the classes that share it, loc [C, D].

        The origin has the precision ``dtype`` of the rows, so that differences from it are exact to rounding.
        """
        factor = np.linalg.cholesky(covariance)
        is_alone = np.count_nonzero(covariance, axis=1) == 1
        joint, alone = np.flatnonzero(~is_alone), np.flatnonzero(is_alone)
        inverse = scipy.linalg.lapack.dtrtri(factor[np.ix_(joint, joint)], lower=1)[0] if joint.size else factor[:0, :0]
        ends = range(STRIP, joint.size + STRIP, STRIP)
        strips = tuple(np.ascontiguousarray(inverse[end - STRIP : end, :end].T) for end in ends)
        origin = loc.mean(axis=0).astype(dtype if np.issubdtype(dtype, np.floating) else np.float64)
        scale, log_det = factor.diagonal()[alone], log_determinant(factor)
        metric = cls(origin, joint, strips, alone, scale, log_det, np.zeros((1, 1)))
        return metric._replace(centres=metric.whiten(loc))

    def single(self) -> Mahalanobis:
        """The same in float32."""
        strips = tuple(strip.astype(np.float32) for strip in self.strips)
        scale, centres = self.scale.astype(np.float32), self.centres.astype(np.float32)
        return self._replace(strips=strips, scale=scale, centres=centres)

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


def _squares(precise: list[Mahalanobis], x: Array) -> Array:
    """Squared distances [N, K] of rows without a missing cell, in the rows' precision if that is enough."""
    single = [metric.single() for metric in precise] if x.dtype == np.float32 else None

    def of_block(rows: slice) -> Array:
        block = x[rows]
        if single is not None:
            near = _from_all(single, block)
            # recompute the nearest row of each class and the farthest of all in float64, to measure the rounding
            probes = np.append(near.argmin(axis=0), near.max(axis=1).argmax())
            exact = _from_all(precise, block[probes])
            if (np.abs(near[probes] - exact) <= LOSS + RELATIVE_LOSS * exact).all():
                return near
        return _from_all(precise, block)

    parts = in_threads(of_block, row_blocks(len(x), x.itemsize * max(x.shape[1], 1)))
    return np.concatenate(parts) if parts else _from_all(precise, x)


def _from_all(metrics: list[Mahalanobis], x: Array) -> Array:
    return np.concatenate([metric.squares(x) for metric in metrics], axis=1)
