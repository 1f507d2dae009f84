"""Map the names of methods to fits and to their models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array, as_array
from bayesnb.fits.averaged import fit_averaged
from bayesnb.fits.closed_form import fit_map, fit_mle, fit_posterior
from bayesnb.fits.empirical import fit_empirical
from bayesnb.fits.nuts import fit_nuts
from bayesnb.frames.schema import Schema
from bayesnb.frames.series import closest
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import Classifier, Posterior
from bayesnb.validation.temper import temper

BOUNDS = (1e-100, 1e15)
"""Range of positive smoothing; outside it, rounding loses the pseudo-counts or the counts."""

FITS: dict[str, Callable[..., Classifier]] = {
    "posterior": fit_posterior,
    "map": fit_map,
    "mle": fit_mle,
    "nuts": fit_nuts,
    "empirical": fit_empirical,
    "averaged": fit_averaged,
}

METHODS = tuple(FITS)


def specification(method: Any, smoothing: Any, schema: Schema, num_classes: int, class_probs: Any = None) -> NaiveBayes:
    """The model for rows with this schema: Dirichlet(l) priors, or Dirichlet(1 + l) for the MAP.

    Raises:
        ValueError: if the method is unknown, or needs a prior and smoothing is not positive.
    """
    require(method, smoothing)
    if class_probs is not None and (shape := as_array(class_probs).shape) != (num_classes,):
        raise ValueError(f"class_prior must be one probability per class, [{num_classes}], got shape {list(shape)}")
    # the MLE ignores the prior, but a model must have one
    likelihoods = schema.likelihoods(1.0 if method == "mle" else float(smoothing), laplace=method == "map")
    return NaiveBayes(likelihoods, num_classes=num_classes, class_probs=class_probs)


def require(method: Any, smoothing: Any) -> None:
    """Raise ValueError if the method is unknown or the smoothing is invalid for it."""
    if not isinstance(method, str) or method not in METHODS:
        hint = closest(method, METHODS) if isinstance(method, str) else ""
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}{hint}")
    number = not isinstance(smoothing, bool) and isinstance(smoothing, int | float | np.number)
    may_be_zero = method in ("map", "mle")
    low, high = BOUNDS
    if not number or not (low <= smoothing <= high or (smoothing == 0 and may_be_zero)):
        least = f"0 or {low:g}" if may_be_zero else f"{low:g}"
        raise ValueError(
            f"smoothing must be a number from {least} to {high:g} for method {method!r}, got {smoothing!r}"
        )


def temper_fit(fit: Classifier, how: bool | str, X: Any, codes: Array, weight: Array | None) -> Posterior:
    """The fit tempered by one power (True) or one per feature (`per_feature`), learned from its rows.

    Raises:
        ValueError: if ``how`` is invalid, or the fit cannot be tempered.
    """
    if how not in (True, "per_feature"):
        raise ValueError(f"temper must be True, False or 'per_feature', got {how!r}")
    if not isinstance(fit, Posterior):
        raise ValueError(f"temper needs method 'posterior' or 'empirical', got a {type(fit).__name__}")
    return temper(fit, X, codes, per_feature=how == "per_feature", sample_weight=weight)
