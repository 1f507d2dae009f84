"""Other coordinates of a block's parameters: a sampler's, and those of a program.

``centre`` moves a problem to where its posterior is of order one, and ``restore`` brings parameters back. ``tilt``
multiplies a prior by powers of its parameters: the density of functions of these, as programs have them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import jax.numpy as jnp

from bayesnb.core.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Likelihood,
    Mapped,
    Multinomial,
    MultivariateNormal,
    Normal,
    NormalKnownVariance,
    OneRate,
    Poisson,
)
from bayesnb.core.families._base import Family, Hyperparameter, Params
from bayesnb.core.families.priors import _normal_inverse_gamma as normal_inverse_gamma
from bayesnb.core.families.priors import _normal_inverse_wishart as normal_inverse_wishart
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics


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
    centre, factor, _ = normal_inverse_wishart.units(family.prior, statistics)
    loc = centre + (factor @ params["loc"][..., None])[..., 0]
    covariance = factor @ family.as_table(params["covariance"]) @ jnp.swapaxes(factor, -1, -2)
    return family.with_constants(loc, covariance)


@centre.register(Mapped)
def _(family: Any, statistics: Any) -> tuple[Any, Any]:
    parts, of_parts = zip(*family.each(centre, statistics.parts), strict=True)
    return family._replace(parts=parts), replace(statistics, parts=(*of_parts, *statistics.parts[len(parts) :]))


@restore.register(Mapped)
def _(family: Any, statistics: Any, params: Params) -> Params:
    restored: Params = family.join(family.each(restore, statistics.parts, family.own(params)))
    return restored


def tilt_model(model: Any) -> tuple[dict[str, Family], Hyperparameter]:
    """The families and the class concentration whose densities are those of the program's own parameters."""
    tilts = {} if model.spelling is None else model.spelling.tilts()
    families = dict(model.families)
    for block, family in model.families.items():
        for site in family.sites:
            if f"{block}_{site}" in tilts:
                families[block] = tilt(families[block], site, tilts[f"{block}_{site}"])
    # only two classes have a probability that is a function of one latent: p^q (1 - p)^q
    return families, model.class_concentration + tilts.get("class_probs", (0.0,))[0]


@singledispatch
def tilt(family: Any, site: str, powers: tuple[float, ...]) -> Any:
    """The prior times powers of the parameter: x^p, or x^p (1 - x)^q for a probability.

    Its mode is the mode of the density of a function of the parameter, such as a precision.
    """
    del site, powers
    return family


@tilt.register(Bernoulli)
@tilt.register(Binomial)
def _(family: Any, site: str, powers: tuple[float, ...]) -> Any:
    del site
    return family._replace(a=family.a + powers[0], b=family.b + powers[1])


@tilt.register(Categorical)
@tilt.register(Multinomial)
def _(family: Any, site: str, powers: tuple[float, ...]) -> Any:
    del site
    return family._replace(concentration=family.concentration + powers[0])  # two categories: p^q (1 - p)^q


@tilt.register(Normal)
def _(family: Any, site: str, powers: tuple[float, ...]) -> Any:
    return family._replace(shape=family.shape - powers[0]) if site == "variance" else family


@tilt.register(MultivariateNormal)
def _(family: Any, site: str, powers: tuple[float, ...]) -> Any:
    return family._replace(df=family.df - 2.0 * powers[0]) if site == "covariance" else family


tilt.register(
    Likelihood, lambda family, site, powers: family._replace(tilts=(*family.tilts, (site, tuple(map(float, powers)))))
)


@tilt.register(Mapped)
def _(family: Any, site: str, powers: tuple[float, ...]) -> Any:
    return family._replace(parts=(tilt(family.first, site, powers), *family.parts[1:]))


tilt.register(OneRate, lambda family, _site, powers: family.tilt(powers))
tilt.register(Poisson, lambda family, _site, powers: family._replace(shape=family.shape + powers[0]))
