"""Rows are scored in two steps: what parameters or hyperparameters tell is computed once, and then scores any rows.

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
"""Scores rows, an array or arrays by block, [N, K]; without the base measure."""


class Scoring(ABC):
    """A pytree of hyperparameters that scores checked rows: by parameters, and with the parameters integrated out."""

    @abstractmethod
    def tables(self, params: Any) -> Any:
        """What the parameters tell of rows. Pure JAX."""

    @abstractmethod
    def scored_by(self, tables: Any) -> Score:
        """Scores rows by the ``tables`` of the parameters."""

    def scorer(self, params: Any) -> Score:
        """Scores rows by the parameters, whose tables are made now."""
        return self.scored_by(finalise(_tables, self, params))

    def log_likelihood(self, params: Any, x: Any) -> LogProb:
        """The score of rows by the parameters, [N, K]."""
        return self.scorer(params)(x)

    @abstractmethod
    def predictive_tables(self) -> Any:
        """What the hyperparameters tell of rows. Pure JAX."""

    @abstractmethod
    def predicted_by(self, tables: Any) -> Score:
        """Scores rows by the ``predictive_tables``."""

    def predictive(self) -> Score:
        """Scores rows with the parameters integrated out, by tables that are made now."""
        return self.predicted_by(finalise(_predictive_tables, self))

    def log_predictive(self, x: Any) -> LogProb:
        """The score of rows with the parameters integrated out, [N, K]."""
        return self.predictive()(x)


@jax.jit
def _tables(one: Scoring, params: Any) -> Any:
    return one.tables(params)


@jax.jit
def _predictive_tables(one: Scoring) -> Any:
    return one.predictive_tables()
