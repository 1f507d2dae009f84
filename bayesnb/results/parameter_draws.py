"""Draws of the parameters from the prior of a resolved model, which may be a posterior."""

from __future__ import annotations

from functools import partial

import jax
from numpyro import handlers

from bayesnb.arrays.placement import Array
from bayesnb.arrays.promotion import allow_promotion
from bayesnb.model.naive_bayes import NaiveBayes, Sites


@partial(jax.jit, static_argnames=("total", "size"))
def sample_some(model: NaiveBayes, key: Array, start: int, *, total: int, size: int) -> Sites:
    """``size`` of ``total`` draws, from number ``start`` on."""
    keys = jax.lax.dynamic_slice_in_dim(jax.random.split(key, total), start, size)
    return jax.vmap(partial(sample_once, model))(keys)


def sample_once(model: NaiveBayes, key: Array) -> Sites:
    """One draw of the parameters from the prior of a resolved model. Pure JAX."""
    with allow_promotion(), handlers.block(), handlers.seed(rng_seed=key):
        return model.params()
