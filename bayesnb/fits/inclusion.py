"""Which features depend on the class: a Bayes factor between separate parameters for each class and one common set.

The evidence of both has a closed form, and so has the posterior probability that a feature depends on the class: Dash
and Cooper, Exact model averaging with naive Bayesian classifiers (2002).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from bayesnb.arrays.host_calls import finalise
from bayesnb.arrays.placement import Array, is_traced, on_host, to_double
from bayesnb.families.base import Family
from bayesnb.fits.closed_form import prepare
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.rows.statistics import ModelStatistics


class FeatureInclusion(NamedTuple):
    """``probability`` that each feature depends on the class, and the ``log_bayes_factor`` for it: arrays [D], [1] for
    a block that is one feature, or dicts of them by block.
    """

    probability: Any
    log_bayes_factor: Any


def feature_inclusion(
    model: NaiveBayes,
    X: Any = None,
    y: Any = None,
    *,
    prior: float = 0.5,
    sample_weight: Any = None,
    statistics: ModelStatistics | None = None,
) -> FeatureInclusion:
    """The posterior probability that each feature depends on the class, and the log Bayes factor behind it.

    log BF_d = log p(x_d | y, parameters by class) - log p(x_d | one set of parameters), both under the same prior,
    resolved from all rows.

    Args:
        model: The specification, whose hyperparameters are the same for all classes.
        X: An array [N, D], or a dict of arrays by block; NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        prior: The prior probability that a feature depends on the class, inside (0, 1).
        sample_weight: Weights [N].
        statistics: Sufficient statistics instead of rows.

    Raises:
        ValueError: if the data do not fit the model, hyperparameters differ between classes, or the prior
            probability is not inside (0, 1).

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]], [0, 0, 0, 1, 1, 1]
        >>> nb.feature_inclusion(nb.NaiveBayes(nb.Bernoulli()), X, y).probability.round(3)
        array([0.897, 0.493])
    """
    change = prior_log_odds(prior)
    model, statistics = prepare(model, X, y, sample_weight, statistics)
    factors = log_bayes_factors(model, statistics)
    probability = {name: sigmoid(factor + change) for name, factor in factors.items()}
    if model.single:
        return FeatureInclusion(probability["x"], factors["x"])
    probability, factors = ({name: part[name] for name in model.families} for part in (probability, factors))
    return FeatureInclusion(probability, factors)


def prior_log_odds(prior: float) -> float:
    """The log odds of the prior probability that a feature depends on the class.

    Raises:
        ValueError: if the probability is not inside (0, 1).
    """
    if not isinstance(prior, float | int | np.number) or not 0 < prior < 1:
        raise ValueError(f"prior is a probability inside (0, 1), got {prior!r}")
    return math.log(prior) - math.log1p(-prior)


def sigmoid(log_odds: Array) -> Array:
    """The probability of log odds."""
    return scipy.special.expit(log_odds) if on_host(log_odds) else jax.nn.sigmoid(log_odds)


def log_bayes_factors(model: NaiveBayes, statistics: ModelStatistics) -> dict[str, Array]:
    """log BF_d by block, [D], of a resolved model: a difference of large numbers, so in float64 unless traced.

    Raises:
        ValueError: if hyperparameters differ between classes.
    """
    for name, family in model.families.items():
        _check_same(family, name)
    if not is_traced(model, statistics):
        model, statistics = to_double((model, statistics))
    return finalise(_log_bayes_factors, model, statistics)


@jax.jit
def _log_bayes_factors(model: NaiveBayes, statistics: ModelStatistics) -> dict[str, Array]:
    """log BF_d by block, [D]; the base measure of the rows is the same in both and cancels."""
    pooled = statistics.pool()
    return {
        name: _evidence(family, statistics.blocks[name]) - _evidence(one_class(family), pooled[name])
        for name, family in model.families.items()
    }


def _evidence(family: Family, statistics: Any) -> Array:
    """The log evidence of each feature without the base measure, summed over classes, [D]."""
    return family.log_partition_ratio(statistics).sum(axis=0)


def one_class(family: Family) -> Family:
    """The same prior for one class."""
    return jax.tree.map(lambda leaf: leaf[:1] if jnp.ndim(leaf) else leaf, family)


def _check_same(family: Family, block: str) -> None:
    for leaf in jax.tree.leaves(family):
        if np.ndim(leaf) and not is_traced(leaf) and not bool((leaf == leaf[:1]).all()):
            raise ValueError(
                f"block {block!r} has hyperparameters that differ between classes: one set of parameters for all "
                "classes needs one prior"
            )
