"""The normal-inverse-gamma prior: sigma2 ~ InverseGamma(shape, rate), mu | sigma2 ~ Normal(loc, sigma2 / strength).

Pure functions of its hyperparameters. If the classes share the variance, shape and rate are [1, D] beside loc [K, D].
A column with rate 0 has no scale: its values are constant, and it stays so. Murphy, Conjugate Bayesian analysis of the
Gaussian distribution (2007), section 3.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln

from bayesnb.arrays.placement import Array
from bayesnb.families.base import sum_shared
from bayesnb.families.left_out import others_of
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.numerics import log_gamma


class NormalInverseGamma(NamedTuple):
    """The hyperparameters, arrays that broadcast against each other."""

    loc: Array
    strength: Array
    shape: Array
    rate: Array

    @property
    def scaleless(self) -> Array:
        """True for columns without a scale, which have factor 1."""
        return jnp.asarray(self.rate) == 0

    @property
    def proper_rate(self) -> Array:
        """The rate, or 1 for columns without a scale: the prior stays proper, and its variance is not used."""
        return jnp.where(self.scaleless, 1.0, self.rate)


def update(prior: NormalInverseGamma, statistics: NormalStatistics) -> NormalInverseGamma:
    """The posterior; the formulas are in ``Normal``."""
    n = statistics.count
    strength = prior.strength + n
    loc = prior.loc + n / strength * (statistics.mean - prior.loc)
    rate = prior.rate + 0.5 * sum_shared(_squares(prior, statistics), prior.rate)
    return NormalInverseGamma(
        loc=jnp.where(prior.scaleless, prior.loc, loc),
        strength=strength,
        shape=prior.shape + 0.5 * sum_shared(n, prior.shape),
        rate=jnp.where(prior.scaleless, 0.0, rate),
    )


def _squares(prior: NormalInverseGamma, statistics: NormalStatistics) -> Array:
    """What each class adds to twice the rate: S + strength n (m - loc)^2 / strength'."""
    shrunk = prior.strength / (prior.strength + statistics.count) * statistics.count
    return statistics.squares + shrunk * jnp.square(statistics.mean - prior.loc)


def leave_out(
    prior: NormalInverseGamma, statistics: NormalStatistics, x: Array, y: Array, weight: Array
) -> NormalInverseGamma:
    """The posterior of each row's class without the row's own cells, every hyperparameter [N, D]."""
    shared = prior.rate.shape[0] < prior.loc.shape[0]
    own = jnp.zeros_like(y) if shared else y
    of_row = NormalInverseGamma(prior.loc[y], prior.strength[y], prior.shape[own], prior.rate[own])
    posterior = update(of_row, statistics.without(x, y, weight))
    if not shared:
        return posterior
    count, squares = (others_of(table) for table in (statistics.count, _squares(prior, statistics)))
    rate = jnp.where(of_row.scaleless, 0.0, posterior.rate + 0.5 * squares[y])
    return posterior._replace(shape=posterior.shape + 0.5 * count[y], rate=rate)


def leave_out_by_class(
    prior: NormalInverseGamma, statistics: NormalStatistics, x: Array, y: Array, weight: Array
) -> NormalInverseGamma:
    """The posteriors of all classes without each row, [N, K, D]: a row changes a shared variance in every class."""
    posterior = update(prior, statistics)
    left = jax.tree.map(lambda table: table[:, None], leave_out(prior, statistics, x, y, weight))
    own = (jnp.arange(prior.loc.shape[0])[None] == y[:, None])[:, :, None]
    loc = jnp.where(own, left.loc, posterior.loc[None])
    return left._replace(loc=loc, strength=jnp.where(own, left.strength, posterior.strength[None]))


def mode(prior: NormalInverseGamma) -> tuple[Array, Array]:
    """The joint mode of the means and variances: mu = loc, sigma2 = rate / (shape + 1 + 1/2 per mean of the column)."""
    means_per_variance = prior.loc.shape[0] // prior.rate.shape[0]
    return prior.loc, prior.rate / (prior.shape + 1.0 + 0.5 * means_per_variance)


def log_partition(prior: NormalInverseGamma) -> Array:
    """log Gamma(shape) - shape log rate - log(strength) / 2, up to a constant; 0 for columns without a scale."""
    strengths = sum_shared(jnp.log(prior.strength), prior.rate)
    value = gammaln(prior.shape) - prior.shape * jnp.log(prior.proper_rate) - 0.5 * strengths
    return jnp.where(prior.scaleless, 0.0, value)


def log_partition_ratio(prior: NormalInverseGamma, statistics: NormalStatistics) -> Array:
    """The posterior's log partition minus the prior's."""
    rate, grown = prior.proper_rate, 0.5 * sum_shared(_squares(prior, statistics), prior.rate)
    shapes = log_gamma.log_gamma_ratio(prior.shape, 0.5 * sum_shared(statistics.count, prior.shape), rate + grown)
    strengths = sum_shared(jnp.log1p(statistics.count / prior.strength), prior.rate)
    value = shapes - prior.shape * jnp.log1p(grown / rate) - 0.5 * strengths
    return jnp.where(prior.scaleless, 0.0, value)


def centre(prior: NormalInverseGamma, statistics: NormalStatistics) -> tuple[NormalInverseGamma, NormalStatistics]:
    """The prior and statistics in coordinates where the posterior is of order one."""
    centre, scale = units(prior, statistics)
    moved = prior._replace(loc=(prior.loc - centre) / scale, rate=prior.rate / jnp.square(scale))
    mean = jnp.where(statistics.count > 0, (statistics.mean - centre) / scale, 0.0)
    return moved, NormalStatistics(statistics.count, mean, statistics.squares / jnp.square(scale))


def units(prior: NormalInverseGamma, statistics: NormalStatistics) -> tuple[Array, Array]:
    """The posterior mean of mu, and the root of the posterior's rate / shape."""
    posterior = update(prior, statistics)
    return posterior.loc, jnp.sqrt(posterior.proper_rate / posterior.shape)
