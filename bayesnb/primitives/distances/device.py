"""Distances on a device, and the log densities that are functions of distances: JAX, concrete or traced."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.numerics import log_gamma, stable
from bayesnb.numerics.covariances import log_determinant, proper, variances, whiten

LOG_2PI = 1.8378770664093453


class Distances(NamedTuple):
    """``squares`` [N, K]: (x - m)' S^-1 (x - m); ``log_det`` [N, K]: log |S|; ``count`` [N]: observed columns."""

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
    constant = log_gamma.log_gamma_ratio(0.5 * df, 0.5 * count) - 0.5 * (count * jnp.log(jnp.pi * df) + log_det)
    return constant - 0.5 * (df + count) * jnp.log1p(squares / df)


def distances(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances with one factor for each class if no cell is missing, else with one for each row and class."""
    x = jnp.asarray(x, jnp.result_type(float))
    loc, covariance = (jnp.asarray(a, x.dtype) for a in (loc, covariance))
    varying = _varying(covariance)[None]
    seen = ~jnp.isnan(x) & varying
    arguments = loc, covariance, jnp.where(seen, x, 0.0), seen
    return jax.lax.cond((seen == varying).all(), _whole_rows, _any_rows, *arguments)


@jax.jit
def row_by_row(loc: Array, covariance: Array, x: Array) -> Distances:
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
