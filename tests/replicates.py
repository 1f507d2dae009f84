"""Fits to rows drawn with replacement, by one vmap over weights: the recipe of docs/how_to/in_two_lines.md."""

import jax
import numpy as np

import bayesnb as nb


def replicates(model, X, y, *, key, num=20, fit=nb.fit_mle):
    """The parameters of each replicate, [num, ...] by site."""
    weights = jax.random.multinomial(key, len(y), np.full((num, len(y)), 1 / len(y)))
    return jax.vmap(lambda w: fit(model, X, y, sample_weight=w).params)(weights)
