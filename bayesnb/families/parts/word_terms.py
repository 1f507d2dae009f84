"""One term for each word of a row; the terms add up to the Dirichlet-multinomial.

A word that is seen x times in a row of n words adds, under Dirichlet(a) with A = sum a,

    log Gamma(a_w + x) - log Gamma(a_w) - x log A,    and the length    log Gamma(A) - log Gamma(A + n) + n log A

A word that is seen once adds the log of its posterior mean, as it does under known parameters. The length is a
correction that vanishes as A grows, and is 0 if n is 0 or 1. Given the parameters a word adds x log theta_w, and the
length adds 0.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.numerics import dirichlet, log_gamma, stable
from bayesnb.numerics.log_prob import LogProb


def word_terms(probs: Array, x: Array) -> LogProb:
    """x log theta_w with impossible words counted, and 0 for the length, [N, K, D + 1]."""
    probs, counts = jnp.asarray(probs), _counts(x)
    cells = counts * stable.safe_log(probs)[None]
    zeros = ((probs == 0)[None] & (counts > 0)).astype(cells.dtype)
    length = jnp.zeros((*cells.shape[:2], 1), cells.dtype)
    return LogProb(jnp.concatenate([cells, length], axis=2), jnp.concatenate([zeros, length], axis=2))


def predictive_word_terms(concentration: Array, x: Array) -> Array:
    """The same terms with the parameters integrated out."""
    counts, a = _counts(x), concentration[None]
    total, length = dirichlet.total(a), dirichlet.total(counts)
    log_total = jnp.log(total)
    cells = log_gamma.log_gamma_ratio(a, counts) - counts * log_total
    rest = length * log_total - log_gamma.log_gamma_ratio(total, length)
    return jnp.concatenate([cells, rest], axis=2)


def merge_others(table: Array, shown: Array) -> Array:
    """The columns ``shown``, and the sum of all others, at least tiny, as it would be 0 without others."""
    others = np.ones(table.shape[1], bool)
    others[shown] = False
    rest = np.maximum(table[:, others].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.concatenate([table[:, shown], rest], axis=1)


def _counts(x: Array) -> Array:
    """Counts [N, 1, D]; 0 in a missing row."""
    x = jnp.asarray(x, jnp.result_type(float))
    return jnp.where(jnp.isnan(x).any(axis=1, keepdims=True), 0.0, x)[:, None, :]
