"""Distances on the host: rows with the same missing cells are grouped, and computed by BLAS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesnb.arrays.cells import observed
from bayesnb.arrays.placement import Array
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.numerics.covariances import log_determinant, variances
from bayesnb.primitives import products
from bayesnb.primitives.distances.densities import Distances
from bayesnb.primitives.distances.device import row_by_row
from bayesnb.primitives.distances.metric import Metric, metric_of

ROWS_A_PATTERN = 16
"""If fewer rows than this share a pattern of missing cells, on average, each row gets its own factors."""

PRECISE_ROW, PRECISE = 1e-3, 1e-6
"""Nats a row, and the share of its distance, that float32 may lose before rows are recomputed in float64."""


def distances(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with a factor for each class and pattern of missing cells, or for each row if few share a pattern."""
    varying = (variances(covariance) > 0).any(axis=0)
    patterns = list(_patterns(x))
    if len(patterns) > max(len(x) // ROWS_A_PATTERN, 1):
        return Distances(*products.by_rows(row_by_row, (loc, covariance), x))
    shape = len(x), len(loc)
    out = Distances(np.empty(shape), np.empty(shape), np.empty(len(x)))
    for rows, seen in patterns:
        seen = seen & varying
        cells = x[rows] if seen.all() else x[rows][:, seen]
        part = covariance if seen.all() else covariance[:, seen][:, :, seen]
        factor = _factors(part)
        out.squares[rows] = _squares(loc[:, seen], part, factor, cells)
        out.log_det[rows] = log_determinant(factor)
        out.count[rows] = seen.sum()
    far = ~np.isfinite(out.squares).all(axis=1)
    if far.any():
        out.squares[far] = products.by_rows(row_by_row, (loc, covariance), x[far]).squares
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


def _factors(covariance: Array) -> Array:
    """The lower factors L, class by class in threads."""
    factor = np.empty_like(covariance, np.float64)

    def of_class(k: slice) -> None:
        factor[k] = np.linalg.cholesky(covariance[k])

    in_threads(of_class, [slice(k, k + 1) for k in range(len(covariance))])
    return factor


def _squares(loc: Array, covariance: Array, factor: Array, x: Array) -> Array:
    """Squared distances [N, K] of rows without a missing cell."""
    centres = loc[:, None] if len(covariance) > 1 else loc[None]
    precise: list[Any] = [None] * len(covariance)

    def of_class(k: slice) -> None:
        precise[k.start] = metric_of(covariance[k.start], factor[k.start], centres[k.start], x.dtype)

    in_threads(of_class, [slice(k, k + 1) for k in range(len(covariance))])
    single = [metric.single() for metric in precise] if x.dtype == np.float32 else None
    out = np.empty((len(x), len(loc)))

    def block(rows: slice) -> None:
        if single is not None:
            out[rows] = near = _of_block(single, x[rows])
            # recompute the nearest row of each class and the farthest of all in float64, to measure the rounding
            probes = np.append(near.argmin(axis=0), near.max(axis=1).argmax())
            exact = _of_block(precise, x[rows][probes])
            if (np.abs(near[probes] - exact) <= PRECISE_ROW + PRECISE * exact).all():
                return
        out[rows] = _of_block(precise, x[rows])

    in_threads(block, row_blocks(len(x), x.itemsize * max(x.shape[1], 1)))
    return out


def _of_block(metrics: list[Metric], x: Array) -> Array:
    return np.concatenate([metric.squares(x) for metric in metrics], axis=1)
