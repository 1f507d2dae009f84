"""The Dirichlet prior of ``probs``, read off a user's program."""

from __future__ import annotations

from typing import Any, Self

import jax.numpy as jnp
import numpyro.distributions as dist

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family, Params


class DirichletPrior(Family):
    """theta_k ~ Dirichlet(concentration): the log density is a linear combination of log theta_kc."""

    concentration: Any

    site_supports = (("probs", dist.constraints.simplex),)

    @classmethod
    def prior_terms(cls, site: str, params: Params) -> tuple[Array, ...]:
        return tuple(jnp.moveaxis(jnp.log(params[site]), -1, 0))

    @classmethod
    def prior_of(cls, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        del site
        concentration = jnp.moveaxis(coefficients + 1.0, 0, -1)
        return {"concentration": concentration}, (concentration > 0).all(axis=-1)

    def tilt(self, site: str, powers: tuple[float, ...]) -> Self:
        del site
        return self._replace(concentration=self.concentration + powers[0])  # two categories: p^q (1 - p)^q
