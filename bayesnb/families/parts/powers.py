"""Exact predictives with features raised to powers, or mixed with the predictive that ignores the class.

If the tables of a predictive are numpy's and of a known form, rows are scored from changed tables, as fast as by the
predictive itself: log probabilities of two values or of categories, and Student's t.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from bayesnb.arrays.compute import compute, compute_rows
from bayesnb.arrays.placement import Array, on_host
from bayesnb.families.base import Family, Score
from bayesnb.families.parts.student_t import Student, log_student_mixture, raise_student
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products import Linear
from bayesnb.primitives.scoring import predictive_tables, prepare_predictive


def to_powers(family: Family, powers: Array | None) -> Score:
    """sum_d w_d log p(x_d | y = k), [N, K]; powers w are [D], or [1] for the whole block; None means 1.

    Of a block that is seen by several views the powers are [V D].
    """
    if powers is not None and family.several_views:
        return family.predictive_scorer(compute(_raised_tables, family, powers))
    if powers is None or powers.shape[0] == 1:
        predictive = prepare_predictive(family)
        return predictive if powers is None else lambda x: _times(powers[0], predictive(x))
    tables = _host_tables(family, powers)
    if isinstance(tables, Student):
        return family.predictive_scorer(raise_student(tables, powers))
    if tables is not None:
        return _from_category_logs(family, tables, _category_logs(tables) * _of_categories(family, powers))
    return lambda x: LogProb(compute_rows(_to_powers, (family, powers), x), None)


def mix(family: Family, pooled: Family, log_odds: Array) -> Score:
    """sum_d log(p_d p(x_d | y = k) + (1 - p_d) p(x_d)), [N, K].

    ``log_odds`` [D] are log(p / (1 - p)); ``pooled`` is the same family fitted to all rows as one class.
    """
    tables, of_pooled = _host_tables(family, log_odds), _host_tables(pooled, log_odds)
    if isinstance(tables, Student):
        return lambda x: LogProb(log_student_mixture(tables, of_pooled, log_odds, x), None)
    if tables is not None:
        odds = _of_categories(family, log_odds)
        depends = scipy.special.log_expit(odds) + _category_logs(tables)
        free = scipy.special.log_expit(-odds) + _category_logs(of_pooled)
        return _from_category_logs(family, tables, np.logaddexp(depends, free))
    return lambda x: LogProb(compute_rows(_mix, (family, pooled, log_odds), x), None)


def _times(power: Array, score: LogProb) -> LogProb:
    return LogProb(power * score.finite, score.zeros)


def _host_tables(family: Family, by_feature: Array) -> Any:
    """The predictive's tables if they are numpy's, and of Student's t or of log probabilities by category, or None."""
    if not on_host(family, by_feature):
        return None
    tables = predictive_tables(family)
    by_category = isinstance(tables, Linear | LogProb) and all(family.table_sizes(len(by_feature)))
    return tables if by_category or isinstance(tables, Student) else None


def _category_logs(tables: Linear | LogProb) -> Array:
    """log p(category | k), [K, S]: the columns' categories end to end."""
    if isinstance(tables, LogProb):
        return tables.finite
    failure: Any = tables.offset
    return np.stack([failure, failure + tables.coefficients[0]], axis=-1).reshape(len(failure), -1)


def _from_category_logs(family: Family, tables: Linear | LogProb, logs: Array) -> Score:
    """The score of rows by other log probabilities of the categories, [K, S]."""
    if isinstance(tables, LogProb):
        return family.predictive_scorer(LogProb(logs, None))
    failure, success = logs[:, ::2], logs[:, 1::2]
    return family.predictive_scorer(Linear((success - failure,), failure))


def _of_categories(family: Family, by_feature: Array) -> Array:
    """Numbers by feature [D], repeated for each category, [S]."""
    return np.repeat(by_feature, family.table_sizes(len(by_feature)))


def log_mixture_terms(family: Family, pooled: Family, log_odds: Array, x: Array) -> Array:
    """The terms of that sum, [N, K, D]. Pure JAX."""
    log_odds = log_odds[None, None]
    depends = jax.nn.log_sigmoid(log_odds) + family.log_predictive_terms(x)
    free = jax.nn.log_sigmoid(-log_odds) + pooled.log_predictive_terms(x)
    # a missing cell adds log(p + 1 - p) = 0
    return jnp.logaddexp(depends, free)


@jax.jit
def _raised_tables(family: Family, powers: Array) -> Any:
    return family.raised_tables(powers)


@jax.jit
def _to_powers(family: Family, powers: Array, x: Array) -> Array:
    return (family.log_predictive_terms(x) * powers[None, None]).sum(axis=-1)


@jax.jit
def _mix(family: Family, pooled: Family, log_odds: Array, x: Array) -> Array:
    return log_mixture_terms(family, pooled, log_odds, x).sum(axis=-1)
