"""Learns the powers of features from their leave-one-out evidence; the formulas are those of ``temper``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy  # scipy.optimize is loaded on first use

from bayesnb.arrays.placement import Array
from bayesnb.validation.left_out_evidence import LeftOutEvidence, softmax

LOG_TEMPERATURES = (-12.0, 0.0)
"""Bounds of log T, whose prior has standard deviation 1: the common power never makes the model more confident."""

SCALES = (1.0, 0.3, 0.2, 0.1, 0.03)
"""The standard deviations of delta that are compared by evidence."""

TOO_LOW = 20.0
"""Nats of evidence that a scale may lose against the first before smaller ones are left out."""

MOST_NEWTON = 500
"""The most features for which the loss's matrix of second derivatives is computed."""

MOST_STEPS, SMALLEST_GAIN = 50, 1e-4
"""The most steps of Newton's method, and the predicted gain in nats below which a step is the last."""


def learn_temperature(table: LeftOutEvidence) -> float:
    """The power T that all features share."""
    evidence = table.evidence.sum(axis=2, dtype=np.float64)

    def loss(log_t: float) -> float:
        _, nats = softmax(table.prior + np.exp(log_t) * evidence)
        return float(table.weight @ nats) + 0.5 * log_t * log_t

    options = {"xatol": 1e-8}
    return float(np.exp(scipy.optimize.minimize_scalar(loss, bounds=LOG_TEMPERATURES, options=options).x))


def learn_powers(table: LeftOutEvidence, groups: Array) -> Array:
    """The powers [F] of the features: the mean of those that each group learns, from multiples [G, F] of the evidence.

    A feature whose multiple is 0 is not among the group's.
    """
    powers = np.zeros(groups.shape[1])
    for multiples in groups:
        own = multiples > 0
        of_group = table if (multiples == 1).all() else table.select(own, multiples[own])
        temperature = learn_temperature(of_group)
        if own.any():
            powers[own] += multiples[own] * temperature * (1.0 + learn_deviations(of_group, temperature))
    return powers / len(groups)


def learn_deviations(table: LeftOutEvidence, temperature: float) -> Array:
    """delta [F] at the scale with the largest evidence."""
    delta, found = np.zeros(table.evidence.shape[2]), []
    for scale in SCALES:
        score, delta = _at_scale(table, temperature, scale, delta)
        found.append((score, delta))
        if score < found[0][0] - TOO_LOW:
            break
    return max(found, key=lambda pair: pair[0])[1]


def _at_scale(table: LeftOutEvidence, temperature: float, scale: float, start: Array) -> tuple[float, Array]:
    """The log evidence of a scale by Laplace's approximation, up to a constant, and the mode of delta under it."""

    def loss(delta: Array) -> tuple[float, Array]:
        value, gradient = table.loss(temperature * (1.0 + delta))
        return value + 0.5 * float(delta @ delta) / scale**2, temperature * gradient + delta / scale**2

    def hessian(delta: Array) -> Array:
        return temperature**2 * table.hessian(temperature * (1.0 + delta)) + np.eye(len(delta)) / scale**2

    if len(start) <= MOST_NEWTON:
        value, mode, curvature = _newton(loss, hessian, start)
        return -value - 0.5 * float(np.linalg.slogdet(scale**2 * curvature)[1]), mode
    bounds = scipy.optimize.Bounds(np.full(len(start), -1.0), np.full(len(start), np.inf))
    best = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    information = temperature**2 * scale**2 * table.information(temperature * (1.0 + best.x))
    return -float(best.fun) - 0.5 * float(np.log1p(information).sum()), best.x


def _newton(
    loss: Callable[[Array], tuple[float, Array]], hessian: Callable[[Array], Array], delta: Array
) -> tuple[float, Array, Array]:
    """The minimum of a convex loss over delta >= -1, the mode, and the second derivatives near it.

    Newton's method on the features that are not held at the bound; Bertsekas, Projected Newton methods (1982).
    """
    value, gradient = loss(delta)
    for _ in range(MOST_STEPS):
        curvature, free = hessian(delta), ~((delta <= -1.0) & (gradient > 0.0))
        step = np.zeros_like(delta)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        gain, length = 0.5 * float(gradient @ step), 1.0
        while True:
            moved = np.maximum(delta - length * step, -1.0)
            new, slope = loss(moved)
            if new <= value - 1e-4 * float(gradient @ (delta - moved)) or length < 1e-6:
                break
            length *= 0.5
        value, gradient, delta = (new, slope, moved) if new <= value else (value, gradient, delta)
        if gain < SMALLEST_GAIN or length < 1e-6:
            break
    return value, delta, curvature
