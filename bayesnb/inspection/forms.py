"""The weights of a fitted classifier whose log odds are affine or quadratic in the features.

    log p(y = k, x) = b_k + w_k . x + x' A_k x + a term that is the same for every class

Its softmax over classes is ``predict_proba``; for two classes w_1 - w_0 and b_1 - b_0 are the weights and the
intercept of a logistic regression. Ng and Jordan, On discriminative vs. generative classifiers (2002), section 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.host_calls import finalise
from bayesnb.arrays.placement import Array, is_traced
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import PointEstimate, Posterior
from bayesnb.results.draws import Draws


class LinearForm(NamedTuple):
    """``weights`` [K, F], or a dict of them by block; ``intercept`` [K]."""

    weights: Any
    intercept: Array


class QuadraticForm(NamedTuple):
    """``matrix`` [K, D, D] and ``weights`` [K, D], or dicts of them by block; ``intercept`` [K]."""

    matrix: Any
    weights: Any
    intercept: Array


def linear_form(fit: PointEstimate | Posterior) -> LinearForm:
    """Weights and intercept of a classifier with affine log odds: softmax(x w' + b) = p(y | x) for rows without NaN.

    Log odds are affine for point estimates of Bernoulli (w = log theta - log(1 - theta)), Multinomial (w = log theta),
    Poisson (w = log lambda), Binomial with known totals, Categorical in one-hot features (columns joined, F = sum of C;
    w = log theta), and Normal and MultivariateNormal with ``"shared"`` (w = Sigma^-1 mu, b = -mu' Sigma^-1 mu / 2); b
    includes the log class probabilities. The exact predictive is affine for Bernoulli and Categorical only. If columns
    lie far from 0 in units of their spread, x w' and b are large and cancel: centre such columns first.

    Args:
        fit: A ``PointEstimate``, or a ``Posterior``.

    Raises:
        ValueError: if the log odds are not affine, or a probability is zero, whose weight would be infinite.
    """
    form = _form(fit)
    curved = [name for name, part in form.matrix.items() if part is not None]
    if curved:
        raise ValueError(
            f"the log odds of block {curved[0]!r} are quadratic in x: use quadratic_form, or fit with "
            '"shared" variances or covariances'
        )
    return LinearForm(_alone(fit.model, form.weights), form.intercept)


def quadratic_form(fit: PointEstimate) -> QuadraticForm:
    """A, w and b of a classifier with quadratic log odds: softmax(x' A x + x w' + b) = p(y | x) for rows without NaN.

    For Normal A = -diag(1 / sigma2) / 2 and w = mu / sigma2; for MultivariateNormal A = -Sigma^-1 / 2 and w = Sigma^-1
    mu. A = 0 for a block whose log odds are affine, for instance with a shared covariance: its quadratic term is the
    same for all classes.

    Args:
        fit: A ``PointEstimate``.

    Raises:
        ValueError: if the log odds are neither affine nor quadratic, or a probability is zero.
    """
    form = _form(fit)
    flat = {name: np.zeros((*np.shape(w), np.shape(w)[-1])) for name, w in form.weights.items()}
    matrix = {name: flat[name] if part is None else part for name, part in form.matrix.items()}
    return QuadraticForm(_alone(fit.model, matrix), _alone(fit.model, form.weights), form.intercept)


def _form(fit: Any) -> QuadraticForm:
    """The form with blocks by name; the matrix of an affine block is None."""
    if not isinstance(fit, PointEstimate | Posterior):
        reason = ": draws are a mixture, whose log odds are not affine" if isinstance(fit, Draws) else ""
        raise ValueError(f"a form is that of a PointEstimate or a Posterior, got {type(fit).__name__}{reason}")
    if isinstance(fit, Posterior) and fit.weights is not None:
        raise ValueError("a form is that of the model itself, and this posterior has weights: take it before temper")
    exact = isinstance(fit, Posterior)
    params = finalise(_reference, fit.model) if isinstance(fit, Posterior) else fit.params
    forms = finalise(_block_forms, fit.model, params)
    for name, family in fit.model.families.items():
        if forms[name] is None or (exact and not family.affine_predictive):
            kind = "exact predictive" if exact else "log likelihood"
            raise ValueError(
                f"the {kind} of block {name!r}, {type(family).__name__}, is not affine or quadratic in x"
                + (": take the form of fit_map or fit_mle" if forms[name] is not None else "")
            )
    form = finalise(_together, forms, params["class_probs"])
    if is_traced(form):
        return form
    if not np.asarray(params["class_probs"]).all():
        raise ValueError("a class has probability zero, and its intercept would be infinite: leave the class out")
    if not all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves(form)):
        raise ValueError(
            "a probability is zero, and its weight would be infinite: smooth the fit, as Family.laplace and fit_map do"
        )
    return form


@jax.jit
def _reference(model: NaiveBayes) -> dict[str, Array]:
    return model.reference()


@jax.jit
def _block_forms(model: NaiveBayes, params: dict[str, Array]) -> dict[str, Any]:
    blocks = model.block_params(params)
    return {name: family.form(blocks[name]) for name, family in model.families.items()}


@jax.jit
def _together(forms: dict[str, Any], class_probs: Array) -> QuadraticForm:
    intercept = jnp.log(jnp.asarray(class_probs))
    for _, _, offset in forms.values():
        intercept = intercept + offset
    return QuadraticForm({n: f[0] for n, f in forms.items()}, {n: f[1] for n, f in forms.items()}, intercept)


def _alone(model: NaiveBayes, blocks: dict[str, Any]) -> Any:
    """The block itself if X is one array, else the blocks in the model's order."""
    return blocks["x"] if model.single else {name: blocks[name] for name in model.families}
