"""Coordinates in which the posterior of a block's parameters is of order one, for samplers."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax.numpy as jnp

from bayesnb.families import MultivariateNormal, Normal, NormalKnownVariance
from bayesnb.families.base import Params
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.families.priors import normal_inverse_gamma, normal_inverse_wishart


@singledispatch
def centre(family: Any, statistics: Any) -> tuple[Any, Any]:
    """The same problem (prior and statistics) in these coordinates."""
    return family, statistics


@singledispatch
def restore(family: Any, statistics: Any, params: Params) -> Params:
    """Parameters of the ``centre`` problem in the original coordinates."""
    del family, statistics
    return params


@centre.register(Normal)
def _(family: Any, statistics: Any) -> tuple[Any, Any]:
    prior, statistics = normal_inverse_gamma.centre(family.prior, statistics)
    return family._replace(**prior._asdict()), statistics


@restore.register(Normal)
def _(family: Any, statistics: Any, params: Params) -> Params:
    off, (centre, scale) = family.prior.scaleless, normal_inverse_gamma.units(family.prior, statistics)
    variance = jnp.where(off, 0.0, jnp.square(scale) * family.as_table(params["variance"]))
    return {"loc": jnp.where(off, family.loc, centre + scale * params["loc"]), "variance": family.as_site(variance)}


@centre.register(NormalKnownVariance)
def _(family: Any, statistics: Any) -> tuple[Any, Any]:
    posterior = family.update(statistics)
    centre, unit = posterior.loc, posterior.scale
    mean = jnp.where(statistics.count > 0, (statistics.mean - centre) / unit, 0.0)
    standard = NormalStatistics(statistics.count, mean, statistics.squares / jnp.square(unit))
    prior = {"loc": (family.loc - centre) / unit, "scale": family.scale / unit}
    return family._replace(**prior, variance=family.variance / jnp.square(unit)), standard


@restore.register(NormalKnownVariance)
def _(family: Any, statistics: Any, params: Params) -> Params:
    posterior = family.update(statistics)
    return {"loc": posterior.loc + posterior.scale * params["loc"]}


@centre.register(MultivariateNormal)
def _(family: Any, statistics: Any) -> tuple[Any, Any]:
    prior, statistics = normal_inverse_wishart.centre(family.prior, statistics)
    return family._replace(**prior._asdict()), statistics


@restore.register(MultivariateNormal)
def _(family: Any, statistics: Any, params: Params) -> Params:
    centre, factor = normal_inverse_wishart.units(family.prior, statistics)
    loc = centre + (factor @ params["loc"][..., None])[..., 0]
    covariance = factor @ family.as_table(params["covariance"]) @ jnp.swapaxes(factor, -1, -2)
    return family.with_constants(loc, covariance)
