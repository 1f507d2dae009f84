"""Which features depend on the class, and exact averaging over all 2^D subsets of them, without enumerating them.

A feature has either separate parameters for each class or one common set. The evidence of both has a closed form, and
their ratio is the Bayes factor. In the posterior each feature depends on the class independently of the others, with
probability p_d, so the sum over subsets is a product over features, each a mixture of two predictives:

    p(y = k, x | D)  =  p(k | D) prod_d [ p_d p(x_d | k, D) + (1 - p_d) p(x_d | D) ]

Dash and Cooper, Exact model averaging with naive Bayesian classifiers (2002).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from bayesnb.arrays.host_calls import finalise
from bayesnb.arrays.placement import Array, is_traced, namespace, on_host, to_double
from bayesnb.arrays.pytree import pytree
from bayesnb.families.base import Family
from bayesnb.families.parts.powers import mixed
from bayesnb.fits.closed_form import prepare
from bayesnb.model.class_prior import joint
from bayesnb.model.naive_bayes import NaiveBayes, Sites
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.scoring import Score
from bayesnb.results.classifier import Classifier, Posterior
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
        ValueError: if the data do not fit the model, hyperparameters differ between classes, or prior is not in (0, 1).

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]], [0, 0, 0, 1, 1, 1]
        >>> nb.feature_inclusion(nb.NaiveBayes(nb.Bernoulli()), X, y).probability.round(3)
        array([0.897, 0.493])
    """
    model, _, factors, odds = _compare(model, X, y, prior, sample_weight, statistics)
    return FeatureInclusion(_probability(model, odds), _unblock(model, factors))


