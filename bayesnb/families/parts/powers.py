"""Exact predictives with features raised to powers, or mixed with the predictive that ignores the class."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family, Score
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives import products
from bayesnb.primitives.scoring import prepare_predictive


def to_powers(family: Family, powers: Array | None) -> Score:
    """sum_d w_d log p(x_d | y = k), [N, K]; powers w are [D], or [1] for the whole block; None means 1."""
    if powers is not None and powers.shape[0] != 1:
        return lambda x: LogProb(products.by_rows(_to_powers, (family, powers), x), None)
    predictive = prepare_predictive(family)
    if powers is None:
        return predictive

    def score(x: Array) -> LogProb:
        whole = predictive(x)
        return LogProb(powers[0] * whole.finite, whole.zeros)

    return score


def mixed(family: Family, pooled: Family, log_odds: Array, x: Array) -> LogProb:
    """sum_d log(p_d p(x_d | y = k) + (1 - p_d) p(x_d)), [N, K].

    ``log_odds`` [D] are log(p / (1 - p)); ``pooled`` is the same family fitted to all rows as one class.
    """
    return LogProb(products.by_rows(_mixed, (family, pooled, log_odds), x), None)


def log_mixture_terms(family: Family, pooled: Family, log_odds: Array, x: Array) -> Array:
    """The terms of that sum, [N, K, D]. Pure JAX."""
    log_odds = log_odds[None, None]
    depends = jax.nn.log_sigmoid(log_odds) + family.log_predictive_terms(x)
    free = jax.nn.log_sigmoid(-log_odds) + pooled.log_predictive_terms(x)
    # a missing cell adds log(p + 1 - p) = 0
    return jnp.logaddexp(depends, free)


@jax.jit
def _to_powers(family: Family, powers: Array, x: Array) -> Array:
    return (family.log_predictive_terms(x) * powers[None, None]).sum(axis=-1)


@jax.jit
def _mixed(family: Family, pooled: Family, log_odds: Array, x: Array) -> Array:
    return log_mixture_terms(family, pooled, log_odds, x).sum(axis=-1)
