"""Rows in the metric of class covariances: what every multivariate Gaussian or Student density is made of.

Each covariance is factored once, S = L L', and a row's squared distance is |L^-1 (x - m)|^2. A missing cell is
marginalised: the observed sub-vector has the sub-mean and the sub-covariance. A column whose variance is 0 in every
class says nothing and is left out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from bayesnb import products, special
from bayesnb.arrays import Array, map_blocks, observed, on_host, row_blocks
from bayesnb.covariances import log_determinant, proper, variances, whiten

LOG_2PI = 1.8378770664093453

ROWS_A_PATTERN = 16
"""Where fewer rows than this have the same cells missing, on average, each row gets factors of its own."""

STRIP = 64
"""Rows of the inverse factors, lower triangles, that are multiplied at a time: what lies beyond them is zero."""


PRECISE_ROW, PRECISE = 1e-3, 1e-6
"""Nats a row, and the share of its distance, that float32 may lose before numpy rows are done in float64."""


class Distances(NamedTuple):
    """``squares`` [N, K]: (x - m)' S^-1 (x - m); ``log_det`` [N, K]: log |S|; ``count`` [N]: of observed columns."""

    squares: Array
    log_det: Array
    count: Array


@jax.jit
def log_normal(between: Distances) -> Array:
    """log density of the observed cells under Normal(m, S), [N, K]."""
    squares, log_det, count = between
    return -0.5 * (squares + log_det + LOG_2PI * count[:, None])


@jax.jit
def log_student(df: Array, between: Distances) -> Array:
    """log density of the observed cells under Student's t about m, scale matrix S, [N, K]; df is [1, K] or [N, K]."""
    squares, log_det, count = between
    count = count[:, None]
    constant = special.log_gamma_ratio(0.5 * df, 0.5 * count) - 0.5 * (count * jnp.log(jnp.pi * df) + log_det)
    return constant - 0.5 * (df + count) * jnp.log1p(squares / df)


