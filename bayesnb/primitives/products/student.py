"""Log densities of Student's t summed over columns, also mixed with that of all classes; numpy rows by loops."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from bayesnb.arrays.cells import observed
from bayesnb.arrays.compute import compute
from bayesnb.arrays.placement import Array, on_host, pad_rows
from bayesnb.numerics import stable
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products.blockwise import score_rows, single_precision
from bayesnb.primitives.products.logs import log_mixtures, log_powers
from bayesnb.primitives.products.loops import log_squares


class Student(NamedTuple):
    """log p(x_d | k) = offset - power log(1 + z^2) with z = (x - centre - loc) precision; arrays [K, D], centre [1, D].

    ``condition`` is the largest distance from the centre in units of the predictive's width.
    """

    loc: Array
    precision: Array
    power: Array
    offset: Array
    centre: Array
    condition: Array | None


def log_student(table: Student, x: Array) -> Array:
    """The log predictive of rows, [N, K]; of numpy rows as the sum of offsets less that of power log(1 + z^2)."""
    if not on_host(table, x):
        return _careful(table, jnp.asarray(x))
    # columns with equally many observed cells have the same power, and so need one logarithm in all
    alike = ((table.power == table.power.max(axis=1, keepdims=True, initial=0.0)) | (table.precision == 0)).all()
    single = bool(alike) and single_precision(table.condition)
    table = table._replace(condition=None)
    tables = cache(lambda dtype: jax.tree.map(lambda part: np.array(part, dtype), table))
    power = tables(np.float64).power.max(axis=1, initial=0.0)

    def score(block: Array, dtype: Any) -> LogProb:
        loc, precision, powers, _, centre, _ = tables(dtype)
        seen, offset = observed(block), tables(np.float64).offset.T
        finite = offset.sum(axis=0) if seen is None else seen @ offset
        if alike:
            finite = finite - power * log_squares(block, centre[0], loc, precision)
        else:
            finite = finite - log_powers(block, centre[0], loc, precision, powers)
        if dtype is np.float64 and not np.isfinite(finite).all():
            finite = compute(_careful, table, pad_rows(block))[: len(block)]
        return LogProb(finite, None)

    return score_rows(score, x, len(power), zeros=False, single=single, threads=True).finite


@jax.jit
def _careful(table: Student, x: Array) -> Array:
    return cells_of_table(table, x).sum(axis=-1)


def cells_of_table(table: Student, x: Array) -> Array:
    """The log predictive cell by cell, [N, K, D]; 0 for NaN. Pure JAX."""
    x = jnp.asarray(x, jnp.result_type(float))
    missing = jnp.isnan(x)[:, None, :]
    z = ((x - table.centre)[:, None, :] - table.loc[None]) * table.precision[None]
    terms = table.offset[None] - table.power[None] * stable.log1p_square(jnp.where(missing, 0.0, z))
    return jnp.where(missing, 0.0, terms)


def log_student_mixture(own: Student, pooled: Student, log_odds: Array, x: Array) -> Array:
    """sum_d log(p_d p(x_d | k) + (1 - p_d) p(x_d)) of rows, [N, K], where ``log_odds`` [D] are log(p / (1 - p)).

    Of numpy rows as log(1 - p) + b + log(1 + exp(log odds + a - b)), a of the class and b of all.
    """
    if not on_host(own, pooled, log_odds, x):
        return _careful_mixture(own, pooled, log_odds, jnp.asarray(x))

    def score(block: Array, _: Any) -> LogProb:
        z = (block - pooled.centre - pooled.loc) * pooled.precision
        base, seen = pooled.offset - pooled.power * np.log1p(np.square(z)), observed(block)
        both = scipy.special.log_expit(-log_odds) + base
        if seen is not None:
            base, both = np.where(seen, base, np.inf), np.where(seen, both, 0.0)
        more = log_mixtures(block, own.centre[0], own.loc, own.precision, own.power, log_odds + own.offset, base)
        total = both.sum(axis=1)[:, None] + more
        if not np.isfinite(total).all():
            total = compute(_careful_mixture, own, pooled, log_odds, pad_rows(block))[: len(block)]
        return LogProb(total, None)

    return score_rows(score, x, len(own.loc), zeros=False, single=False, threads=True).finite


@jax.jit
def _careful_mixture(own: Student, pooled: Student, log_odds: Array, x: Array) -> Array:
    depends = jax.nn.log_sigmoid(log_odds)[None, None] + cells_of_table(own, x)
    return jnp.logaddexp(depends, jax.nn.log_sigmoid(-log_odds)[None, None] + cells_of_table(pooled, x)).sum(axis=-1)
