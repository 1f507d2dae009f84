"""Squared distances of rows under class covariances, on which multivariate Gaussian and Student densities depend.

Each covariance is factored once, S = L L', and a row's squared distance is |L^-1 (x - m)|^2. A missing cell is
marginalised: the observed sub-vector has the sub-mean and the sub-covariance. A column whose variance is 0 in every
class carries no information and is left out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import solve_triangular

from bayesnb.arrays.cells import observed
from bayesnb.arrays.compute import compute_rows
from bayesnb.arrays.loops import in_threads, row_blocks
from bayesnb.arrays.placement import Array, on_host
from bayesnb.numerics import log_gamma, stable
from bayesnb.numerics.covariances import log_determinant, proper, variances, whiten

LOG_2PI = 1.8378770664093453

ROWS_A_PATTERN = 16
"""If fewer rows than this share a pattern of missing cells, on average, each row gets its own factors."""


class Distances(NamedTuple):
    """``squares`` [N, K]: (x - m)' S^-1 (x - m); ``log_det`` [N, K]: log |S|; ``count`` [N]: observed columns."""

    squares: Array
    log_det: Array
    count: Array


def distances(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances of rows x [N, D], NaN where missing, from centres [K, D] under covariances [K, D, D] or [1, D, D]."""
    return (_on_host if on_host(loc, covariance, x) else _on_device)(loc, covariance, x)


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
    constant = log_gamma.log_gamma_ratio(0.5 * df, 0.5 * count) - 0.5 * (count * jnp.log(jnp.pi * df) + log_det)
    return constant - 0.5 * (df + count) * jnp.log1p(squares / df)


def _on_device(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with one factor for each class if no cell is missing, else with one for each row and class."""
    x = jnp.asarray(x, jnp.result_type(float))
    loc, covariance = (jnp.asarray(a, x.dtype) for a in (loc, covariance))
    varying = _varying(covariance)[None]
    seen = ~jnp.isnan(x) & varying
    arguments = loc, covariance, jnp.where(seen, x, 0.0), seen
    return jax.lax.cond((seen == varying).all(), _whole_rows, _any_rows, *arguments)


@jax.jit
def _row_by_row(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with one factor for each row and class, whatever is missing."""
    seen = ~jnp.isnan(x) & _varying(covariance)[None]
    return _any_rows(loc, covariance, jnp.where(seen, x, 0.0), seen)


def _varying(covariance: Array) -> Array:
    """False for columns whose variance is 0 in every class, [D]."""
    return (variances(covariance) > 0).any(axis=0)


def _whole_rows(loc: Array, covariance: Array, x: Array, seen: Array) -> Distances:
    """Distances with one factor for each class, shared by all rows."""
    factor = jnp.linalg.cholesky(proper(covariance, _varying(covariance)))

    def squares(loc: Array, factor: Array) -> Array:
        deviations = jnp.where(seen, x - loc[None], 0.0)
        z = jax.scipy.linalg.solve_triangular(factor, deviations.T, lower=True)
        return stable.sum_of_squares(z, axis=0)

    axes = (0, 0 if factor.shape[0] > 1 else None)
    table = jax.vmap(squares, axes)(loc, factor if factor.shape[0] > 1 else factor[0]).T
    return Distances(table, jnp.broadcast_to(log_determinant(factor)[None], table.shape), seen.sum(axis=1))


def _any_rows(loc: Array, covariance: Array, x: Array, seen: Array) -> Distances:
    """Distances with one factor for each row and class."""

    def row(x: Array, seen: Array) -> Distances:
        factor = jnp.linalg.cholesky(proper(covariance, seen[None]))
        z = whiten(factor, jnp.where(seen[None], x[None] - loc, 0.0))
        log_det = jnp.broadcast_to(log_determinant(factor), loc.shape[:1])
        return Distances(stable.sum_of_squares(z, axis=-1), log_det, seen.sum())

    # blocks need a concrete number of rows; it is a symbol if a function is exported for any number
    block = 64 if isinstance(x.shape[0], int) else None
    return jax.lax.map(lambda pair: row(*pair), (x, seen), batch_size=block)


def _on_host(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with a factor for each class and pattern of missing cells, or for each row if few share a pattern.

    No goal of speed needs this body, but JAX's form compiles for every pattern. Without a missing cell 20,000 rows of
    100 columns and 10 classes take 1.5 s there and .44 here.
    """
    varying = (variances(covariance) > 0).any(axis=0)
    patterns = list(_patterns(x))
    if len(patterns) > max(len(x) // ROWS_A_PATTERN, 1):
        return Distances(*compute_rows(_row_by_row, (loc, covariance), x))
    shape = len(x), len(loc)
    out = Distances(np.empty(shape), np.empty(shape), np.empty(len(x)))
    for rows, seen in patterns:
        seen = seen & varying
        factors = np.linalg.cholesky(covariance[:, seen][:, :, seen])
        out.squares[rows] = _squares(loc[:, seen], factors, x[rows][:, seen])
        out.log_det[rows] = log_determinant(factors)
        out.count[rows] = seen.sum()
    far = ~np.isfinite(out.squares).all(axis=1)
    if far.any():
        out.squares[far] = compute_rows(_row_by_row, (loc, covariance), x[far]).squares
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


def _squares(loc: Array, factors: Array, x: Array) -> Array:
    """|L^-1 (x - m)|^2 of rows without a missing cell, [N, K]; rows are whitened once for classes that share L."""
    shared = len(factors) == 1
    origins = loc.mean(axis=0, keepdims=True) if shared else loc

    def of_block(rows: slice) -> Array:
        parts = []
        with np.errstate(over="ignore", invalid="ignore"):
            for origin, factor in zip(origins, factors, strict=True):
                centres = _whiten(factor, loc - origin) if shared else np.zeros((len(origin), 1))
                z = _whiten(factor, x[rows] - origin)
                parts += [np.square(z - centre[:, None]).sum(axis=0) for centre in centres.T]
        return np.stack(parts, axis=1)

    parts = in_threads(of_block, row_blocks(len(x), 8 * max(x.shape[1], 1)))
    return np.concatenate(parts) if parts else np.zeros((0, len(loc)))


def _whiten(factor: Array, x: Array) -> Array:
    """L^-1 x of rows [N, D], [D, N]."""
    return solve_triangular(factor, x.T, lower=True, check_finite=False)
