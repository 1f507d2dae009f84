"""Priors times powers of their parameters: the densities of functions of the parameters, as programs have them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from bayesnb.families import Bernoulli, Binomial, Categorical, Multinomial, MultivariateNormal, Normal, Poisson
from bayesnb.families.base import Family, Hyperparameter
from bayesnb.rows.labelled_rows import Specification


def tilt_model(model: Specification) -> tuple[dict[str, Family], Hyperparameter]:
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


tilt.register(Poisson, lambda family, _site, powers: family._replace(shape=family.shape + powers[0]))
