"""The normal-inverse-gamma prior of a mean and a variance, and its conjugate update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Hyperparameter, Params
from bayesnb.families.parts.plates import plates
from bayesnb.families.parts.statistics import NormalStatistics, others_of
from bayesnb.families.parts.support import broadcast
from bayesnb.families.parts.tied import Tied
from bayesnb.numerics import log_gamma


class NormalInverseGamma(Tied):
    """sigma2_kd ~ InverseGamma(shape, rate), mu_kd | sigma2_kd ~ Normal(loc, sigma2_kd / strength); sigma2_d if shared.

    With n values of mean m and squared deviations S the posterior has strength' = strength + n, loc' = (strength loc +
    n m) / strength', shape' = shape + n/2, rate' = rate + S/2 + strength n (m - loc)^2 / (2 strength'). Murphy,
    Conjugate Bayesian analysis of the Gaussian distribution (2007), section 3. A column without a scale (rate 0) stays
    constant.
    """

    variance: str
    loc: Hyperparameter
    strength: Hyperparameter
    shape: Hyperparameter
    rate: Hyperparameter

    sites = ("loc", "variance")
    may_be_common = "variance"
    axes = (("loc", "KD"), ("strength", "KD"), ("shape", "TD"), ("rate", "TD"))
    required = ("strength", "shape")
    squared = ("loc",)

    def resolve(self, pooled: NormalStatistics, num_classes: int) -> Self:
        own = (num_classes, pooled.count.shape[-1])
        tied = (1, own[1]) if self.shared else own
        loc = pooled.mean if self.loc is None else self.loc
        rate = pooled.variance if self.rate is None else self.rate
        return self._replace(
            loc=broadcast(loc, own, "loc"),
            strength=broadcast(self.strength, own, "strength"),
            shape=broadcast(self.shape, tied, "shape"),
            rate=broadcast(rate, tied, "rate"),
        )

    def as_given(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values, "rate": np.where(values["rate"] == 0, 1.0, values["rate"])}

    @property
    def shared(self) -> bool:
        return self.variance == "shared"

    def untied(self) -> Self:
        return self._replace(variance="own")

    def params(self, block: str) -> Params:
        off = self._scaleless()
        with plates(block, jnp.shape(self.loc), common=self.shared):
            prior = dist.InverseGamma(self.as_site(self.shape), self.as_site(self._site_rate()))
            variance = numpyro.sample(f"{block}_variance", prior)
        with plates(block, jnp.shape(self.loc)):
            spread = jnp.sqrt(self.as_table(variance) / self.strength)
            loc = numpyro.sample(f"{block}_loc", dist.Normal(self.loc, spread))
        return {"loc": jnp.where(off, self.loc, loc), "variance": jnp.where(self.as_site(off), 0.0, variance)}

    def update(self, statistics: NormalStatistics) -> Self:
        n, off = statistics.count, self._scaleless()
        strength = self.strength + n
        # a column without a scale stays without one
        return self._replace(
            loc=jnp.where(off, self.loc, self.loc + n / strength * (statistics.mean - self.loc)),
            strength=strength,
            shape=self.shape + 0.5 * self.tied(n),
            rate=jnp.where(off, 0.0, self.rate + 0.5 * self.tied(self._squares(statistics))),
        )

    def _squares(self, statistics: NormalStatistics) -> Array:
        """What each class adds to twice the rate: S + strength n (m - loc)^2 / strength'."""
        shrunk = self.strength / (self.strength + statistics.count) * statistics.count
        return statistics.squares + shrunk * jnp.square(statistics.mean - self.loc)

    def without(self, statistics: NormalStatistics, x: Array, y: Array, weight: Array) -> Self:
        """The posterior of each row's class without the row's own cells, every hyperparameter [N, D]."""
        own = jnp.zeros_like(y) if self.shared else y
        prior = self.untied()._replace(
            loc=self.loc[y], strength=self.strength[y], shape=self.shape[own], rate=self.rate[own]
        )
        posterior = prior.update(statistics.without(x, y, weight))
        if not self.shared:
            return posterior
        # add the other classes' contribution to the shared variance
        count, squares = (others_of(table) for table in (statistics.count, self._squares(statistics)))
        rate = jnp.where(prior._scaleless(), 0.0, posterior.rate + 0.5 * squares[y])
        return posterior._replace(shape=posterior.shape + 0.5 * count[y], rate=rate)

    def reference(self) -> Params:
        """The mean of loc; for the variance, whose mean may not exist, one over the mean precision."""
        return {"loc": self.loc, "variance": self.as_site(self._site_rate() / self.shape)}

    def mode(self) -> Params:
        means = self.loc.shape[0] if self.shared else 1
        return {"loc": self.loc, "variance": self.as_site(self.rate / (self.shape + 1.0 + 0.5 * means))}

    def centred(self, statistics: NormalStatistics) -> tuple[Self, NormalStatistics]:
        n, (centre, scale) = statistics.count, self._posterior_units(statistics)
        prior = self._replace(loc=(self.loc - centre) / scale, rate=self.rate / jnp.square(scale))
        mean = jnp.where(n > 0, (statistics.mean - centre) / scale, 0.0)
        return prior, NormalStatistics(n, mean, statistics.squares / jnp.square(scale))

    def restored(self, statistics: NormalStatistics, params: Params) -> Params:
        off, (centre, scale) = self._scaleless(), self._posterior_units(statistics)
        variance = jnp.where(off, 0.0, jnp.square(scale) * self.as_table(params["variance"]))
        return {"loc": jnp.where(off, self.loc, centre + scale * params["loc"]), "variance": self.as_site(variance)}

    def _posterior_units(self, statistics: NormalStatistics) -> tuple[Array, Array]:
        """The posterior mean of loc and the root of the posterior rate / shape."""
        posterior = self.update(statistics)
        return posterior.loc, jnp.sqrt(posterior._site_rate() / posterior.shape)

    def log_partition(self) -> Array:
        value = gammaln(self.shape) - self.shape * jnp.log(self._site_rate()) - 0.5 * self.tied(jnp.log(self.strength))
        return jnp.where(self._scaleless(), 0.0, value)

    def log_partition_ratio(self, statistics: NormalStatistics) -> Array:
        rate, grown = self._site_rate(), 0.5 * self.tied(self._squares(statistics))
        shapes = log_gamma.log_gamma_ratio(self.shape, 0.5 * self.tied(statistics.count), rate + grown)
        strengths = self.tied(jnp.log1p(statistics.count / self.strength))
        value = shapes - self.shape * jnp.log1p(grown / rate) - 0.5 * strengths
        return jnp.where(self._scaleless(), 0.0, value)

    def _scaleless(self) -> Array:
        """True for columns without a scale, which have factor 1."""
        return jnp.asarray(self.rate) == 0

    def _site_rate(self) -> Array:
        """The rate, or 1 for columns without a scale: their site stays proper, and its value is not used."""
        return jnp.where(self._scaleless(), 1.0, self.rate)
