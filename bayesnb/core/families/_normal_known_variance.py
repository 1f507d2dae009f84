"""Real features with known variances and Normal priors on their means."""

from __future__ import annotations

from typing import Any, Self

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.primitives._distances import LOG_2PI
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, LinearFamily, Params, Score, pytree
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families._normal import Normal
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics

NORMAL = Normal()
"""The likelihood, and the predictive: there the variance is one of the parameters."""


@pytree
class NormalKnownVariance(LinearFamily):
    """Real features of known variance, such as the squared error of an instrument: mu_kd ~ Normal(loc, scale^2),
    x_nd | y_n = k ~ Normal(mu_kd, variance).

    With n values of mean m the posterior is Normal(loc', scale'^2) with 1 / scale'^2 = 1 / scale^2 + n / variance and
    loc' = scale'^2 (loc / scale^2 + n m / variance), also its mode. The predictive is Normal(loc', scale'^2 +
    variance). Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007), section 2; Gelman et al.,
    Bayesian Data Analysis, 3rd edition, section 2.5.

    Args:
        variance: The known variance of cells, positive; 1 suits standardised columns.
        loc: Prior mean of mu; None for the pooled mean.
        scale: Prior standard deviation of mu, positive; None for the root of the variance: one pseudo-row.

    All broadcast to [K, D]. Cells are finite numbers or NaN (missing). Sites: ``block_loc`` [K, D].

    Example:
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes(nb.NormalKnownVariance(variance=1.0, loc=0.0, scale=1.0))
        >>> post = nb.fit_posterior(model, [[1.0], [2.0], [3.0], [7.0]], [0, 0, 0, 1])
        >>> post.model.families["x"].loc.round(3), post.model.families["x"].scale.round(3)
        (array([[1.5],
               [3.5]]), array([[0.5  ],
               [0.707]]))
    """

    variance: Hyperparameter = 1.0
    loc: Hyperparameter = None
    scale: Hyperparameter = None

    sites = ("loc",)
    axes = (("loc", "KD"), ("scale", "KD"), ("variance", "KD"))
    required = ("variance",)
    positive = ("variance", "scale")
    squared = ("loc", "scale")
    statistics_type = NormalStatistics

    def defaults(self, pooled: NormalStatistics) -> Params:
        return {"loc": pooled.mean, "scale": jnp.sqrt(jnp.asarray(self.variance))}

    def params(self, block: str) -> Params:
        with plates(block, jnp.shape(self.loc)):
            return {"loc": numpyro.sample(f"{block}_loc", dist.Normal(self.loc, self.scale))}

    def likelihood(self, params: Params) -> dist.Distribution:
        return dist.Normal(params["loc"], jnp.sqrt(params.get("variance", self.variance)))

    known_parameter = (Normal, "variance")

    def statistics(self, x: Array, z: ClassSums) -> NormalStatistics:
        return NormalStatistics(*z.moments(x))

    def update(self, statistics: NormalStatistics) -> Self:
        width, spread = self._widths(statistics.count)
        share = jnp.square(spread / width)
        loc = self.loc + share * (statistics.mean - self.loc)
        return self._replace(loc=loc, scale=self.scale * (jnp.sqrt(self.variance) / width))

    def _widths(self, count: Array) -> tuple[Array, Array]:
        """sqrt(variance + n scale^2), which does not overflow, and sqrt(n) scale."""
        spread = jnp.sqrt(count) * self.scale
        return jnp.hypot(jnp.sqrt(self.variance), spread), spread

    def reference(self) -> Params:
        return {"loc": self.loc}

    def mode(self) -> Params:
        return {"loc": self.loc}

    def mle(self, statistics: NormalStatistics) -> Params:
        return {"loc": jnp.where(statistics.count > 0, statistics.mean, statistics.pool().mean)}

    def with_variance(self, params: Params) -> Params:
        """The parameters of ``NORMAL``."""
        return {"loc": params["loc"], "variance": jnp.broadcast_to(self.variance, jnp.shape(params["loc"]))}

    def coefficients(self, params: Params) -> Linear:
        return NORMAL.coefficients(self.with_variance(params))

    def features(self, x: Array) -> tuple[Array, ...]:
        return NORMAL.features(x)

    def likelihood_tables(self, params: Params) -> Any:
        return NORMAL.likelihood_tables(self.with_variance(params))

    def likelihood_scorer(self, tables: Any) -> Score:
        return NORMAL.likelihood_scorer(tables)

    predictive_scorer = likelihood_scorer

    def log_likelihood_ratio(self, statistics: NormalStatistics, params: Params, reference: Params) -> Array:
        moved = params["loc"] - reference["loc"]
        distance = 2.0 * (statistics.mean - reference["loc"]) - moved
        return (0.5 * statistics.count / self.variance * moved * distance).sum()

    def _predictive(self) -> Params:
        return {"loc": self.loc, "variance": self.variance + jnp.square(self.scale)}

    def predictive_tables(self) -> Any:
        return NORMAL.likelihood_tables(self._predictive())

    def log_predictive_terms(self, x: Array) -> Array:
        return NORMAL.log_likelihood_terms(self._predictive(), jnp.asarray(x, jnp.result_type(float))).finite

    def log_partition(self) -> Array:
        return jnp.log(self.scale)

    def log_partition_ratio(self, statistics: NormalStatistics) -> Array:
        """The change of log scale, and the rows' squared deviations from their mean and of it from the prior's."""
        n, (width, spread) = statistics.count, self._widths(statistics.count)
        deviation = stable.squarable(jnp.sqrt(n) * (statistics.mean - self.loc) / width)
        shrunk = stable.log1p_square(spread / jnp.sqrt(self.variance)) + jnp.square(deviation)
        return -0.5 * (shrunk + statistics.squares / self.variance + n * jnp.log(self.variance))

    def log_base_measure(self, statistics: NormalStatistics) -> Array:
        return -0.5 * LOG_2PI * statistics.count
