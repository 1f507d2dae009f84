"""Squared distances of rows under class covariances, on which multivariate Gaussian and Student densities depend.

Each covariance is factored once, S = L L', and a row's squared distance is |L^-1 (x - m)|^2. A missing cell is
marginalised: the observed sub-vector has the sub-mean and the sub-covariance. A column whose variance is 0 in every
class carries no information and is left out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import _limits as limits
from bayesnb.arrays._cells import observed
from bayesnb.arrays._compute import compute_rows, interpret
from bayesnb.arrays._loops import in_threads, row_blocks
from bayesnb.arrays._placement import Array, on_host
from bayesnb.numerics import _stable as stable
from bayesnb.numerics._covariances import log_determinant, proper, variances, whiten

LOG_2PI = 1.8378770664093453


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
    constant = stable.log_gamma_ratio(0.5 * df, 0.5 * count) - 0.5 * (count * jnp.log(jnp.pi * df) + log_det)
    return constant - 0.5 * (df + count) * jnp.log1p(squares / df)


def _on_device(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with one factor for each class if no cell is missing, else with one for each row and class."""
    x = jnp.asarray(x, jnp.result_type(float))
    given = *(jnp.asarray(a, x.dtype) for a in (loc, covariance)), x
    return jax.lax.cond((~jnp.isnan(x) | ~_varying(covariance)[None]).all(), _whole_rows, _any_rows, *given)


def _varying(covariance: Array) -> Array:
    """False for columns whose variance is 0 in every class, [D]."""
    return jnp.asarray(variances(covariance) > 0).any(axis=0)


def _whole_rows(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with one factor for each class, or one for all, shared by all rows."""
    varying = _varying(covariance)
    factor = jnp.linalg.cholesky(proper(covariance, varying))
    # rows are whitened once for classes that share the factor
    origins = loc if factor.shape[0] > 1 else loc.mean(axis=0, keepdims=True)

    def of_factor(factor: Array, origin: Array) -> Array:
        deviations = jnp.where(varying[None], x - origin[None], 0.0)
        return jax.scipy.linalg.solve_triangular(factor, deviations.T, lower=True)

    centres = whiten(factor, jnp.where(varying[None], loc - origins, 0.0))
    squares = stable.sum_of_squares(jax.vmap(of_factor)(factor, origins) - centres[:, :, None], axis=1).T
    log_det = jnp.broadcast_to(log_determinant(factor)[None], squares.shape)
    return Distances(squares, log_det, jnp.broadcast_to(varying.sum(), x.shape[:1]))


@jax.jit
def _any_rows(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with one factor for each row and class, whatever is missing."""
    seen = ~jnp.isnan(x) & _varying(covariance)[None]

    def row(x: Array, seen: Array) -> Distances:
        factor = jnp.linalg.cholesky(proper(covariance, seen[None]))
        z = whiten(factor, jnp.where(seen[None], x[None] - loc, 0.0))
        log_det = jnp.broadcast_to(log_determinant(factor), loc.shape[:1])
        return Distances(stable.sum_of_squares(z, axis=-1), log_det, seen.sum())

    # blocks need a concrete number of rows; it is a symbol if a function is exported for any number
    block = 64 if isinstance(x.shape[0], int) else None
    return jax.lax.map(lambda pair: row(*pair), (jnp.where(seen, x, 0.0), seen), batch_size=block)


def _on_host(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with a factor for each class and pattern of missing cells, or for each row if few share a pattern."""
    patterns = list(_patterns(x))
    if len(patterns) > max(len(x) // limits.ROWS_A_PATTERN, 1):
        return Distances(*compute_rows(_any_rows, (loc, covariance), x))
    out = Distances(np.empty((len(x), len(loc))), np.empty((len(x), len(loc))), np.empty(len(x)))
    for rows, seen in patterns:
        part, cells = (loc[:, seen], covariance[:, seen][:, :, seen]), x[rows][:, seen]
        blocks = [cells[some] for some in row_blocks(len(cells), 8 * max(part[0].size, 1))] or [cells]
        found = in_threads(partial(interpret, _whole_rows, *part), blocks)
        for table, pieces in zip(out, zip(*found, strict=True), strict=True):
            table[rows] = np.concatenate(pieces)
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
