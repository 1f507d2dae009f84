"""What a term adds on average to the log odds of a class, in closed form or by quadrature, and its mean by class."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import rel_entr
from jax.scipy.stats import norm

from bayesnb.arrays.class_table import whole
from bayesnb.arrays.placement import Array
from bayesnb.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Histogram,
    Multinomial,
    MultivariateNormal,
    Normal,
    NormalKnownVariance,
    Poisson,
    Views,
)
from bayesnb.families.base import Params
from bayesnb.families.parts.cells import centres_of
from bayesnb.families.tied_columns import TiedColumns
from bayesnb.numerics import covariances
from bayesnb.results.combine import raise_terms

FAR = 8.0
"""Quadrature ends where a standard normal has a probability of 1e-15 beyond."""

POINTS = 161
"""Points of the quadrature, which converges exponentially in their number."""


@singledispatch
def term_sizes(family: Any, num_columns: int) -> tuple[int, ...]:
    """The number of terms in each column."""
    del family
    return (1,) * num_columns


@singledispatch
def means(family: Any, params: Params) -> Array:
    """The mean of each term's cell in every class, [K, F]."""
    return family.likelihood(params).mean


@singledispatch
def divergence(family: Any, params: Params, k: int) -> Array:
    """E[log p(x_f | k) - log p(x_f | j) | y = k] for each term f and class j, [K, F]; by default by quadrature.

    The cells are quantiles x(u) of class k at u = Phi(z), for z on a grid.
    """
    law = family.likelihood(params)
    z = np.linspace(-FAR, FAR, POINTS)
    try:
        if law.event_shape or law.support.is_discrete:
            raise NotImplementedError
        x = jax.vmap(law.icdf)(jax.scipy.special.ndtr(z))[:, k]
    except NotImplementedError:
        raise ValueError(
            f"top_features needs the divergence of {type(family).__name__} between classes, and has it by quadrature "
            "only of likelihoods of real numbers with icdf: register a closed form, "
            f"bayesnb.inspection.divergence.divergence.register({type(family).__name__})"
        ) from None
    log_prob = jax.vmap(law.log_prob)(jnp.broadcast_to(x[:, None], (POINTS, *law.batch_shape)))
    weights = norm.pdf(z) * (z[1] - z[0])
    return jnp.tensordot(weights, log_prob[:, k, None] - log_prob, axes=1)


@singledispatch
def raised_divergence(family: Any, params: Params, k: int, powers: Array) -> Array:
    """``divergence`` of the terms raised to powers, [K, F]. Pure JAX."""
    found = divergence(family, params, k)
    sizes = term_sizes(family, powers.shape[0])
    return found * (powers if powers.shape[0] == 1 else jnp.repeat(powers, np.array(sizes)))[None]


means.register(Binomial, lambda _, params: params["probs"])


@divergence.register(Bernoulli)
def _of_trial(family: Any, params: Params, k: int) -> Array:
    del family
    p = params["probs"]
    return rel_entr(p[k][None], p) + rel_entr(1.0 - p[k][None], 1.0 - p)


@divergence.register(Binomial)
def _(family: Any, params: Params, k: int) -> Array:
    return jnp.atleast_2d(jnp.asarray(family.total_count or 1)) * _of_trial(family, params, k)


term_sizes.register(Categorical, lambda family, num_columns: family.category_sizes(num_columns))
means.register(Categorical, lambda family, params: family.join(params))


@divergence.register(Categorical)
def _(family: Any, params: Params, k: int) -> Array:
    p = family.join(params)
    return rel_entr(p[k][None], p)


means.register(Multinomial, lambda _, params: whole(params["probs"]))


@divergence.register(Multinomial)
def _(family: Any, params: Params, k: int) -> Array:
    del family
    p = whole(params["probs"])
    return rel_entr(p[k][None], p)


@divergence.register(Normal)
def _(family: Any, params: Params, k: int) -> Array:
    return _of_normals(params["loc"], family.as_table(params["variance"]), k)


divergence.register(NormalKnownVariance, lambda family, params, k: _of_normals(params["loc"], family.variance, k))


def _of_normals(loc: Array, variance: Array, k: int) -> Array:
    variance = jnp.broadcast_to(variance, loc.shape)
    off = variance == 0
    variance = jnp.where(off, 1.0, variance)
    ratio = variance[k][None] / variance
    nats = 0.5 * (ratio - 1.0 - jnp.log(ratio) + jnp.square(loc[k][None] - loc) / variance)
    return jnp.where(off, 0.0, nats)


@means.register(MultivariateNormal)
@means.register(TiedColumns)
def _(family: Any, params: Params) -> Array:
    del family
    return jnp.full((next(iter(params.values())).shape[0], 1), jnp.nan)


@divergence.register(MultivariateNormal)
def _(family: Any, params: Params, k: int) -> Array:
    return covariances.divergence(params["loc"], family.as_table(params["covariance"]), k)[:, None]


@divergence.register(Poisson)
def _(family: Any, params: Params, k: int) -> Array:
    del family
    rate = params["rate"]
    own = rate[k][None]
    return rel_entr(own, rate) - own + rate


means.register(Histogram, lambda family, params: (family.cell_probs(params) * _centres(family)[None]).sum(axis=-1))


def _centres(family: Any) -> Array:
    """The means of the cells, [D, G]."""
    return centres_of(jnp.asarray(family.edges[0]), jnp.asarray(family.atoms[0]))


@divergence.register(Histogram)
def _(family: Any, params: Params, k: int) -> Array:
    probs = family.cell_probs(params)
    return rel_entr(probs[k][None], probs).sum(axis=-1)


@raised_divergence.register(Views)
def _(family: Any, params: Params, k: int, powers: Array) -> Array:
    """The sum over cells of their terms, those of other views at the cells' centres."""
    probs, centres = family.cell_probs(params), _centres(family).T
    terms = raise_terms(family, family.log_likelihood_terms(params, centres).finite, powers, centres)
    return jnp.einsum("dg,gjd->jd", probs[k], terms[:, k, None] - terms)


@divergence.register(TiedColumns)
def _(family: Any, params: Params, k: int) -> Array:
    return divergence(family.wide, family.spread(params), k).sum(axis=1, keepdims=True)