@pytree
class AveragedPosterior(Classifier):
    """The exact posterior averaged over all subsets of features.

    ``posterior`` has separate parameters for each class; ``pooled``, by block, the same families with one set of
    parameters for all classes; ``log_odds`` [D], by block, the posterior log odds that a feature depends on the class.
    """

    posterior: Posterior
    pooled: dict[str, Family]
    log_odds: dict[str, Array]

    @property
    def model(self) -> NaiveBayes:  # type: ignore[override]
        """The posterior of the model in which every feature depends on the class."""
        return self.posterior.model

    @property
    def probability(self) -> Any:
        """The posterior probability that each feature depends on the class: [D], or a dict by block."""
        return _probability(self.model, self.log_odds)

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same fit for a population with these class probabilities [K]."""
        return replace(self, posterior=self.posterior.with_class_probs(class_probs))

    @property
    def draws_at_once(self) -> int:
        """The number of draws of ``posterior`` that may be in memory at once."""
        return self.posterior.draws_at_once

    def draws(self, key: Array, num_draws: int) -> tuple[Sites, Array]:
        """Independent draws: a subset of features, with parameters by class inside it and common ones outside."""
        keys = jax.random.split(key, 3)
        pooled = self.model.with_hyperparameters(self.pooled, self.model.class_concentration)
        own = self.posterior.sample(keys[0], num_draws)
        common = replace(self.posterior, model=pooled).sample(keys[1], num_draws)
        by_own, by_common = self.model.block_params(own), self.model.block_params(common)
        params = {"class_probs": own["class_probs"]}
        for name, family in self.model.families.items():
            odds = self.log_odds[name]
            u = jax.random.uniform(jax.random.fold_in(keys[2], len(params)), (num_draws, *odds.shape))
            depends = namespace(odds).asarray(u) < _sigmoid(odds)[None]
            params |= {f"{name}_{s}": v for s, v in _choose(family, depends, by_own[name], by_common[name]).items()}
        return params, np.arange(num_draws)

    def _scorer(self) -> Score:
        probs = self.model.class_mean()

        def score(arrays: Mapping[str, Array]) -> LogProb:
            families = self.model.families.items()
            return joint(probs, [mixed(f, self.pooled[b], self.log_odds[b], arrays[b]) for b, f in families])

        return score


def fit_averaged(
    model: NaiveBayes,
    X: Any = None,
    y: Any = None,
    *,
    prior: float = 0.5,
    sample_weight: Any = None,
    statistics: ModelStatistics | None = None,
) -> AveragedPosterior:
    """The exact posterior averaged over all subsets of features; arguments and errors as in ``feature_inclusion``."""
    model, statistics, _, odds = _compare(model, X, y, prior, sample_weight, statistics)
    updated, pooled = finalise(_posteriors, model, statistics)
    return AveragedPosterior(Posterior(model, updated, statistics), pooled, odds)


def _compare(
    model: NaiveBayes, X: Any, y: Any, prior: float, sample_weight: Any, statistics: ModelStatistics | None
) -> tuple[NaiveBayes, ModelStatistics, dict[str, Array], dict[str, Array]]:
    """The resolved model, its statistics, and by block the log Bayes factors and the posterior log odds, [D] each."""
    if not isinstance(prior, float | int | np.number) or not 0 < prior < 1:
        raise ValueError(f"prior must be a probability inside (0, 1), got {prior!r}")
    log_odds = math.log(prior) - math.log1p(-prior)
    model, statistics = prepare(model, X, y, sample_weight, statistics)
    for name, family in model.families.items():
        for leaf in jax.tree.leaves(family):
            if np.ndim(leaf) and not is_traced(leaf) and not (leaf == leaf[:1]).all():
                raise ValueError(
                    f"block {name!r} has hyperparameters that differ between classes: one set of parameters for all "
                    "classes needs one prior"
                )
    # Bayes factors are differences of large numbers
    precise = (model, statistics) if is_traced(model, statistics) else to_double((model, statistics))
    factors = finalise(_log_bayes_factors, *precise)
    return model, statistics, factors, {name: factor + log_odds for name, factor in factors.items()}


@jax.jit
def _log_bayes_factors(model: NaiveBayes, statistics: ModelStatistics) -> dict[str, Array]:
    """log BF_d by block, [D]; the base measure of the rows is the same in both and cancels."""
    pooled = statistics.pool()
    return {
        name: _evidence(family, statistics.blocks[name]) - _evidence(_one_class(family), pooled[name])
        for name, family in model.families.items()
    }


def _evidence(family: Family, statistics: Any) -> Array:
    """The log evidence of each feature without the base measure, [D]."""
    return family.log_partition_ratio(statistics).sum(axis=0)


@jax.jit
def _posteriors(model: NaiveBayes, statistics: ModelStatistics) -> tuple[NaiveBayes, dict[str, Family]]:
    """The posteriors with parameters by class, and by block those with one set of parameters for all classes."""
    pooled = statistics.pool()
    common = {name: _one_class(family).update(pooled[name]) for name, family in model.families.items()}
    return model.update(statistics), common


def _one_class(family: Family) -> Family:
    return jax.tree.map(lambda leaf: leaf[:1] if jnp.ndim(leaf) else leaf, family)


def _choose(family: Family, depends: Array, own: Sites, common: Sites) -> Sites:
    """Parameters [S, K, D, ...]: ``own`` for features that depend on the class, ``depends`` [S, D], else ``common``."""
    params = {}
    for column, (site, value) in enumerate(own.items()):
        mask = depends[:, column : column + 1] if family.site_a_column else depends
        before = () if site in family.common_sites or family.site_a_column else (1,)
        after = (1,) * (value.ndim - 2 - len(before))
        mask = mask.reshape(mask.shape[0], *before, mask.shape[1], *after)
        params[site] = namespace(value).where(mask, value, common[site])
    return params


def _probability(model: NaiveBayes, log_odds: dict[str, Array]) -> Any:
    return _unblock(model, {name: _sigmoid(odds) for name, odds in log_odds.items()})


def _unblock(model: NaiveBayes, by_block: dict[str, Array]) -> Any:
    """The array of the only block "x", or a dict of the arrays by block."""
    return by_block["x"] if model.single else {name: by_block[name] for name in model.families}


def _sigmoid(log_odds: Array) -> Array:
    return scipy.special.expit(log_odds) if on_host(log_odds) else jax.nn.sigmoid(log_odds)
