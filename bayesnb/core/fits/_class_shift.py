"""Class probabilities of another population, from its unlabelled rows.

The classes look as they did, p(x | k), and only how frequent they are has changed. The rows are then a mixture of known
distributions, whose log likelihood is concave in the K - 1 free numbers:

    log p(X | pi) = sum_n log(sum_k pi_k p(x_n | k)),    pi ~ Dirichlet(a)

Saerens, Latinne and Decaestecker, Adjusting the outputs of a classifier to new a priori probabilities (2002), maximise
it by EM; ``fits._mixture_proportions`` does by Newton's method. The uncertainty of the classes' own parameters is
not part of the interval: their predictive distributions are taken as known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generic, TypeVar

import jax
import numpy as np
from scipy.special import betaincinv

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Node, pytree
from bayesnb.compute.arrays._typing import Array, Estimator, Table
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.fits._mixture_proportions import (
    Points,
    effective_size,
    find_proportions,
    quantiles,
    spread,
    spread_points,
)
from bayesnb.core.results._classifier import Classifier, class_probs
from bayesnb.core.results._intervals import Interval, tails
from bayesnb.core.results._unwrap import unwrap
from bayesnb.core.rows import _arguments as arguments

Fit = TypeVar("Fit", bound=Classifier | Estimator)


@pytree
class ClassProbsEstimate(Node, Generic[Fit]):
    """What ``estimate_class_probs`` returns.

    ``class_probs`` [K] is the estimate, ``interval`` has its ends ``low`` and ``high`` [K], ``fit`` is the given fit
    for the population with these class probabilities.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), [[0.0], [0.2], [3.0], [3.1]], [0, 0, 1, 1])
        >>> found = nb.estimate_class_probs(post, [[3.0], [2.9], [3.2], [0.1], [3.1]])
        >>> found.interval.low.round(1), found.interval.high.round(1)
        (array([0. , 0.3]), array([0.7, 1. ]))
        >>> found.fit.predict_proba([[1.5]]).round(1)
        array([[0., 1.]])
    """

    class_probs: Array
    interval: Interval
    fit: Fit


def estimate_class_probs(fit: Fit, X: Table, *, method: str = "map", level: float = 0.9) -> ClassProbsEstimate[Fit]:
    """The class probabilities of a population whose rows are unlabelled, and the fit for that population.

    Args:
        fit: Any fit, or a fitted ``NaiveBayesClassifier``. Its own class probabilities do not matter.
        X: Rows [N, D] of the new population, or a dict of them by block.
        method: "map", the mode under the Dirichlet prior of the fit's model, in which a concentration below 1 counts
            as 1; or "mle", the maximum of the likelihood. They are the same under the default prior, Dirichlet(1).
        level: The probability inside the equal-tailed credible interval of each class probability. Its ends are found
            by importance weights of fixed points; for more than 10,000 rows the marginals are Beta distributions with
            the mode and curvature of Laplace's approximation in the softmax basis (MacKay, Choice of basis for Laplace
            approximation, 1998), which is exact for rows that leave no doubt of their class, and rough where two
            classes are hardly told apart.

    ``class_probs`` is a mode, and may lie outside of the interval, as where no row is of a class. With many classes, or
    classes that are hardly told apart, the interval may be rough; a warning says so.

    Raises:
        ValueError: if the rows do not fit, or there is none; for an unknown method or level; inside a transformation.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0.0], [0.2], [3.0], [3.1]], [0, 0, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
        >>> nb.estimate_class_probs(post, [[3.0], [2.9], [3.2], [0.1], [3.1]]).class_probs.round(1)
        array([0., 1.])
    """
    ends = tails(level)
    if method not in ("map", "mle"):
        raise ValueError(f"method must be 'map' or 'mle', got {method!r}")
    inner, rows = unwrap(fit, X)
    if inner is not fit:
        estimator: Any = fit
        found = estimate_class_probs(inner, rows, method=method, level=level)
        return replace(found, fit=estimator.with_class_prior(found.class_probs))
    if not isinstance(fit, Classifier):
        raise ValueError(f"estimate_class_probs takes a fit, such as nb.fit_posterior gives, got {type(fit).__name__}")
    arguments.require_known("estimate_class_probs", fit, X)
    num_classes = np.size(class_probs(fit))
    equal = np.full(num_classes, 1.0 / num_classes)
    shares = fit.with_class_probs(equal).predict_proba(rows)  # p(x | k), up to a factor
    whole: Any = getattr(fit, "posterior", fit)
    prior = getattr(whole, "prior", whole.model)  # the Dirichlet before the labelled rows
    concentration = np.broadcast_to(np.asarray(prior.class_concentration, np.float64), (num_classes,))
    if not len(shares):
        raise ValueError("estimate_class_probs needs at least one row, got none")
    table = np.asarray(shares, np.float64)
    centre, curvature = find_proportions(table, concentration)
    covariance = spread(curvature, centre)
    pseudo = np.maximum(concentration - 1.0, 0.0) if method == "map" else np.zeros(len(centre))
    probs = find_proportions(table, pseudo, centre).probs
    if len(table) <= limits.SHIFT_ROWS and len(centre) > 1:
        points = spread_points(table, concentration, centre, covariance)
        _warn_if_rough(points)
        low, high = quantiles(points, ends)
    else:
        low, high = _beta_quantiles(centre, np.diagonal(covariance), ends)
    probs, interval = jax.tree.map(lambda part: either.like(part, shares), (probs, Interval(low, high)))
    return ClassProbsEstimate(probs, interval, fit.with_class_probs(probs))


def _beta_quantiles(centre: Any, variance: Any, ends: Any) -> tuple[Array, Array]:
    """The quantiles of Beta(A m, A (1 - m)) with A = m (1 - m) / v, [K]; the number itself where it is certain."""
    certain = (centre >= 1.0) | (variance <= 0.0)
    mean = np.where(certain, 0.5, centre)
    total = mean * (1.0 - mean) / np.where(certain, 1.0, variance)
    low, high = (np.where(certain, centre, betaincinv(total * mean, total * (1.0 - mean), end)) for end in ends)
    return low, high


def _warn_if_rough(points: Points) -> None:
    size, num_classes = effective_size(points), points.probs.shape[1]
    if num_classes > 1 and size < max(limits.FEWEST_POINTS, limits.POINTS_PER_CLASS * num_classes):
        warn(
            f"the intervals of {num_classes} class probabilities rest on {size:.0f} effective "
            "points, so they are rough: give more rows, or leave out classes that no row can be of"
        )
