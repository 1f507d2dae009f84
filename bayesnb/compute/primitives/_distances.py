"""Squared distances of rows under class covariances, on which multivariate Gaussian and Student densities depend.

Each covariance is factored once, S = L L', and a row's squared distance is |L^-1 (x - m)|^2; L^-1 is kept, as many rows
are multiplied by it. A missing cell is marginalised: the observed sub-vector has the sub-mean and the sub-covariance. A
column whose variance is 0 in every class carries no information and is left out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import observed
from bayesnb.compute.arrays._compute import compute_rows, interpret
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, on_host, varying_as
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._covariances import inside, log_determinant, proper, variances, whiten
from bayesnb.compute.numerics._one_by_one import factors

LOG_2PI = 1.8378770664093453


class Distances(NamedTuple):
    """``lengths`` [N, K]: roots of (x - m)' S^-1 (x - m); ``log_det`` [N, K]: log |S|; ``count`` [N]: seen columns."""

    lengths: Array
    log_det: Array
    count: Array

    @property
    def squares(self) -> Array:
        """Of far rows they grow only logarithmically."""
        return jnp.square(stable.squarable(self.lengths))


class Whitening(NamedTuple):
    """Centres ``loc`` [K, D] and their ``covariance`` [K, D, D] or [1, D, D], S = L L', ready for whole rows.

    ``inverse`` is L^-1, with 0 for columns that carry no information; ``origins`` [K, D] or [1, D] are subtracted from
    rows, and ``centres`` [K, D] are L^-1 (m - origin); ``log_det`` is log |S|, [K] or [1].
    """

    loc: Array
    covariance: Array
    inverse: Array
    origins: Array
    centres: Array
    log_det: Array

    def of(self, seen: Array) -> Whitening:
        """Of columns [D] alone, if no other varies."""
        both = np.ix_(range(len(self.covariance)), seen, seen)
        loc, origins, centres = (part[:, seen] for part in (self.loc, self.origins, self.centres))
        return Whitening(loc, self.covariance[both], self.inverse[both], origins, centres, self.log_det)


@jax.jit
def whitening(loc: Array, covariance: Array) -> Whitening:
    """The whitening of rows about centres [K, D] under covariances [K, D, D], or one for all, [1, D, D]."""
    varying = _varying(covariance)
    factor, inverse = factors(proper(covariance, varying))
    inverse = jnp.where(varying[None, None], inverse, 0.0)
    # rows are whitened once for classes that share the factor
    origins = loc if factor.shape[0] > 1 else loc.mean(axis=0, keepdims=True)
    return Whitening(loc, covariance, inverse, origins, whiten(inverse, loc - origins), log_determinant(factor))


def distances(given: Whitening, x: Array) -> Distances:
    """Distances of rows x [N, D], NaN where missing, from the centres under their covariances."""
    return (_on_host if on_host(given, x) else _on_device)(given, x)


@jax.jit
def log_normal(between: Distances) -> Array:
    """log density of the observed cells under Normal(m, S), [N, K]."""
    return -0.5 * (between.squares + between.log_det + LOG_2PI * between.count[:, None])


@jax.jit
def log_student(df: Array, between: Distances) -> Array:
    """log density of the observed cells under Student's t about m, scale matrix S, [N, K]; df is [1, K] or [N, K]."""
    count = between.count[:, None]
    return _constants(df, count) - _exponents(df, count, between)


def log_student_of_rows(df: Array, about: Whitening, x: Array) -> Array:
    """``log_student`` of rows x [N, D]; of numpy's the constants are those of the numbers of columns from 0 to D."""
    between = distances(about, x)
    if not on_host(df, about, x):
        return log_student(df, between)
    df, count = np.broadcast_to(df, (1, len(about.loc))), between.count[:, None]
    constants = interpret(_constants, df, np.arange(x.shape[1] + 1.0)[:, None])
    with np.errstate(all="ignore"):
        return constants[between.count.astype(int)] - _exponents(df, count, between)


def _constants(df: Array, count: Array) -> Array:
    return stable.log_gamma_ratio(0.5 * df, 0.5 * count) - 0.5 * count * jnp.log(jnp.pi * df)


def _exponents(df: Array, count: Array, between: Distances) -> Array:
    return 0.5 * (between.log_det + (df + count) * stable.log1p_square(between.lengths / either.sqrt(df)))