def distances(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances of rows x [N, D], NaN where missing, from centres [K, D] under covariances [K, D, D] or [1, D, D]."""
    if on_host(loc, covariance, x):
        return _on_host(loc, covariance, x)
    x = jnp.asarray(x, jnp.result_type(float))
    loc, covariance = (jnp.asarray(a, x.dtype) for a in (loc, covariance))
    seen = ~jnp.isnan(x) & _varying(covariance)[None]
    arguments = loc, covariance, jnp.where(seen, x, 0.0), seen
    # whole rows have one factor a class, others one of their own
    same = (seen == _varying(covariance)[None]).all()
    return jax.lax.cond(same, _whole_rows, _any_rows, *arguments)


def _varying(covariance: Array) -> Array:
    """False for columns whose variance is 0 in every class, [D]."""
    return (variances(covariance) > 0).any(axis=0)


def _whole_rows(loc: Array, covariance: Array, x: Array, seen: Array) -> Distances:
    """One factor a class for all rows."""
    factor = jnp.linalg.cholesky(proper(covariance, _varying(covariance)))

    def squares(loc: Array, factor: Array) -> Array:
        deviations = jnp.where(seen, x - loc[None], 0.0)
        z = jax.scipy.linalg.solve_triangular(factor, deviations.T, lower=True)
        return special.sum_of_squares(z, axis=0)

    axes = (0, 0 if factor.shape[0] > 1 else None)
    table = jax.vmap(squares, axes)(loc, factor if factor.shape[0] > 1 else factor[0]).T
    return Distances(table, jnp.broadcast_to(log_determinant(factor)[None], table.shape), seen.sum(axis=1))


def _any_rows(loc: Array, covariance: Array, x: Array, seen: Array) -> Distances:
    """One factor a row and class."""

    def row(x: Array, seen: Array) -> Distances:
        factor = jnp.linalg.cholesky(proper(covariance, seen[None]))
        z = whiten(factor, jnp.where(seen[None], x[None] - loc, 0.0))
        log_det = jnp.broadcast_to(log_determinant(factor), loc.shape[:1])
        return Distances(special.sum_of_squares(z, axis=-1), log_det, seen.sum())

    return jax.lax.map(lambda pair: row(*pair), (x, seen), batch_size=64)


@jax.jit
def _row_by_row(loc: Array, covariance: Array, x: Array) -> Distances:
    seen = ~jnp.isnan(x) & _varying(covariance)[None]
    return _any_rows(loc, covariance, jnp.where(seen, x, 0.0), seen)


def _on_host(loc: Array, covariance: Array, x: Array) -> Distances:
    """Rows with the same cells missing go together, in blocks; BLAS does the work."""
    varying = _varying(covariance)
    patterns = list(_patterns(x))
    if len(patterns) > max(len(x) // ROWS_A_PATTERN, 1):
        return Distances(*products.by_rows(_row_by_row, (loc, covariance), x))
    shape = len(x), len(loc)
    out = Distances(np.empty(shape), np.empty(shape), np.empty(len(x)))
    for rows, seen in patterns:
        seen = seen & varying
        cells = x[rows] if seen.all() else x[rows][:, seen]
        factor, inverse = _factors(covariance if seen.all() else covariance[:, seen][:, :, seen])
        out.squares[rows] = _squares(loc[:, seen], inverse, cells)
        out.log_det[rows] = log_determinant(factor)
        out.count[rows] = seen.sum()
    far = ~np.isfinite(out.squares).all(axis=1)
    if far.any():
        out.squares[far] = products.by_rows(_row_by_row, (loc, covariance), x[far]).squares
    return out


def _patterns(x: Array) -> Iterator[tuple[Any, Array]]:
    """The rows that have the same cells, and those cells [D]."""
    seen = observed(x)
    if seen is None:
        yield slice(None), np.ones(x.shape[1], bool)
        return
    patterns, group, counts = np.unique(seen, axis=0, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    yield from zip(np.split(np.argsort(group.reshape(-1), kind="stable"), ends[:-1]), patterns, strict=True)


class Strip(NamedTuple):
    """Some whitened components of all classes: rows [N, :stop] @ matrix [stop, C w], less the centres' [K, w]."""

    stop: int
    matrix: Array
    centres: Array


def _factors(covariance: Array) -> tuple[Array, Array]:
    """The lower factors L and their inverses, class by class in threads."""
    factor, inverse = np.empty_like(covariance, np.float64), np.empty_like(covariance, np.float64)

    def of_class(k: slice) -> None:
        factor[k] = np.linalg.cholesky(covariance[k])
        inverse[k] = scipy.linalg.lapack.dtrtri(factor[k][0], lower=1)[0]

    if covariance.shape[1]:
        map_blocks(of_class, [slice(k, k + 1) for k in range(len(covariance))])
    return factor, inverse


def _squares(loc: Array, inverse: Array, x: Array) -> Array:
    """Squared distances [N, K] of rows without a missing cell, from the inverse factors."""
    if not loc.shape[1]:
        return np.zeros((len(x), len(loc)))
    origin = loc.mean(axis=0)
    precise = single = _strips(loc - origin, inverse)
    if x.dtype == np.float32:
        single = [Strip(s.stop, s.matrix.astype(np.float32), s.centres.astype(np.float32)) for s in precise]
    out = np.empty((len(x), len(loc)))

    def block(rows: slice) -> None:
        if x.dtype == np.float32:
            out[rows] = near = _of_block(single, x[rows] - origin.astype(np.float32))
            # the nearest row of each class and the farthest of all, once more in float64, tell what rounding does
            probes = np.append(near.argmin(axis=0), near.max(axis=1).argmax())
            exact = _of_block(precise, x[rows][probes] - origin)
            if (np.abs(near[probes] - exact) <= PRECISE_ROW + PRECISE * exact).all():
                return
        out[rows] = _of_block(precise, x[rows] - origin)

    map_blocks(block, row_blocks(len(x), x.itemsize * max(x.shape[1], 1)))
    return out


def _strips(loc: Array, inverse: Array) -> list[Strip]:
    """The inverse factors L^-1, lower triangles, cut into strips of rows that are zero beyond ``stop``."""
    strips = []
    for start in range(0, loc.shape[1], STRIP):
        stop = min(start + STRIP, loc.shape[1])
        part = inverse[:, start:stop, :stop]
        strips.append(Strip(stop, part.reshape(-1, stop).T, (part @ loc[:, :stop, None])[:, :, 0]))
    return strips


def _of_block(strips: list[Strip], x: Array) -> Array:
    total = np.zeros((len(x), len(strips[0].centres)), x.dtype)
    for stop, matrix, centres in strips:
        z = (x[:, :stop] @ matrix).reshape(len(x), -1, centres.shape[1])
        z = z - centres
        total += np.einsum("nkw,nkw->nk", z, z)
    return total
