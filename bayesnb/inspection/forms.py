"""Log likelihoods that are affine or quadratic in the cells of a row."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.families import Bernoulli, Binomial, Categorical, MultivariateNormal, Normal, NormalKnownVariance
from bayesnb.families.base import Params
from bayesnb.families.normal_known_variance import NORMAL
from bayesnb.families.parts.linear import LinearFamily
from bayesnb.families.parts.multivariate_rows import precision_form
from bayesnb.families.tied_columns import TiedColumns
from bayesnb.primitives import products

Form = tuple[Array | None, Array, Array]
"""A [K, D, D], or None if the log odds are affine; w [K, F]; and b [K]."""


@singledispatch
def form(family: Any, params: Params) -> Form | None:
    """A, w and b with log p(x | y = k) = x' A x + w x + b, up to a term that all classes share.

    The result is None if log p of a complete row has no such form. Pure JAX.
    """
    del family, params
    return None


@singledispatch
def affine_predictive(family: Any) -> bool:
    """True if the exact predictive is the likelihood at the posterior mean, and so has the same ``form``."""
    del family
    return False


@form.register(LinearFamily)
def _(family: Any, params: Params) -> Form | None:
    table = family.coefficients(params)
    coefficients = table.coefficients[0]
    offset = jnp.zeros_like(coefficients) if table.offset is None else table.offset
    if table.zeros is not None:
        coefficients = jnp.where(table.zeros[0] != 0, -jnp.inf, coefficients)
    if table.zero_offset is not None:
        offset = jnp.where(table.zero_offset != 0, -jnp.inf, offset)
    return None, coefficients, offset.sum(axis=1)


@affine_predictive.register(Bernoulli)
@affine_predictive.register(Categorical)
def _(family: Any) -> bool:
    del family
    return True


@form.register(Binomial)
def _(family: Any, params: Params) -> Form | None:
    if family.total_count is None:  # x alone does not determine the failures
        return None
    p = jnp.asarray(params["probs"])
    totals = jnp.broadcast_to(jnp.asarray(family.total_count), p.shape[1:])[None]
    return None, jnp.log(p) - jnp.log1p(-p), (totals * jnp.log1p(-p)).sum(axis=1)


@form.register(Categorical)
def _(family: Any, params: Params) -> Form:
    coefficients = jnp.log(family.join(params))
    return None, coefficients, jnp.zeros(coefficients.shape[0])


@form.register(Normal)
def _of_normal(family: Any, params: Params) -> Form:
    table, centre = family.coefficients(params), products.centre_of(jnp.asarray(params["loc"]))
    half, slope = table.coefficients
    offset = table.offset + half * jnp.square(centre) - slope * centre
    coefficients = slope - 2.0 * half * centre
    if family.shared:
        return None, coefficients, offset.sum(axis=1)
    return half[:, :, None] * jnp.eye(half.shape[1])[None], coefficients, offset.sum(axis=1)


@form.register(NormalKnownVariance)
def _(family: Any, params: Params) -> Form:
    return _of_normal(NORMAL, family.with_variance(params))


@form.register(MultivariateNormal)
def _(family: Any, params: Params) -> Form:
    loc, covariance = jnp.asarray(params["loc"]), family.as_table(jnp.asarray(params["covariance"]))
    precision, coefficients, offset, log_det = precision_form(loc, covariance)
    if family.shared:
        return None, coefficients, offset
    return -0.5 * precision, coefficients, offset - 0.5 * log_det


@form.register(TiedColumns)
def _(family: Any, params: Params) -> Form | None:
    return form(family.wide, family.spread(params))


@affine_predictive.register(TiedColumns)
def _(family: Any) -> bool:
    del family
    return False
