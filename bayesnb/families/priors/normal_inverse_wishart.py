"""The normal-inverse-Wishart prior of a mean and a covariance, and its conjugate update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Hyperparameter, Params
from bayesnb.families.parts.plates import plates
from bayesnb.families.parts.statistics import MultivariateNormalStatistics
from bayesnb.families.parts.support import broadcast
from bayesnb.families.parts.tied import Tied
from bayesnb.numerics.covariances import (
    inside,
    log_partition_wishart,
    log_wishart_ratio,
    outer,
    proper,
    variances,
    whiten,
    whiten_matrix,
)


class NormalInverseWishart(Tied):
    """Sigma_k ~ InverseWishart(df, scale), mu_k | Sigma_k ~ Normal(loc, Sigma_k / strength), or one Sigma for all.

    With n rows of mean m and scatter matrix S the posterior has strength' = strength + n, loc' = (strength loc + n m) /
    strength', df' = df + n, scale' = scale + S + strength n / strength' (m - loc)(m - loc)'. Murphy, Conjugate Bayesian
    analysis of the Gaussian distribution (2007), section 9. A column without a scale stays constant.
    """

    covariance: str
    loc: Hyperparameter
    strength: Hyperparameter
    df: Hyperparameter
    scale: Hyperparameter

    sites = ("loc", "covariance")
    may_be_common = "covariance"
    axes = (("loc", "KD"), ("strength", "K"), ("df", "T"), ("scale", "TDD"))
    required = ("strength", "smoothing")
    squared = ("loc",)
    most_axes = 3

    def resolve(self, pooled: MultivariateNormalStatistics, num_classes: int) -> Self:
        size = pooled.mean.shape[-1]
        tied = 1 if self.shared else num_classes
        loc = pooled.mean if self.loc is None else self.loc
        df = size + 1.0 if self.df is None else self.df
        scale = 2.0 * pooled.covariance * jnp.eye(size)[None] if self.scale is None else self.scale
        return self._replace(
            loc=broadcast(loc, (num_classes, size), "loc"),
            strength=broadcast(self.strength, (num_classes,), "strength"),
            df=broadcast(df, (tied,), "df"),
            scale=broadcast(scale, (tied, size, size), "scale"),
        )

    def as_given(self, values: Mapping[str, Any]) -> dict[str, Any]:
        idle = np.eye(values["scale"].shape[-1]) * (variances(values["scale"]) == 0)[..., None]
        return {**values, "scale": values["scale"] + idle}

    @property
    def num_classes(self) -> int | None:
        ranks = {"loc": 2, "strength": 1, "df": 1, "scale": 3}
        given = (getattr(self, name) for name, rank in ranks.items() if np.ndim(getattr(self, name)) == rank)
        found = {np.shape(value)[0] for value in given} - {1}
        if len(found) > 1:
            raise ValueError(f"{self!r}: hyperparameters for different numbers of classes, {sorted(found)}")
        return found.pop() if found else None

    @property
    def declared_columns(self) -> int | None:
        return None if self.scale is None else np.shape(self.scale)[-1]

    @property
    def table_shape(self) -> tuple[int, int]:
        return self.loc.shape

    @property
    def shared(self) -> bool:
        return self.covariance == "shared"

    def untied(self) -> Self:
        return self._replace(covariance="full")

    def params(self, block: str) -> Params:
        on = self._varying()
        size = self.loc.shape[:1]
        with plates(block, size, common=self.shared):
            prior = dist.InverseWishart(self.as_site(self.df), proper(self.as_site(self.scale), self.as_site(on)))
            covariance = numpyro.sample(f"{block}_covariance", prior)
        with plates(block, size):
            spread = self.as_table(covariance) / self.strength[:, None, None]
            loc = numpyro.sample(f"{block}_loc", dist.MultivariateNormal(self.loc, covariance_matrix=spread))
        return self._masked(loc, self.as_table(covariance))

    def update(self, statistics: MultivariateNormalStatistics) -> Self:
        n, on = statistics.count, self._varying()
        strength = self.strength + n
        scatter = self.tied(self._scatter(statistics))
        return self._replace(
            loc=jnp.where(on, self.loc + (n / strength)[:, None] * (statistics.mean - self.loc), self.loc),
            strength=strength,
            df=self.df + self.tied(n),
            # a column without a scale stays without one
            scale=jnp.where(inside(on), self.scale + scatter, 0.0),
        )

    def _scatter(self, statistics: MultivariateNormalStatistics) -> Array:
        """What each class adds to the scale: S + strength n / strength' (m - loc)(m - loc)'."""
        shrunk = self.strength / (self.strength + statistics.count) * statistics.count
        return statistics.scatter + shrunk[:, None, None] * outer(statistics.mean - self.loc)

    def reference(self) -> Params:
        """The mean of loc; for the covariance, whose mean may not exist, the inverse of the mean precision."""
        on = self._varying()
        return self._masked(self.loc, proper(self.scale, on) / self.df[:, None, None])

    def mode(self) -> Params:
        means = self.loc.shape[0] if self.shared else 1
        size = self._varying().sum(axis=1)
        return self._masked(self.loc, self.scale / (self._marginal_df() + size + 1.0 + means)[:, None, None])

    def centred(self, statistics: MultivariateNormalStatistics) -> tuple[Self, MultivariateNormalStatistics]:
        n, (centre, factor) = statistics.count, self._posterior_units(statistics)
        prior = self._replace(loc=whiten(factor, self.loc - centre), scale=self._cut(whiten_matrix(factor, self.scale)))
        mean = jnp.where(n[:, None] > 0, whiten(factor, statistics.mean - centre), 0.0)
        scatter = whiten_matrix(factor, statistics.scatter)
        return prior, MultivariateNormalStatistics(mean, n, scatter)

    def restored(self, statistics: MultivariateNormalStatistics, params: Params) -> Params:
        centre, factor = self._posterior_units(statistics)
        loc = centre + (factor @ params["loc"][..., None])[..., 0]
        return self._masked(loc, factor @ self.as_table(params["covariance"]) @ jnp.swapaxes(factor, -1, -2))

    def _posterior_units(self, statistics: MultivariateNormalStatistics) -> tuple[Array, Array]:
        """The posterior mean of loc, and the factor of the posterior scale / df."""
        posterior = self.update(statistics)
        return posterior.loc, jnp.linalg.cholesky(
            proper(posterior.scale, self._varying()) / posterior.df[:, None, None]
        )

    def log_partition(self) -> Array:
        on = self._varying()
        strength = self.tied(jnp.log(self.strength))
        return (log_partition_wishart(self._marginal_df(), self.scale, on) - 0.5 * on.sum(axis=1) * strength)[:, None]

    def log_partition_ratio(self, statistics: MultivariateNormalStatistics) -> Array:
        on, grown = self._varying(), self._cut(self.tied(self._scatter(statistics)))
        change = log_wishart_ratio(self._marginal_df(), self.tied(statistics.count), self.scale, grown, on)
        strengths = self.tied(jnp.log1p(statistics.count / self.strength))
        return (change - 0.5 * on.sum(axis=1) * strengths)[:, None]

    def _varying(self) -> Array:
        """False for columns without a scale, which have factor 1, [K, D] or [1, D]."""
        return variances(jnp.asarray(self.scale)) > 0

    def _marginal_df(self) -> Array:
        """Degrees of freedom of the columns that vary: those of a marginal of the inverse Wishart."""
        return self.df - (~self._varying()).sum(axis=1)

    def _cut(self, scale: Array) -> Array:
        return jnp.where(inside(self._varying()), scale, 0.0)

    def _masked(self, loc: Array, covariance: Array) -> Params:
        """Parameters with constants for the columns without a scale."""
        return {"loc": jnp.where(self._varying(), loc, self.loc), "covariance": self.as_site(self._cut(covariance))}
