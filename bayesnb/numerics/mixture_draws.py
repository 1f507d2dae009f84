"""The posterior of a mixture's proportions by points from Student's t around its maximum: draws, and quantiles.

The coordinates are log(p_k / p_K), in which the density is exp(F) of ``mixture_proportions`` with the concentration as
pseudo-counts, because the Jacobian is prod_k p_k.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincinv, ndtri, softmax
from scipy.stats.qmc import Sobol

from bayesnb.numerics.mixture_proportions import log_posteriors

Numbers = np.ndarray[Any, Any]

BURN_IN = 200
"""The states of the chain that are dropped before the first draw."""

NUM_POINTS = 1024
"""The least number of points behind a quantile, a power of two."""

MOST_POINTS, MOST_LOGS = 8192, 1 << 24
"""The most points, and the most logarithms of rows at points, where there are more than a few classes."""

FEW_CLASSES = 10
"""Up to so many classes quasi-random points are better than random ones."""


class Points(NamedTuple):
    """Proportions [S, K], and for each the log of its posterior density relative to that of the proposal, [S]."""

    probs: Numbers
    log_ratio: Numbers


def place_points(uniform: Numbers, table: Numbers, pseudo: Numbers, centre: Numbers, covariance: Numbers) -> Points:
    """Points made of numbers inside (0, 1), [S, K]: K - 1 for the direction, and one for the scale."""
    free = len(centre) - 1
    degrees = 5.0 + free  # heavier tails than the posterior, but not so heavy that most points are far away
    contrast = np.concatenate([np.eye(free), -np.ones((free, 1))], axis=1) / centre
    factor = np.linalg.cholesky(contrast @ covariance @ contrast.T)
    noise = ndtri(uniform[:, :free]) / np.sqrt(gammaincinv(0.5 * degrees, uniform[:, free:]) / (0.5 * degrees))
    odds = np.log(centre[:-1] / centre[-1]) + noise @ factor.T
    probs = softmax(np.concatenate([odds, np.zeros((len(odds), 1))], axis=1), axis=1)
    proposal = -0.5 * (degrees + free) * np.log1p((noise * noise).sum(axis=1) / degrees)
    return Points(probs, log_posteriors(table, probs, pseudo) - proposal)


def spread_points(*posterior: Numbers) -> Points:
    """The same points each time, of a posterior as ``place_points`` takes it after its first argument."""
    num_rows, num_classes = posterior[0].shape
    if num_classes <= FEW_CLASSES:
        uniform = Sobol(num_classes, scramble=False).random(NUM_POINTS) + 0.5 / NUM_POINTS
    else:
        num_points = int(np.clip(MOST_LOGS // num_rows, NUM_POINTS, MOST_POINTS))
        uniform = np.random.default_rng(0).random((num_points, num_classes))
    return place_points(uniform, *posterior)


def quantiles(points: Points, ends: Numbers) -> Numbers:
    """Posterior quantiles of each proportion, [Q, K], by importance weights."""
    weight = np.exp(points.log_ratio - points.log_ratio.max())
    order = points.probs.argsort(axis=0)
    mass = np.cumsum(weight[order], axis=0)
    middle = (mass - 0.5 * weight[order]) / mass[-1]
    ordered = np.take_along_axis(points.probs, order, axis=0)
    return np.stack([np.interp(ends, middle[:, k], ordered[:, k]) for k in range(mass.shape[1])], axis=1)


def effective_size(points: Points) -> float:
    """The number of independent draws that weigh as much as the points: (sum w)^2 / sum w^2."""
    weight = np.exp(points.log_ratio - points.log_ratio.max())
    return float(weight.sum() ** 2 / np.square(weight).sum())


def independence_chain(points: Points, uniform: Numbers) -> Numbers:
    """The states of a Metropolis chain that proposes the points in turn, without the first ones.

    Tierney, Markov chains for exploring posterior distributions (1994), section 2.3.2.
    """
    accept, current, visited = np.log(uniform), 0, np.zeros(len(uniform), int)
    for step in range(1, len(uniform)):
        current = step if accept[step] < points.log_ratio[step] - points.log_ratio[current] else current
        visited[step] = current
    return points.probs[visited[BURN_IN:]]
