"""Scoring in two steps: tables are computed once from parameters or hyperparameters, and then score any rows.

A family scores the rows of its block, log p(x | y = k), and a model those of all blocks, log p(y = k, x).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jax

from bayesnb.arrays.compute import compute
from bayesnb.numerics.log_prob import LogProb

Score = Callable[[Any], LogProb]
"""A function from rows, an array or arrays by block, to their scores [N, K]; without the base measure."""


class Scoring(ABC):
    """A pytree of hyperparameters that scores checked rows, given parameters or with the parameters integrated out."""

    @abstractmethod
    def likelihood_tables(self, params: Any) -> Any:
        """Tables computed from the parameters, from which rows are scored. Pure JAX."""

    @abstractmethod
    def likelihood_scorer(self, tables: Any) -> Score:
        """The function that scores rows given the ``likelihood_tables`` of the parameters."""

    def log_likelihood(self, params: Any, x: Any) -> LogProb:
        """The scores of rows given the parameters, [N, K]."""
        return prepare_likelihood(self, params)(x)

    @abstractmethod
    def predictive_tables(self) -> Any:
        """Tables computed from the hyperparameters, for scores with the parameters integrated out. Pure JAX."""

    @abstractmethod
    def predictive_scorer(self, tables: Any) -> Score:
        """The function that scores rows given the ``predictive_tables``."""

    def log_predictive(self, x: Any) -> LogProb:
        """The scores of rows with the parameters integrated out, [N, K]."""
        return prepare_predictive(self)(x)


def prepare_likelihood(one: Scoring, params: Any) -> Score:
    """The function that scores rows given the parameters; their tables are computed here."""
    return one.likelihood_scorer(likelihood_tables(one, params))


def likelihood_tables(one: Scoring, params: Any) -> Any:
    """The ``likelihood_tables`` of parameters, computed in one compiled call, for numpy's in float64 on the host."""
    return compute(_likelihood_tables, one, params)


def prepare_predictive(one: Scoring) -> Score:
    """The function that scores rows with the parameters integrated out; its tables are computed here."""
    return one.predictive_scorer(predictive_tables(one))


def predictive_tables(one: Scoring) -> Any:
    """The ``predictive_tables`` of hyperparameters, computed likewise."""
    return compute(_predictive_tables, one)


# each one object, so that few programs are compiled
_likelihood_tables = jax.jit(lambda one, params: one.likelihood_tables(params))
_predictive_tables = jax.jit(lambda one: one.predictive_tables())
