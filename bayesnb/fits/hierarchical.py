"""NUTS on the hyperparameters alone: parameters are integrated out, then drawn exactly.

    p(h | rows)  is proportional to  p(h) p(rows | h),    theta | h, rows ~ the conjugate posterior

The evidence p(rows | h) has a closed form, so the sampler's dimension does not grow with classes and columns, nor its
cost with rows. The posterior is the same as with NUTS on the full program. Predictions average the exact predictive
over draws of h, which has far less noise than averaging over parameters. Azzimonti, Corani and Zaffalon, Hierarchical
estimation of parameters in Bayesian networks (2019), for Dirichlet-multinomial concentrations shared by the classes.
"""

from __future__ import annotations

from typing import Any

import jax

from bayesnb.arrays.compute import compute, compute_rows
from bayesnb.arrays.placement import pytree, to_host
from bayesnb.arrays.typing import Array
from bayesnb.fits import sampler
from bayesnb.model.declarations import fill_hyperpriors, hyperpriors, sample_hyperparameters
from bayesnb.model.naive_bayes import NaiveBayes, Sites
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products.linear_scores import Score
from bayesnb.results.combine import average_draws
from bayesnb.results.draws import Draws
from bayesnb.results.evidence import evidence
from bayesnb.results.generate import sample_once
from bayesnb.rows.statistics import ModelStatistics


@pytree
class HierarchicalDraws(Draws):
    """Draws whose predictions integrate the parameters out: p(y, x) is the mean over draws of p(y, x | h, rows).

    ``specification`` is the model with the hyperpriors; ``statistics`` are those of the rows.

    Example:
        >>> import jax, bayesnb as nb, numpyro.distributions as dist
        >>> model = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0), b=1.0))
        >>> settings = {"key": jax.random.key(0), "num_samples": 500, "num_warmup": 300, "progress_bar": False}
        >>> draws = nb.fit_nuts(model, [[1], [1], [0]], [0, 0, 1], **settings)
        >>> {site: values.shape for site, values in sorted(draws.params.items())}
        {'class_probs': (2000, 2), 'x_prior_a': (2000,), 'x_probs': (2000, 2, 1)}
    """

    specification: NaiveBayes
    statistics: ModelStatistics

    def _scorer(self) -> Score:
        own = self.model.own_params(self.params)
        values = {site: own[site] for site in hyperpriors(self.specification)}
        parts = self.specification, self.statistics, self.model.class_probs, values
        return lambda arrays: LogProb(*compute_rows(_mixture, parts, dict(arrays)))


def sample(model: NaiveBayes, statistics: ModelStatistics, key: Array, **settings: Any) -> HierarchicalDraws:
    """Draws given statistics on the host, in float64 since the evidence of many rows is a large number.

    ``settings`` go to ``sampler.sample``. ``Draws.model`` is the prior at the mean of the hyperparameters.
    """
    sampler_key, draw_key = jax.random.split(key)
    with jax.enable_x64(True):
        values, sample_stats = sampler.sample(TARGET, (model, statistics), sampler_key, **settings)
        keys = jax.random.split(draw_key, settings["num_samples"] * settings["num_chains"])
    values = to_host(values)
    params = {**values, **compute(_parameters, model, statistics, values, to_host(keys))}
    prior = compute(_resolve, model, statistics, {site: value.mean(axis=0) for site, value in values.items()})
    return HierarchicalDraws(prior, params, sample_stats, settings["num_chains"], model, statistics)


@jax.jit
def _resolve(model: NaiveBayes, statistics: ModelStatistics, values: Sites) -> NaiveBayes:
    return fill_hyperpriors(model, values).resolve(statistics=statistics)


def _log_likelihood(values: Sites, model: NaiveBayes, statistics: ModelStatistics) -> Array:
    return evidence(_resolve(model, statistics, values), statistics).total


TARGET = sampler.Target(lambda model, *_: sample_hyperparameters(model), _log_likelihood)


@jax.jit
def _mixture(
    model: NaiveBayes, statistics: ModelStatistics, class_probs: Array | None, values: Sites, arrays: dict[str, Array]
) -> LogProb:
    def joint(draw: Sites) -> LogProb:
        posterior = _resolve(model, statistics, draw).update(statistics)
        return (posterior if class_probs is None else posterior.with_class_probs(class_probs)).log_predictive(arrays)

    return average_draws(joint, values)


@jax.jit
def _parameters(model: NaiveBayes, statistics: ModelStatistics, values: Sites, keys: Array) -> Sites:
    """One draw of the parameters from the posterior under each draw of the hyperparameters."""

    def draw(values: Sites, key: Array) -> Sites:
        return sample_once(_resolve(model, statistics, values).update(statistics), key)

    return jax.vmap(draw)(values, keys)
