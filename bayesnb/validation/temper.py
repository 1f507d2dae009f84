"""Temper a posterior: powers on the features' likelihoods, learned on exact leave-one-out predictions.

Features that depend on each other within a class count the same evidence twice, which makes predictions overconfident.
Parameter uncertainty does not correct this; powers do:

    p(k | x)  is proportional to  p(k) prod_d p(x_d | k)^w_d

One power T for all features (an inverse temperature; the class prior stays) maximises the leave-one-out log likelihood
plus log N(log T; 0, 1). It is at most 1: if leave-one-out predicts all rows without error, the likelihood alone would
favour ever larger powers, which predict held-out rows worse. One power per feature, w_d = T (1 + delta_d) >= 0 with
delta_d ~ N(0, scale^2), is a multinomial logit on the leave-one-out contributions, convex in delta at that T. The
scale, at most 0.3, is the one with the largest evidence by Laplace's approximation: with few rows it becomes small,
whereas powers learned at a fixed scale would overfit single rows. Zaidi, Cerquides, Carman and Webb, Alleviating naive
Bayes attribute independence assumption by attribute weighting (2013), weight features similarly, but without leaving
rows out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import scipy  # scipy.optimize is loaded on first use

from bayesnb.arrays.placement import Array, as_array, is_traced, to_host
from bayesnb.arrays.threads import one_blas_thread
from bayesnb.results.classifier import Posterior
from bayesnb.rows.labelled_rows import LabelledRows, label_rows
from bayesnb.rows.statistics import summarise
from bayesnb.validation.contributions import Contributions, contributions

LOG_TEMPERATURES = (-12.0, 0.0)
"""Bounds of log T, whose prior has standard deviation 1: the common power never makes the model more confident."""

SCALES = (0.3, 0.2, 0.1, 0.03)
"""The standard deviations of delta that are compared by evidence."""


def temper(posterior: Posterior, X: Any, y: Any, *, per_feature: bool = False, sample_weight: Any = None) -> Posterior:
    """The same fit with one power, or one per feature, on the features' likelihoods; learned without held-out data.

    Args:
        posterior: An exact fit.
        X: The rows of that fit, in the same blocks.
        y: Their integer labels [N].
        per_feature: Learn a power for each feature around the common one. A Multinomial or MultivariateNormal block is
            one feature.
        sample_weight: Their weights [N], if the fit had any.

    Returns:
        A ``Posterior`` with ``weights``: by block [D], or [1] if the whole block has one power. The common power is at
        most 1; a feature's own power may be larger. Predictions use the powers; parameters, their draws, p(x) and the
        evidence are those of the model.

    Raises:
        ValueError: if X, y and sample_weight are not the fitted rows, for soft labels, and inside a JAX
            transformation.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[flag] * 4 for flag in (0, 0, 1, 1, 1, 0)], [0, 0, 0, 1, 1, 1]  # one column, four times
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> [fit.predict_proba([[1] * 4]).round(2) for fit in (post, nb.temper(post, X, y))]
        [array([[0.16, 0.84]]), array([[0.38, 0.62]])]
    """
    if not isinstance(posterior, Posterior):
        raise ValueError(f"temper takes a Posterior, as fit_posterior returns, got {type(posterior).__name__}")
    if is_traced(posterior, X, y, sample_weight):
        raise ValueError("temper needs values that are known: call it outside of JAX's transformations")
    if as_array(y).ndim == 2:
        raise ValueError("temper takes integer labels [N]: a row with soft labels belongs to every class")
    rows = label_rows(posterior.model, *to_host((X, y, sample_weight)), sparse=False)
    _require_fitted(posterior, rows)
    table = contributions(posterior, rows, by_feature=per_feature)
    with one_blas_thread():
        temperature = _temperature(table)
        powers = temperature * (1.0 + _deviations(table, temperature)) if per_feature else None
    if powers is not None:
        return replace(posterior, weights=table.by_block(powers))
    return replace(posterior, weights={name: np.full(1, temperature) for name in posterior.model.families})


def _require_fitted(posterior: Posterior, rows: LabelledRows) -> None:
    """Raise ValueError unless the rows have the statistics of the fit, up to rounding."""
    again = summarise(rows)
    fitted = to_host(posterior.statistics)
    structures: list[Any] = [jax.tree.structure(statistics) for statistics in (again, fitted)]
    same = structures[0] == structures[1]
    pairs = zip(jax.tree.leaves(again), jax.tree.leaves(fitted), strict=True) if same else ()
    if not same or not all(a.shape == b.shape and _close(a, b) for a, b in pairs):
        raise ValueError(
            "X, y and sample_weight must be the rows that the posterior was fitted to: their statistics differ; "
            "rows that were fitted in parts are given together"
        )


def _close(a: Array, b: Array) -> bool:
    return np.allclose(a, b, rtol=1e-5, atol=1e-6 * float(np.abs(b).max(initial=0.0)))


def _temperature(table: Contributions) -> float:
    """The power T that all features share."""
    summed = table.summed()

    def loss(log_t: float) -> float:
        return float(table.loss(np.exp(log_t) * summed) + 0.5 * log_t * log_t)

    options = {"xatol": 1e-8}
    return float(np.exp(scipy.optimize.minimize_scalar(loss, bounds=LOG_TEMPERATURES, options=options).x))


def _deviations(table: Contributions, temperature: float) -> Array:
    """delta [F] at the scale with the largest evidence."""
    if not table.num_features:
        return np.zeros(0)
    found = [_at_scale(table, temperature, scale) for scale in SCALES]
    return max(found, key=lambda pair: pair[0])[1]


def _at_scale(table: Contributions, temperature: float, scale: float) -> tuple[float, Array]:
    """The log evidence of a scale by Laplace's approximation, up to a constant, and the mode of delta under it."""

    def loss(delta: Array) -> tuple[float, Array]:
        value, gradient = table.evaluate(temperature * (1.0 + delta))
        return value + 0.5 * float(delta @ delta) / scale**2, temperature * gradient + delta / scale**2

    size = table.num_features
    bounds = scipy.optimize.Bounds(np.full(size, -1.0), np.full(size, np.inf))
    best = scipy.optimize.minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", bounds=bounds)
    curvature = temperature**2 * scale**2 * table.information(temperature * (1.0 + best.x))
    return -float(best.fun) - 0.5 * float(np.log1p(curvature).sum()), best.x
