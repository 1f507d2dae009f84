"""Mixtures of two of Student's t in every column: one by class, and one for all classes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from bayesnb.arrays.cells import observed
from bayesnb.arrays.host_calls import at_once
from bayesnb.arrays.placement import Array, on_host, pad_rows
from bayesnb.families.parts.student_t import Student, cells_of_table, log_student
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products.blockwise import score_blocks
from bayesnb.primitives.products.logs import log_mixtures

NEGLIGIBLE = 40.0
"""Nats below which the smaller part of a sum is lost to rounding in float64."""


def log_student_mixture(own: Student, pooled: Student, log_odds: Array, x: Array) -> Array:
    """sum_d log(p_d p(x_d | k) + (1 - p_d) p(x_d)) of rows, [N, K], where ``log_odds`` [D] are log(p / (1 - p)).

    With many fitted rows almost every column has one part that is negligible on all these rows: the other suffices.
    """
    if not on_host(own, pooled, log_odds, x):
        return _careful_mixture(own, pooled, log_odds, jnp.asarray(x))

    def score(block: Array, _: Any) -> LogProb:
        with np.errstate(over="ignore", invalid="ignore"):
            return LogProb(_of_block(own, pooled, log_odds, block), None)

    return score_blocks(score, x, len(own.loc), zeros=False, single=False, threads=True, block_bytes=BLOCK_BYTES).finite


BLOCK_BYTES = 1 << 20
"""Bytes of rows in one block: the fewer rows, the nearer are a column's ends, and the more parts are negligible."""


def _of_block(own: Student, pooled: Student, log_odds: Array, x: Array) -> Array:
    """The mixture of numpy rows: of both parts in the columns that need both."""
    # a density has its peak at the location, and on these rows its minimum at one of their ends
    lowest = np.fmin.reduce(x, axis=0, initial=np.inf, dtype=np.float64)
    ends = np.stack([lowest, np.fmax.reduce(x, axis=0, initial=-np.inf, dtype=np.float64)])
    depends = (log_odds + _at(own, ends) - pooled.offset > NEGLIGIBLE).all(axis=0)
    free = (log_odds + own.offset - _at(pooled, ends) < -NEGLIGIBLE).all(axis=0)
    both = ~(depends | free)
    total = np.zeros((len(x), len(own.loc)))
    if both.any():
        total = total + _mixture(_columns(own, both), _columns(pooled, both), log_odds[both], x[:, both])
    for table, chosen, odds in ((own, depends, log_odds), (pooled, free & ~depends, -log_odds)):
        if chosen.any():
            part = _columns(table._replace(offset=table.offset + scipy.special.log_expit(odds)), chosen)
            total = total + log_student(part, x[:, chosen])
    return total


def _mixture(own: Student, pooled: Student, log_odds: Array, x: Array) -> Array:
    """The mixture of numpy rows: log(1 - p) + b + log(1 + exp(log odds + a - b)), a of the class and b of all."""
    z = (x - pooled.centre - pooled.loc) * pooled.precision
    base, seen = pooled.offset - pooled.power * np.log1p(np.square(z)), observed(x)
    both = scipy.special.log_expit(-log_odds) + base
    if seen is not None:
        base, both = np.where(seen, base, np.inf), np.where(seen, both, 0.0)
    # classes without rows have the same tables
    tables, classes = np.unique(np.stack(own[:4], axis=1), axis=0, return_inverse=True)
    loc, precision, power, offset = np.moveaxis(tables, 1, 0)
    more = log_mixtures(x, own.centre[0], loc, precision, power, log_odds + offset, base)
    total = both.sum(axis=1)[:, None] + more[:, classes.reshape(-1)]
    if np.isfinite(total).all():
        return total
    return at_once(_careful_mixture, own, pooled, log_odds, pad_rows(x))[: len(x)]


@jax.jit
def _careful_mixture(own: Student, pooled: Student, log_odds: Array, x: Array) -> Array:
    depends = jax.nn.log_sigmoid(log_odds)[None, None] + cells_of_table(own, x)
    return jnp.logaddexp(depends, jax.nn.log_sigmoid(-log_odds)[None, None] + cells_of_table(pooled, x)).sum(axis=-1)


def _at(table: Student, ends: Array) -> Array:
    """The smaller log density of two rows, by class and column, [K, D]."""
    z = ((ends - table.centre)[:, None, :] - table.loc) * table.precision
    return (table.offset - table.power * np.log1p(np.square(z))).min(axis=0)


def _columns(table: Student, chosen: Array) -> Student:
    return jax.tree.map(lambda part: part[:, chosen] if np.ndim(part) == 2 else part, table)
