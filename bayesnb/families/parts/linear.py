"""Families whose log likelihood is a product of row features and class coefficients."""

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
    def coefficients(self, params: Params) -> Linear:
        """Class coefficients of row features that give the log likelihood; pure JAX."""

    def features(self, x: Array) -> tuple[Array, ...]:
        """The row features [N, D] that the coefficients multiply."""
        return (x,)

    def likelihood_tables(self, params: Params) -> Any:
        return self.coefficients(params)

    def likelihood_scorer(self, tables: Any) -> Score:
        return products.linear(self, tables)

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        if self.one_feature:
            return super().log_likelihood_terms(params, x)
        return products.linear_terms(self, self.coefficients(params), jnp.asarray(x))
