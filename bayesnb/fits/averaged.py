"""Exact model averaging over all 2^D subsets of features that may depend on the class, without enumerating them.

In the posterior each feature depends on the class independently of the others, with its own probability, so the sum
over subsets is a product over features, each a mixture of two predictives:

    p(y = k, x | D)  =  p(k | D) prod_d [ p_d p(x_d | k, D) + (1 - p_d) p(x_d | D) ]

Dash and Cooper, Exact model averaging with naive Bayesian classifiers (2002).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import jax
import numpy as np

from bayesnb.arrays.host_calls import finalise
from bayesnb.arrays.placement import Array, namespace
from bayesnb.arrays.pytree import pytree
from bayesnb.families.base import Family
from bayesnb.families.parts.powers import mixed
from bayesnb.fits.closed_form import prepare
from bayesnb.fits.inclusion import log_bayes_factors, one_class, prior_log_odds, sigmoid
from bayesnb.model.class_prior import joint
from bayesnb.model.naive_bayes import NaiveBayes, Sites
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.scoring import Score
from bayesnb.results.classifier import Classifier, Posterior
from bayesnb.rows.statistics import ModelStatistics


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
        """The model in which every feature depends on the class, updated."""
        return self.posterior.model

    @property
    def probability(self) -> Any:
        """The posterior probability that each feature depends on the class: [D], or a dict by block."""
        found = {name: sigmoid(odds) for name, odds in self.log_odds.items()}
        return found["x"] if self.model.single else {name: found[name] for name in self.model.families}

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
        own = self.posterior.sample(keys[0], num_draws)
        common = replace(
            self.posterior, model=self.model.with_hyperparameters(self.pooled, self.model.class_concentration)
        ).sample(keys[1], num_draws)
        by_own, by_common = self.model.block_params(own), self.model.block_params(common)
        drawn = {"class_probs": own["class_probs"]}
        for name, family in self.model.families.items():
            odds = self.log_odds[name]
            u = jax.random.uniform(jax.random.fold_in(keys[2], len(drawn)), (num_draws, *odds.shape))
            depends = namespace(odds).asarray(u) < sigmoid(odds)[None]
            drawn |= {f"{name}_{s}": v for s, v in _chosen(family, depends, by_own[name], by_common[name]).items()}
        return drawn, np.arange(num_draws)

    def columns(self) -> Mapping[str, int | None]:
        """The number of columns of each block."""
        return self.model.columns

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
    """The exact predictive averaged over all subsets of features that may depend on the class.

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
    """
    change = prior_log_odds(prior)
    model, statistics = prepare(model, X, y, sample_weight, statistics)
    factors = log_bayes_factors(model, statistics)
    updated, pooled = finalise(_updated, model, statistics)
    odds = {name: factor + change for name, factor in factors.items()}
    return AveragedPosterior(Posterior(model, updated, statistics), pooled, odds)


@jax.jit
def _updated(model: NaiveBayes, statistics: ModelStatistics) -> tuple[NaiveBayes, dict[str, Family]]:
    pooled = statistics.pool()
    common = {name: one_class(family).update(pooled[name]) for name, family in model.families.items()}
    return model.update(statistics), common


def _chosen(family: Family, depends: Array, own: Sites, common: Sites) -> Sites:
    """Parameters [S, K, D, ...]: ``own`` for features that depend on the class, ``depends`` [S, D], else ``common``."""
    chosen = {}
    for column, (site, value) in enumerate(own.items()):
        mask = depends[:, column : column + 1] if family.site_a_column else depends
        before = () if site in family.common_sites or family.site_a_column else (1,)
        after = (1,) * (value.ndim - 2 - len(before))
        mask = mask.reshape(mask.shape[0], *before, mask.shape[1], *after)
        chosen[site] = namespace(value).where(mask, value, common[site])
    return chosen
