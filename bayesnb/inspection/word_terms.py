"""The terms by which a row is explained: one for each feature, or for each word and the length of a block of words."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.class_table import whole
from bayesnb.arrays.placement import Array
from bayesnb.families import Multinomial
from bayesnb.families.base import Params
from bayesnb.families.multinomial import counts_of
from bayesnb.numerics import dirichlet, log_gamma, stable
from bayesnb.numerics.log_prob import LogProb


@singledispatch
def has_word_terms(family: Any) -> bool:
    """True if the block, one feature, still splits into terms: one for each word, and a last one for the length."""
    del family
    return False


@singledispatch
def explained_terms(family: Any, params: Params, x: Array) -> LogProb:
    """The terms of the log likelihood with which ``explain`` explains a row, [N, K, F]."""
    return family.log_likelihood_terms(params, x)


@singledispatch
def explained_predictive(family: Any, x: Array) -> Array:
    """The same terms for the exact predictive, [N, K, F]."""
    return family.log_predictive_terms(x)


@singledispatch
def merge_words(family: Any, params: Params | None, shown: Array) -> tuple[Any, Params | None]:
    """The family and parameters for the words ``shown``, with all other words merged into a last one."""
    raise NotImplementedError(f"{type(family).__name__} registers has_word_terms, and so must register merge_words")


has_word_terms.register(Multinomial, lambda _: True)


@explained_terms.register(Multinomial)
def _(family: Any, params: Params, x: Array) -> LogProb:
    """x log theta_w for each word, with impossible words counted, and 0 for the length, [N, K, D + 1]."""
    del family
    probs, counts = jnp.asarray(whole(params["probs"])), counts_of(x)[:, None, :]
    cells = counts * stable.safe_log(probs)[None]
    zeros = ((probs == 0)[None] & (counts > 0)).astype(cells.dtype)
    length = jnp.zeros((*cells.shape[:2], 1), cells.dtype)
    return LogProb(jnp.concatenate([cells, length], axis=2), jnp.concatenate([zeros, length], axis=2))


@explained_predictive.register(Multinomial)
def _(family: Any, x: Array) -> Array:
    """A term for each word and one for the length, [N, K, D + 1], which add up to the Dirichlet-multinomial.

    A word that is seen x times in a row of n words adds log Gamma(a_w + x) - log Gamma(a_w) - x log A, with A =
    sum a, and the length adds log Gamma(A) - log Gamma(A + n) + n log A.
    A word that is seen once adds the log of its posterior mean, as it does under known parameters. The length is a
    correction that vanishes as A grows, and is 0 if n is 0 or 1.
    """
    counts, a = counts_of(x)[:, None, :], whole(family.concentration)[None]
    total, length = dirichlet.total(a), dirichlet.total(counts)
    log_total = jnp.log(total)
    cells = log_gamma.log_gamma_ratio(a, counts) - counts * log_total
    rest = length * log_total - log_gamma.log_gamma_ratio(total, length)
    return jnp.concatenate([cells, rest], axis=2)


@merge_words.register(Multinomial)
def _(family: Any, params: Params | None, shown: Array) -> tuple[Any, Params | None]:
    # entries of a Dirichlet may be summed into one: the result is Dirichlet, too
    table = whole(family.concentration if params is None else params["probs"])
    others = np.ones(table.shape[1], bool)
    others[shown] = False
    # at least tiny, as it would be 0 without others
    rest = np.maximum(table[:, others].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    merged = np.concatenate([table[:, shown], rest], axis=1)
    return (family._replace(concentration=merged), None) if params is None else (family, {"probs": merged})
