"""The proportions of known distributions in a mixture: the maximum of their posterior, and quantiles.

With the likelihoods L [N, K] of rows under each of K distributions, the log posterior of the proportions p under
pseudo-counts b is concave; rows may have weights v:

    F(p) = sum_n v_n log(sum_k p_k L_nk) + sum_k b_k log p_k,   sum_k p_k = 1,   p >= 0

Newton's method finds its maximum in a few passes over the rows. The quadratic model at p has the gradient g and the
curvature H, with H p = g, and its maximum over p >= 0 is a non-negative least squares problem of K numbers. Kim,
Carbonetto, Stephens and Anitescu, A fast algorithm for maximum likelihood estimation of mixture proportions using
sequential quadratic programming (2020). EM would need many passes if the distributions overlap.

Quantiles come from points of Student's t around the maximum. Their coordinates are log(p_k / p_K), in which
the density is exp(F) with the concentration as pseudo-counts, because the Jacobian is prod_k p_k.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy  # scipy.linalg, optimize and stats are loaded on first use
from scipy.special import gammaincinv, ndtri, softmax

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._loops import in_threads, row_blocks

Numbers = np.ndarray[Any, Any]


class Slopes(NamedTuple):
    """F at p, its gradient [K], and its curvature [K, K], minus the second derivatives."""

    value: float
    gradient: Numbers
    curvature: Numbers


class Maximum(NamedTuple):
    """The maximum of F, [K], and the curvature of F there, [K, K]."""

    probs: Numbers
    curvature: Numbers


def find_proportions(
    table: Numbers, pseudo: Numbers, start: Numbers | None = None, weight: Numbers | None = None
) -> Maximum:
    """The maximum of F by Newton's method; ``start`` must be positive. It is uniform by default, and rows weigh 1."""
    probs = np.full(table.shape[1], 1.0 / table.shape[1]) if start is None else start
    weight = np.ones(len(table)) if weight is None else weight
    total, here = float(weight.sum() + pseudo.sum()), slopes(table, probs, pseudo, weight)
    for _ in range(100):
        best = _quadratic_maximum(here, total)
        step, size = best - probs, 1.0
        gain = here.gradient @ step
        if gain < 1e-5:  # nats, .005 standard errors: the last step, as Newton's method squares the error
            return Maximum(best, here.curvature)
        there = slopes(table, best, pseudo, weight)
        while gain > 1e-3 and size > 1e-9 and not there.value > here.value:
            size *= 0.5  # far away the quadratic model may be wrong
            there = slopes(table, np.maximum(probs + size * step, 0.0), pseudo, weight)
        here, probs = there, np.maximum(probs + size * step, 0.0)
    return Maximum(probs, here.curvature)


def slopes(table: Numbers, probs: Numbers, pseudo: Numbers, weight: Numbers) -> Slopes:
    """The value of F and its slopes at p; a pseudo-count is a row that only one distribution explains."""

    def of_rows(rows: slice) -> tuple[Numbers, ...]:
        total = table[rows] @ probs
        share = table[rows] / np.where(total > 0, total, 1.0)[:, None]
        weighted = weight[rows, None] * share
        with np.errstate(divide="ignore"):
            return weight[rows] @ np.log(total), weighted.sum(axis=0), weighted.T @ share

    parts = in_threads(of_rows, row_blocks(len(table), 8 * len(probs), block_bytes=limits.IN_CACHE))
    value, gradient, curvature = (sum(part) for part in zip(*parts, strict=True))
    used = np.where((pseudo > 0) & (probs > 0), probs, 1.0)
    with np.errstate(divide="ignore"):  # F is -inf where a row or a pseudo-count has no proportion
        value += (pseudo * np.log(np.where(pseudo > 0, probs, 1.0))).sum()
    return Slopes(float(value), gradient + pseudo / used, curvature + np.diag(pseudo / np.square(used)))


def spread(curvature: Numbers, probs: Numbers) -> Numbers:
    """The covariance of p [K, K], whose sum is fixed, from the curvature of F at a maximum inside."""
    scaled = probs[:, None] * curvature * probs[None, :]
    inverse = np.linalg.inv(scaled)
    along = inverse @ probs
    return probs[:, None] * (inverse - np.outer(along, along) / (probs @ along)) * probs[None, :]


def log_posteriors(table: Numbers, probs: Numbers, pseudo: Numbers) -> Numbers:
    """F of many proportions [S, K], [S]."""

    def of_rows(rows: slice) -> Numbers:
        with np.errstate(divide="ignore"):
            return np.log(table[rows] @ probs.T).sum(axis=0)

    blocks = row_blocks(len(table), 8 * len(probs))
    return sum(in_threads(of_rows, blocks), np.zeros(len(probs))) + np.log(probs) @ pseudo


def _quadratic_maximum(here: Slopes, total: float) -> Numbers:
    """argmax of 2 g q - total sum q - q' H q / 2 over q >= 0, made to sum to one."""
    width = np.sqrt(np.diagonal(here.curvature))
    width = np.where(width > 0, width, 1.0)
    scaled = here.curvature / width[:, None] / width[None, :]
    factor = np.linalg.cholesky(scaled + 1e-12 * np.eye(len(width)))
    target = scipy.linalg.solve_triangular(factor, (2.0 * here.gradient - total) / width, lower=True)
    found = scipy.optimize.nnls(factor.T, target)[0] / width
    return found / found.sum()


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
    if num_classes <= limits.QUASI_RANDOM_CLASSES:
        points = scipy.stats.qmc.Sobol(num_classes, scramble=False).random(limits.SHIFT_POINTS)
        uniform = points + 0.5 / limits.SHIFT_POINTS
    else:
        num_points = int(np.clip(limits.MOST_SHIFT_LOGS // num_rows, limits.SHIFT_POINTS, limits.MOST_SHIFT_POINTS))
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
