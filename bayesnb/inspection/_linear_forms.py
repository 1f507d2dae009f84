"""The coefficients of a fitted classifier whose log odds are affine in the features.

    log p(y = k, x) = b_k + w_k . x + a term that is the same for every class

Its softmax over classes is ``predict_proba``; for two classes w_1 - w_0 and b_1 - b_0 are the coefficients and the
intercept of a logistic regression. Ng and Jordan, On discriminative vs. generative classifiers (2002), section 2.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import known
from bayesnb.compute.arrays._typing import Array
from bayesnb.compute.primitives import products
from bayesnb.core.families import Bernoulli, Binomial, Categorical, MultivariateNormal, Normal
from bayesnb.core.families._base import LinearFamily, Params
from bayesnb.core.families._multivariate_normal import affine_form
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._classifier import PointEstimate, Posterior
from bayesnb.core.results._draws import Draws
from bayesnb.learned.forests._stacked import StackedPosterior

Form = tuple[Array, Array]
"""The coefficients w [K, F] and the intercept b [K]."""


class LinearForm(NamedTuple):
    """``weights``, the coefficients [K, F] or a dict of them by block; ``intercept`` [K].

    Example:
        >>> import bayesnb as nb
        >>> fit = nb.fit_map(nb.NaiveBayes(nb.Bernoulli.laplace(1.0)), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> weights, intercept = nb.linear_form(fit)
        >>> weights.round(2), intercept.round(2)
        (array([[-1.1,  1.1],
               [ 1.1,  0. ]]), array([-2.37, -2.77]))
    """

    weights: Array | dict[str, Array]
    intercept: Array


def linear_form(fit: PointEstimate | Posterior) -> LinearForm:
    """The coefficients w and intercept b of affine log odds: softmax(x w' + b) = p(y | x) for rows without NaN.

    Log odds are affine for point estimates of Bernoulli (w = log theta - log(1 - theta)), Multinomial (w = log theta),
    Poisson (w = log lambda), Binomial with known totals, Categorical in one-hot features (columns joined, F = sum of C;
    w = log theta), and Normal and MultivariateNormal with ``"shared"`` (w = Sigma^-1 mu, b = -mu' Sigma^-1 mu / 2); b
    includes the log class probabilities. The exact predictive is affine for Bernoulli and Categorical only. Centre
    columns that lie far from 0 in units of their spread: x w' and b would cancel.

    Args:
        fit: A result of ``fit_mle``, ``fit_map`` or, where it is affine, ``fit_posterior``.

    Raises:
        ValueError: if the log odds are not affine, or a probability is zero, whose coefficient would be infinite.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> fit = nb.fit_map(nb.NaiveBayes(nb.Bernoulli.laplace(1.0)), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> weights, intercept = nb.linear_form(fit)
        >>> scores = np.array([1, 1]) @ weights.T + intercept
        >>> (np.exp(scores) / np.exp(scores).sum()).round(3), fit.predict_proba([[1, 1]]).round(3)
        (array([0.333, 0.667]), array([[0.333, 0.667]]))
    """
    if not isinstance(fit, PointEstimate | Posterior):
        reason = ": draws are a mixture, whose log odds are not affine" if isinstance(fit, Draws) else ""
        raise ValueError(f"linear_form needs a PointEstimate or a Posterior, got {type(fit).__name__}{reason}")
    if isinstance(fit, StackedPosterior):
        raise ValueError("an average of predictions has no form: fit with method='posterior', or dependence=False")
    params = fit.params if isinstance(fit, PointEstimate) else None
    exact = params is None
    if isinstance(fit, Posterior) and fit.powers is not None and fit.model.start_powers() is None:
        raise ValueError("this posterior has weights from temper: take the form of the posterior before temper")
    blocks, intercept, class_probs = compute(_with_intercept, fit.model, params)
    for name, family in fit.model.families.items():
        if blocks[name] is None or (exact and not affine_predictive(family)):
            kind = "exact predictive" if exact else "log likelihood"
            others = '; those of Normal and MultivariateNormal with "shared" are, see help(bayesnb.linear_form)'
            advice = others if blocks[name] is None else ": take the form of fit_map or fit_mle"
            raise ValueError(f"the {kind} of block {name!r}, {type(family).__name__}, is not affine in x{advice}")
    probs, *values = map(known, jax.tree.leaves((class_probs, blocks, intercept)))
    if probs is not None and not probs.all():
        raise ValueError("a class has probability zero, so its intercept would be infinite: leave the class out")
    if not all(np.isfinite(value).all() for value in values if value is not None):
        raise ValueError(
            "a probability is zero, so its coefficient would be infinite: smooth the fit, for example with "
            "Family.laplace and fit_map"
        )
    weights = {name: blocks[name][0] for name in fit.model.families}
    return LinearForm(weights["x"] if fit.model.single else weights, intercept)


@jax.jit
def _with_intercept(model: NaiveBayes, params: Sites | None) -> tuple[dict[str, Any], Array, Array]:
    """The forms by block, the intercept, and the class probabilities; at the posterior mean if ``params`` is None."""
    params = model.reference() if params is None else params
    by_block, class_probs = model.block_params(params), jnp.asarray(model.class_probs_of(params))
    blocks = {name: form(family, by_block[name]) for name, family in model.families.items()}
    return blocks, sum((found[1] for found in blocks.values() if found is not None), jnp.log(class_probs)), class_probs


@singledispatch
def form(family: Any, params: Params) -> Form | None:
    """w and b with log p(x | y = k) = w x + b, up to a term that all classes share.

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
    if len(table.coefficients) > 1:  # of x^2, too
        return None
    coefficients = table.coefficients[0]
    offset = jnp.zeros_like(coefficients) if table.offset is None else table.offset
    if table.zeros is not None:
        coefficients = jnp.where(table.zeros[0] != 0, -jnp.inf, coefficients)
    if table.zero_offset is not None:
        offset = jnp.where(table.zero_offset != 0, -jnp.inf, offset)
    return coefficients, offset.sum(axis=1)


affine_predictive.register(Bernoulli, lambda _: True)
affine_predictive.register(Categorical, lambda _: True)


@form.register(Binomial)
def _(family: Any, params: Params) -> Form | None:
    if family.total_count is None:  # x alone does not determine the failures
        return None
    p = jnp.asarray(params["probs"])
    totals = jnp.broadcast_to(jnp.asarray(family.total_count), p.shape[1:])[None]
    return jnp.log(p) - jnp.log1p(-p), (totals * jnp.log1p(-p)).sum(axis=1)


@form.register(Categorical)
def _(family: Any, params: Params) -> Form:
    coefficients = jnp.log(family.join(params))
    return coefficients, jnp.zeros(coefficients.shape[0])


@form.register(Normal)
def _(family: Any, params: Params) -> Form | None:
    if not family.shared:
        return None
    table, centre = family.coefficients(params), products.centre_of(jnp.asarray(params["loc"]))
    half, slope = table.coefficients
    offset = table.offset + half * jnp.square(centre) - slope * centre
    return slope - 2.0 * half * centre, offset.sum(axis=1)


@form.register(MultivariateNormal)
def _(family: Any, params: Params) -> Form | None:
    if not family.shared:
        return None
    return affine_form(jnp.asarray(params["loc"]), family.as_table(jnp.asarray(params["covariance"])))