def _on_device(given: Whitening, x: Array) -> Distances:
    """Distances with one factor for each class if no cell is missing, else with one for each row and class."""
    x, units = jnp.asarray(x, jnp.result_type(float)), np.ones(x.shape[1])
    if on_host(given):  # units in which single precision has all squares
        loc, covariance, inverse, origins, centres, log_det = given
        units = np.sqrt(variances(covariance).max(axis=0))
        units = np.where(units > 0, units, 1.0)
        loc, covariance, origins = loc / units, covariance / units[:, None] / units, origins / units
        given = Whitening(loc, covariance, inverse * units, origins, centres, log_det - 2.0 * np.log(units).sum())
    given = varying_as(Whitening(*(jnp.asarray(a, x.dtype) for a in given)), x)
    seen, varying = ~jnp.isnan(x), _varying(given.covariance)[None]
    logs = jnp.where(seen & varying, jnp.asarray(2.0 * np.log(units), x.dtype)[None], 0.0).sum(axis=1, keepdims=True)
    whole, x = (seen | ~varying).all(), x / jnp.asarray(units, x.dtype)[None]
    found = jax.lax.cond(whole, _whole_rows, lambda w, x: _any_rows(w.loc, w.covariance, x), given, x)
    return found._replace(log_det=found.log_det + logs)


def _varying(covariance: Array) -> Array:
    """False for columns whose variance is 0 in every class, [D]."""
    return (variances(covariance) > 0).any(axis=0)


def _whole_rows(given: Whitening, x: Array) -> Distances:
    """Distances of rows without missing cells."""
    varying = _varying(given.covariance)
    deviations = either.where(varying[None], x[None] - given.origins[:, None], 0.0)
    white = deviations @ given.inverse.mT
    lengths = stable.length(white - given.centres[:, None], axis=2).T
    log_det = either.broadcast_to(given.log_det[None], lengths.shape)
    return Distances(lengths, log_det, either.broadcast_to(varying.sum(), x.shape[:1]))


@partial(jax.jit, static_argnames="by_solving")
def _any_rows(loc: Array, covariance: Array, x: Array, *, by_solving: bool = False) -> Distances:
    """Distances with one factor for each row and class; to solve for a single vector is less work than to invert."""
    seen = ~jnp.isnan(x) & _varying(covariance)[None]

    def row(x: Array, seen: Array) -> Distances:
        matrix, deviations = proper(covariance, seen[None]), jnp.where(seen[None], x[None] - loc, 0.0)
        if by_solving:
            factor = jnp.broadcast_to(jnp.linalg.cholesky(matrix), (*loc.shape, loc.shape[1]))
            white = jax.scipy.linalg.solve_triangular(factor, deviations[..., None], lower=True)[..., 0]
        else:
            factor, inverse = factors(matrix)
            white = whiten(inverse, deviations)
        log_det = jnp.broadcast_to(log_determinant(factor), loc.shape[:1])
        return Distances(stable.length(white, axis=1), log_det, seen.sum())

    # blocks need a concrete number of rows; it is a symbol if a function is exported for any number
    block = 64 if isinstance(x.shape[0], int) else None
    return jax.lax.map(lambda pair: row(*pair), (jnp.where(seen, x, 0.0), seen), batch_size=block)


def _on_host(given: Whitening, x: Array) -> Distances:
    """Distances with a factor for each class and pattern of missing cells, or for each row if few share a pattern."""
    patterns, (loc, covariance) = list(_patterns(x)), given[:2]
    if len(patterns) > max(len(x) // limits.ROWS_A_PATTERN, 1):
        return Distances(*compute_rows(_any_rows, (loc, covariance), x, by_solving=True))
    out = Distances(np.empty((len(x), len(loc))), np.empty((len(x), len(loc))), np.empty(len(x)))
    for rows, seen in patterns:
        part, cells = given, x[rows]
        if not seen.all():  # other cells carry no information, and all patterns are one trace
            part = interpret(whitening, loc, np.where(inside(seen), covariance, 0.0))
            part, cells = part.of(seen), cells[:, seen]
        blocks = [cells[some] for some in row_blocks(len(cells), 8 * max(part.loc.size, 1))] or [cells]
        found = in_threads(np.errstate(all="ignore")(partial(_whole_rows, part)), blocks)
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
