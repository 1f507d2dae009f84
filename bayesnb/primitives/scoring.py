"""Scoring in two steps: tables are computed once from parameters or hyperparameters, and then score any rows.

A family scores the rows of its block, log p(x | y = k), and a model those of all blocks, log p(y = k, x).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jax

from bayesnb.arrays.host_calls import finalise
from bayesnb.numerics.log_prob import LogProb

Score = Callable[[Any], LogProb]
"""A function from rows, an array or arrays by block, to their scores [N, K]; without the base measure."""


class Scoring(ABC):
    """A pytree of hyperparameters that scores checked rows, given parameters or with the parameters integrated out."""

    @abstractmethod
    def tables(self, params: Any) -> Any:
        """Tables computed from the parameters, from which rows are scored. Pure JAX."""

    @abstractmethod
    def scored_by(self, tables: Any) -> Score:
        """The function that scores rows given the ``tables`` of the parameters."""

    def scorer(self, params: Any) -> Score:
        """The function that scores rows given the parameters, whose tables it computes first."""
        return self.scored_by(finalise(_tables, self, params))

    def log_likelihood(self, params: Any, x: Any) -> LogProb:
        """The scores of rows given the parameters, [N, K]."""
        return self.scorer(params)(x)

    @abstractmethod
    def predictive_tables(self) -> Any:
        """Tables computed from the hyperparameters, for scores with the parameters integrated out. Pure JAX."""

    @abstractmethod
    def predicted_by(self, tables: Any) -> Score:
        """The function that scores rows given the ``predictive_tables``."""

    def predictive(self) -> Score:
        """The function that scores rows with the parameters integrated out, from tables computed first."""
        return self.predicted_by(finalise(_predictive_tables, self))

    def log_predictive(self, x: Any) -> LogProb:
        """The scores of rows with the parameters integrated out, [N, K]."""
        return self.predictive()(x)


@jax.jit
def _tables(one: Scoring, params: Any) -> Any:
    return one.tables(params)


@jax.jit
def _predictive_tables(one: Scoring) -> Any:
    return one.predictive_tables()
