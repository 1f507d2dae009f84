"""The coefficients of a fitted classifier whose log odds are affine or quadratic in the features.

    log p(y = k, x) = b_k + w_k . x + x' A_k x + a term that is the same for every class

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
from bayesnb.core.families import Bernoulli, Binomial, Categorical, MultivariateNormal, Normal, NormalKnownVariance
from bayesnb.core.families._base import LinearFamily, Params
from bayesnb.core.families._multivariate_normal import precision_form
from bayesnb.core.families._normal_known_variance import NORMAL
from bayesnb.core.families._tied_columns import TiedColumns
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._classifier import PointEstimate, Posterior
from bayesnb.core.results._draws import Draws
from bayesnb.learned.forests._stacked import StackedPosterior

Form = tuple[Array | None, Array, Array]
"""A [K, D, D], or None if the log odds are affine; w [K, F]; and b [K]."""


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


class QuadraticForm(NamedTuple):
    """``matrix`` [K, D, D] and ``weights``, the coefficients [K, D], or dicts of them by block; ``intercept`` [K].

    Example:
        >>> import bayesnb as nb
        >>> fit = nb.fit_mle(nb.NaiveBayes(nb.Normal()), [[1.0], [3.0], [6.0], [10.0]], [0, 0, 1, 1])
        >>> form = nb.quadratic_form(fit)
        >>> form.matrix.ravel().tolist(), form.weights.ravel().tolist()  # -1 / (2 sigma2) and mu / sigma2
        ([-0.5, -0.125], [2.0, 2.0])
    """

    matrix: Array | dict[str, Array]
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
    blocks, intercept = _forms(fit)
    curved = [name for name, (matrix, _, _) in blocks.items() if matrix is not None]
    if curved:
        raise ValueError(
            f"the log odds of block {curved[0]!r} are quadratic in x: use quadratic_form, or fit with "
            '"shared" variances or covariances'
        )
    weights = {name: w for name, (_, w, _) in blocks.items()}
    return LinearForm(weights["x"] if fit.model.single else weights, intercept)


def quadratic_form(fit: PointEstimate) -> QuadraticForm:
    """A, w and b of a classifier with quadratic log odds: softmax(x' A x + x w' + b) = p(y | x) for rows without NaN.

    For Normal A = -diag(1 / sigma2) / 2 and w = mu / sigma2; for MultivariateNormal A = -Sigma^-1 / 2 and w = Sigma^-1
    mu. A = 0 for a block whose log odds are affine.

    Args:
        fit: A result of ``fit_mle`` or ``fit_map``.

    Raises:
        ValueError: if the log odds are neither affine nor quadratic, or a probability is zero.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> fit = nb.fit_mle(nb.NaiveBayes(nb.Normal()), [[1.0], [3.0], [6.0], [10.0]], [0, 0, 1, 1])
        >>> matrix, weights, intercept = nb.quadratic_form(fit)
        >>> x = np.array([4.0])
        >>> scores = x @ matrix @ x + weights @ x + intercept
        >>> (np.exp(scores) / np.exp(scores).sum()).round(3), fit.predict_proba([[4.0]]).round(3)
        (array([0.667, 0.333]), array([[0.667, 0.333]]))
    """
    blocks, intercept = _forms(fit)
    parts = {b: (np.zeros((*w.shape, w.shape[-1])) if a is None else a, w) for b, (a, w, _) in blocks.items()}
    if fit.model.single:
        return QuadraticForm(*parts["x"], intercept=intercept)
    matrices, weights = ({block: part[i] for block, part in parts.items()} for i in (0, 1))
    return QuadraticForm(matrices, weights, intercept)


def _forms(fit: Any) -> tuple[dict[str, Any], Array]:
    """A, w and b of each block, in the model's order, and the intercept; A is None if the block is affine."""
    if not isinstance(fit, PointEstimate | Posterior):
        reason = ": draws are a mixture, whose log odds are not affine" if isinstance(fit, Draws) else ""
        raise ValueError(f"a form needs a PointEstimate or a Posterior, got {type(fit).__name__}{reason}")
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
            advice = "" if blocks[name] is None else ": take the form of fit_map or fit_mle"
            raise ValueError(
                f"the {kind} of block {name!r}, {type(family).__name__}, is not affine or quadratic in x{advice}"
            )
    probs, *values = map(known, jax.tree.leaves((class_probs, blocks, intercept)))
    if probs is not None and not probs.all():
        raise ValueError("a class has probability zero, so its intercept would be infinite: leave the class out")
    if not all(np.isfinite(value).all() for value in values if value is not None):
        raise ValueError(
            "a probability is zero, so its coefficient would be infinite: smooth the fit, for example with "
            "Family.laplace and fit_map"
        )
    return {name: blocks[name] for name in fit.model.families}, intercept


@jax.jit
def _with_intercept(model: NaiveBayes, params: Sites | None) -> tuple[dict[str, Any], Array, Array]:
    """The forms by block, the intercept, and the class probabilities; at the posterior mean if ``params`` is None."""
    params = model.reference() if params is None else params
    by_block, class_probs = model.block_params(params), jnp.asarray(model.class_probs_of(params))
    blocks = {name: form(family, by_block[name]) for name, family in model.families.items()}
    return blocks, sum((found[2] for found in blocks.values() if found is not None), jnp.log(class_probs)), class_probs


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


affine_predictive.register(Bernoulli, lambda _: True)
affine_predictive.register(Categorical, lambda _: True)


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


form.register(NormalKnownVariance, lambda family, params: _of_normal(NORMAL, family.with_variance(params)))


@form.register(MultivariateNormal)
def _(family: Any, params: Params) -> Form:
    loc, covariance = jnp.asarray(params["loc"]), family.as_table(jnp.asarray(params["covariance"]))
    precision, coefficients, offset, log_det = precision_form(loc, covariance)
    if family.shared:
        return None, coefficients, offset
    return -0.5 * precision, coefficients, offset - 0.5 * log_det


form.register(TiedColumns, lambda family, params: form(family.wide, family.spread(params)))
affine_predictive.register(TiedColumns, lambda _: False)
