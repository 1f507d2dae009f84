"""Priors raised to a power, and how far that moves each parameter.

p(theta)^alpha is a prior of the same family, with other hyperparameters; the likelihood to the power alpha is that of
alpha times the statistics. The distance is that of priorsense and ArviZ (Kallioinen, Paananen, Buerkner and Vehtari,
Detecting and diagnosing prior and likelihood sensitivity with power-scaling, 2024): the cumulative Jensen-Shannon
distance of a parameter's posterior before and after, over log2 alpha. As alpha goes to 1 it is, of a distribution
function P and its derivative P' by log2 alpha,

    sqrt(int P'^2 / P  /  (8 log(2) int P)),      the larger of x and -x

The integrals go from the smallest to the largest of S draws, as ArviZ has them: quantiles 1 / (2 S) and 1 - 1 / (2 S).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics._covariances import proper, variances
from bayesnb.core.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Mapped,
    Multinomial,
    Normal,
    NormalKnownVariance,
    OneRate,
    Poisson,
)
from bayesnb.core.families._categorical import EndToEnd
from bayesnb.core.families._multivariate_normal import MultivariateNormal

POINTS, REACH = 512, 14.0
"""Of a parameter's grid, which reaches so many standard deviations of its logit, logarithm or inverse sine."""

NORMAL = 1e9
"""Degrees of freedom with which Student's t is a normal distribution."""

AT_ONCE = 256
"""Parameters whose grids are in memory at once."""


class Grid(NamedTuple):
    """The log density of a coordinate of a parameter x at equal steps, up to a constant, and the steps' width in x."""

    log_density: Callable[[Array], Array]
    width: Array


Kind = Callable[[Array], Grid]


def beta(params: Array) -> Grid:
    """Of a probability by its logit; Beta(a, b)."""
    (a, b), steps = params, jnp.linspace(-REACH, REACH, POINTS)
    logit = _log_mean(a) - _log_mean(b) + jnp.sqrt(1 / a + 1 / a**2 + 1 / b + 1 / b**2) * steps
    one, zero = jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit)
    return Grid(lambda params: params[0] * one + params[1] * zero, jnp.exp(one + zero))


def gamma(params: Array) -> Grid:
    """Of a rate by its logarithm; Gamma(shape, rate)."""
    a, b = params
    log = _log_mean(a) - jnp.log(b) + jnp.sqrt(1 / a + 1 / a**2) * jnp.linspace(-REACH, REACH, POINTS)
    return Grid(lambda params: params[0] * log - params[1] * jnp.exp(log), jnp.exp(log))


@lru_cache
def root_of_gamma(power: float) -> Kind:
    """Of a number of which this power has the Gamma distribution, by the power's logarithm."""

    def kind(params: Array) -> Grid:
        of_power = gamma(params)
        return of_power._replace(width=of_power.width ** (1.0 / power))

    return kind


inverse_gamma = root_of_gamma(-1.0)


def student(params: Array) -> Grid:
    """Of a location by the inverse hyperbolic sine; Student's t with (freedom, location, scale)."""
    freedom, loc, scale = params
    sine = jnp.linspace(-1.0, 1.0, POINTS) * (jnp.arcsinh(REACH) + REACH / freedom)
    x, width = loc + scale * jnp.sinh(sine), scale * jnp.cosh(sine)

    def log_density(params: Array) -> Array:
        z = (x - params[1]) / params[2]
        return jnp.log(width) - 0.5 * (params[0] + 1.0) * jnp.log1p(z * z / params[0])

    return Grid(log_density, width)


def _log_mean(count: Array) -> Array:
    """About the mean of the logarithm of a Gamma variable, digamma(count)."""
    return jnp.log(count + 0.5) - 1.0 / count


Marginals = dict[str, tuple[Kind, tuple[Array, ...]]]
"""By short name of a site, the distribution of each of its entries, and its hyperparameters."""


def _refuse(family: Any, _: Any = None) -> Any:
    raise ValueError(
        f"{type(family).__name__} has no prior whose power is another such prior: power-scaling takes Bernoulli, "
        "Binomial, Categorical, Multinomial, MultivariateNormal, Normal, NormalKnownVariance, OneRate and Poisson "
        "blocks; nb.robustness takes Histogram, and numbers can be Normal in place of views"
    )


@singledispatch
def scale_prior(family: Any, alpha: Array) -> Any:
    """The prior of the parameters of a resolved family raised to a power; it depends on how they are parametrised."""
    return _refuse(family, alpha)


@singledispatch
def marginals(family: Any) -> Marginals:
    """The distribution of each parameter by itself."""
    found: Marginals = _refuse(family)
    return found


@scale_prior.register(Bernoulli)
@scale_prior.register(Binomial)
def _(family: Any, alpha: Array) -> Any:
    return family._replace(a=scale_count(family.a, alpha), b=scale_count(family.b, alpha))


@scale_prior.register(Categorical)
@scale_prior.register(Multinomial)
def _(family: Any, alpha: Array) -> Any:
    return family._replace(concentration=scale_count(family.concentration, alpha))


@scale_prior.register(Poisson)
def _(family: Any, alpha: Array) -> Any:
    return family._replace(shape=scale_count(family.shape, alpha), rate=alpha * family.rate)


