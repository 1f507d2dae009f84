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
"""The number of quasi-random points behind a quantile, a power of two."""


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


def quantiles(table: Numbers, pseudo: Numbers, centre: Numbers, covariance: Numbers, ends: Numbers) -> Numbers:
    """Posterior quantiles of each proportion, [Q, K], by importance weights of quasi-random points."""
    uniform = Sobol(len(centre), scramble=False).random(NUM_POINTS) + 0.5 / NUM_POINTS
    points = place_points(uniform, table, pseudo, centre, covariance)
    weight = np.exp(points.log_ratio - points.log_ratio.max())
    order = points.probs.argsort(axis=0)
    mass = np.cumsum(weight[order], axis=0)
    middle = (mass - 0.5 * weight[order]) / mass[-1]
    ordered = np.take_along_axis(points.probs, order, axis=0)
    return np.stack([np.interp(ends, middle[:, k], ordered[:, k]) for k in range(len(centre))], axis=1)


def independence_chain(points: Points, uniform: Numbers) -> Numbers:
    """The states of a Metropolis chain that proposes the points in turn, without the first ones.

    Tierney, Markov chains for exploring posterior distributions (1994), section 2.3.2.
    """
    accept, current, visited = np.log(uniform), 0, np.zeros(len(uniform), int)
    for step in range(1, len(uniform)):
        current = step if accept[step] < points.log_ratio[step] - points.log_ratio[current] else current
        visited[step] = current
    return points.probs[visited[BURN_IN:]]
