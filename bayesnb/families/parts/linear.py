"""Families whose log likelihood is a product of row features and class weights."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family, Params, Score
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives import products
from bayesnb.primitives.products import Linear


class LinearFamily(Family):
    """log p(x_d | y = k) = offset_kd + sum_f weights_f[k, d] feature_f(x_d), which ``products.linear`` evaluates."""

    @abstractmethod
    def weights(self, params: Params) -> Linear:
        """Class weights of row features that give the log likelihood; pure JAX."""

    def features(self, x: Array) -> tuple[Array, ...]:
        """The row features [N, D] that the weights multiply."""
        return (x,)

    def tables(self, params: Params) -> Any:
        return self.weights(params)

    def scored_by(self, tables: Any) -> Score:
        return products.linear(self, tables)

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        return products.linear_terms(self, self.weights(params), jnp.asarray(x))

    def form(self, params: Params) -> tuple[Array | None, Array, Array] | None:
        table = self.weights(params)
        weights, offset = table.weights[0], jnp.zeros_like(table.weights[0]) if table.offset is None else table.offset
        if table.zeros is not None:
            weights = jnp.where(table.zeros[0] != 0, -jnp.inf, weights)
        if table.zero_offset is not None:
            offset = jnp.where(table.zero_offset != 0, -jnp.inf, offset)
        return None, weights, offset.sum(axis=1)