@scale_prior.register(OneRate)
def _(family: Any, alpha: Array) -> Any:
    if family.power is None:
        return family._replace(a=scale_count(family.a, alpha), b=scale_count(family.b, alpha))
    # the density of theta has theta^(power a - 1)
    return family._replace(a=alpha * family.a + (1.0 - alpha) / family.power, b=alpha * family.b)


@scale_prior.register(Normal)
def _(family: Any, alpha: Array) -> Any:
    # the density has variance^-(shape + 1), and a factor variance^-1/2 for each mean
    rest = 1.0 + 0.5 * (family.loc.shape[0] // family.rate.shape[0])
    shape = alpha * (family.shape + rest) - rest
    return family._replace(strength=alpha * family.strength, shape=shape, rate=alpha * family.rate)


@scale_prior.register(MultivariateNormal)
def _(family: Any, alpha: Array) -> Any:
    # the density has |covariance|^-((df + D + 1) / 2) of the D columns that vary, and a factor ^-1/2 for each mean
    prior = family.prior
    exponent = prior.marginal_df + prior.varying.sum(axis=1) + 1.0 + len(family.loc) // len(family.scale)
    df = family.df + (alpha - 1.0) * exponent
    return family._replace(strength=alpha * family.strength, df=df, scale=alpha * family.scale)


@scale_prior.register(NormalKnownVariance)
def _(family: Any, alpha: Array) -> Any:
    return family._replace(scale=family.scale / jnp.sqrt(alpha))


scale_prior.register(Mapped, lambda family, alpha: family.map(lambda part: scale_prior(part, alpha)))


def scale_count(count: Array, alpha: Array) -> Array:
    """The exponent of x^(count - 1) to the power alpha, as such a count."""
    return alpha * (count - 1.0) + 1.0


@marginals.register(Bernoulli)
@marginals.register(Binomial)
def _(family: Any) -> Marginals:
    return {"probs": (beta, (family.a, family.b))}


@marginals.register(Categorical)
def _(family: Any) -> Marginals:
    count = family.concentration
    return {"probs": (beta, (count, EndToEnd(family.sizes_of(family.num_columns)).total(count) - count))}


@marginals.register(Multinomial)
def _(family: Any) -> Marginals:
    return {"probs": (beta, (family.concentration, dirichlet.total(family.concentration) - family.concentration))}


@marginals.register(Poisson)
def _(family: Any) -> Marginals:
    return {"rate": (gamma, (family.shape, family.rate))}


@marginals.register(OneRate)
def _(family: Any) -> Marginals:
    return {family.sites[0]: (beta if family.power is None else root_of_gamma(family.power), (family.a, family.b))}


@marginals.register(Normal)
def _(family: Any) -> Marginals:
    loc, strength, shape, rate = jnp.broadcast_arrays(*family.prior._replace(rate=family.prior.proper_rate))
    of_variance = family.shape, family.prior.proper_rate
    return {
        "loc": (student, (2.0 * shape, loc, jnp.sqrt(rate / (shape * strength)))),
        "variance": (inverse_gamma, of_variance),
    }


@marginals.register(MultivariateNormal)
def _(family: Any) -> Marginals:
    """Of a covariance its diagonal: each variance has an inverse Gamma distribution."""
    scale = variances(proper(family.scale, family.prior.varying))
    freedom = jnp.broadcast_to((family.df - family.loc.shape[1] + 1.0)[:, None], scale.shape)
    spread = jnp.sqrt(scale / (freedom * family.strength[:, None]))
    of_loc = jnp.broadcast_to(freedom, spread.shape), family.loc, spread
    return {"loc": (student, of_loc), "covariance": (inverse_gamma, (0.5 * freedom, 0.5 * scale))}


@marginals.register(NormalKnownVariance)
def _(family: Any) -> Marginals:
    return {"loc": (student, (jnp.full_like(family.loc, NORMAL), family.loc, family.scale))}


marginals.register(Mapped, lambda family: family.join(family.each(marginals)))


def _cumulate(steps: Array) -> Array:
    """The integral up to the middle of each step."""
    return jnp.cumsum(steps) - 0.5 * steps


def distances(kind: Kind, params: Array, changes: Array, draws: int) -> Array:
    """The distance of each of P parameters whose hyperparameters [P, 2 or 3] change so by alpha, [P]. Pure JAX."""
    return jax.lax.map(lambda pair: _distance(kind, 0.5 / draws, *pair), (params, changes), batch_size=AT_ONCE)


def _distance(kind: Kind, tail: float, params: Array, change: Array) -> Array:
    shape = kind(params)
    logs, score = jax.jvp(shape.log_density, (params,), (change,))
    density = jnp.exp(logs - logs.max())
    density = density / density.sum()
    below, moved = _cumulate(density), _cumulate(density * (score - (density * score).sum()))
    ends = jnp.asarray([tail, 1.0 - tail])

    def one_way(probs: Array, move: Array) -> Array:
        tiny = jnp.finfo(probs.dtype).tiny ** 0.5
        parts = (_cumulate(part * shape.width) for part in (move * move / jnp.maximum(probs, tiny), probs))
        lost, area = (jnp.diff(jnp.interp(ends, below, part))[0] for part in parts)
        return lost / area

    # d by log2 alpha is log 2 times d by alpha
    return jnp.sqrt(jnp.log(2.0) / 8.0 * jnp.maximum(one_way(below, moved), one_way(1.0 - below, moved)))
