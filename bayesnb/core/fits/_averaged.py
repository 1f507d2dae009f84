"""Which features depend on the class, and exact averaging over all 2^D subsets of them, without enumerating them.

A feature has either separate parameters for each class or one common set. The evidence of both has a closed form, and
their ratio is the Bayes factor. In the posterior each feature depends on the class independently of the others, with
probability p_d, so the sum over subsets is a product over features, each a mixture of two predictives:

    p(y = k, x | D)  =  p(k | D) prod_d [ p_d p(x_d | k, D) + (1 - p_d) p(x_d | D) ]

Dash and Cooper, Exact model averaging with naive Bayesian classifiers (2002).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import known, namespace, pytree, to_double
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.core.families._base import Family
from bayesnb.core.fits._closed_form import gather
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._classifier import Classifier, Posterior
from bayesnb.core.results._combine import average_inclusion
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._sufficient_statistics import ModelStatistics


class FeatureInclusion(NamedTuple):
    """``probability`` that each feature depends on the class, and the ``log_bayes_factor`` for it: arrays [D], [1] for
    a block that is one feature, or dicts of them by block.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]], [0, 0, 0, 1, 1, 1]
        >>> found = nb.feature_inclusion(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> found.log_bayes_factor.round(2), found.probability.round(2)  # at prior odds of 1
        (array([ 2.17, -0.03]), array([0.9 , 0.49]))
    """

    probability: Array | dict[str, Array]
    log_bayes_factor: Array | dict[str, Array]


def feature_inclusion(
    model: NaiveBayes,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    *,
    prior: float = 0.5,
    sample_weight: ArrayLike | None = None,
    statistics: ModelStatistics | None = None,
) -> FeatureInclusion:
    """The posterior probability that each feature depends on the class, and the log Bayes factor behind it.

    log BF_d = log p(x_d | y, parameters by class) - log p(x_d | one set of parameters), both under the same prior,
    resolved from all rows. Under Dirichlet(1) a column with about as many categories as rows seems to depend on the
    class even if it does not, as with separate parameters no category has to occur in both classes. Arguments not
    listed are as in ``fit_mle``.

    Args:
        model: The specification, whose hyperparameters are the same for all classes.
        prior: The prior probability that a feature depends on the class, inside (0, 1).

    Raises:
        ValueError: if the data do not fit the model, hyperparameters differ between classes, or prior is not in (0, 1).

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]], [0, 0, 0, 1, 1, 1]
        >>> nb.feature_inclusion(nb.NaiveBayes(nb.Bernoulli()), X, y).probability.round(3)
        array([0.897, 0.493])
    """
    fit = fit_averaged(model, X, y, prior=prior, sample_weight=sample_weight, statistics=statistics)
    factors = {name: odds - _log_odds(prior) for name, odds in fit.log_odds.items()}
    return FeatureInclusion(fit.probability, factors["x"] if model.single else factors)


@pytree
class AveragedPosterior(Classifier):
    """The exact posterior averaged over all subsets of features.

    ``posterior`` has separate parameters for each class; ``pooled``, by block, the same families with one set of
    parameters for all classes; ``log_odds`` [D], by block, the posterior log odds that a feature depends on the class.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]], [0, 0, 0, 1, 1, 1]
        >>> fit = nb.fit_averaged(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> fit.probability.round(3), fit.predict_proba([[1, 0]]).round(2)
        (array([0.897, 0.493]), array([[0.27, 0.73]]))
    """

    posterior: Posterior
    pooled: dict[str, Family]
    log_odds: dict[str, Array]

    @property
    def model(self) -> NaiveBayes:
        """The posterior of the model in which every feature depends on the class."""
        return self.posterior.model

    @property
    def probability(self) -> Array | dict[str, Array]:
        """The posterior probability that each feature depends on the class: [D], or a dict by block."""
        found = {name: either.sigmoid(self.log_odds[name]) for name in self.model.families}
        return found["x"] if self.model.single else found

    def with_class_probs(self, class_probs: ArrayLike) -> Self:
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
        params = {"class_probs": self.model.class_probs_of(own)}
        for name, family in self.model.families.items():
            odds = self.log_odds[name]
            u = jax.random.uniform(jax.random.fold_in(keys[2], len(params)), (num_draws, *odds.shape))
            depends = namespace(odds).asarray(u) < either.sigmoid(odds)[None]
            for column, (site, value) in enumerate(by_own[name].items()):
                of_column = "_" in site  # such as probs_3
                mask = depends[:, column : column + 1] if of_column else depends
                before = () if site in family.common_sites or of_column else (1,)
                after = (1,) * (value.ndim - 2 - len(before))
                mask = mask.reshape(mask.shape[0], *before, mask.shape[1], *after)
                params[f"{name}_{site}"] = either.where(mask, value, by_common[name][site])
        return self.model.to_sites(params), np.arange(num_draws)

    def _scorer(self) -> Score:
        return average_inclusion(self.model, self.pooled, self.log_odds)


def fit_averaged(
    model: NaiveBayes,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    *,
    prior: float = 0.5,
    sample_weight: ArrayLike | None = None,
    statistics: ModelStatistics | None = None,
) -> AveragedPosterior:
    """The exact posterior averaged over all 2^D subsets of features that depend on the class, in closed form.

        p(x, k | D) = p(k | D) prod_d [P_d p(x_d | k, D) + (1 - P_d) p(x_d | D)]

    with the ``probability`` P_d of ``feature_inclusion``, whose arguments and errors these are.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]], [0, 0, 0, 1, 1, 1]
        >>> nb.fit_averaged(nb.NaiveBayes(nb.Bernoulli()), X, y).predict_proba([[0, 0]]).round(2)
        array([[0.8, 0.2]])
        >>> nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y).predict_proba([[0, 0]]).round(2)  # both in full
        array([[0.86, 0.14]])
    """
    arguments.require_probability(prior=prior)
    model, statistics = gather(model, X, y, sample_weight, statistics, closed_form=True)
    model = model.resolve(statistics=statistics)
    for name, family in model.families.items():
        if not is_alike_for_classes(family):
            raise ValueError(
                f"block {name!r} has hyperparameters that differ between classes: one set of parameters for all "
                "classes needs one prior"
            )
    updated, pooled = compute(update_both, model, statistics)
    # Bayes factors are differences of large numbers
    factors = compute(log_bayes_factors, *to_double((model, statistics)))
    odds = {name: factors[name] + _log_odds(prior) for name in model.families}
    return AveragedPosterior(Posterior(model, updated, statistics), pooled, odds)


def _log_odds(prior: float) -> float:
    return math.log(prior) - math.log1p(-prior)


@jax.jit
def log_bayes_factors(model: NaiveBayes, statistics: ModelStatistics) -> dict[str, Array]:
    """log BF_d by block, [D]; the base measure of the rows is the same in both and cancels."""
    pooled, factors = statistics.pool(), {}
    for name, family in model.families.items():
        common = one_class(family).log_partition_ratio(pooled[name]).sum(axis=0)
        factors[name] = family.log_partition_ratio(statistics.blocks[name]).sum(axis=0) - common
    return factors


@jax.jit
def update_both(model: NaiveBayes, statistics: ModelStatistics) -> tuple[NaiveBayes, dict[str, Family]]:
    """The posteriors with parameters by class, and by block those with one set of parameters for all classes."""
    pooled = statistics.pool()
    common = {name: one_class(family).update(pooled[name]) for name, family in model.families.items()}
    return model.update(statistics), common


def is_alike_for_classes(family: Family) -> bool:
    """Whether all classes have the same hyperparameters, or nobody knows as they are traced."""
    values = [known(leaf) for leaf in jax.tree.leaves(family)]
    return all((one == one[:1]).all() for one in values if one is not None and one.ndim)


def one_class(family: Family) -> Family:
    """The family of one class, whose hyperparameters are those of the first."""
    return jax.tree.map(lambda leaf: leaf[:1] if jnp.ndim(leaf) else leaf, family)
