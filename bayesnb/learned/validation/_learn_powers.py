"""Learn powers from a table of left-out log ratios: one for all features, or one for each around it.

The penalised loss, its scales and its priors: ``_temper``.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

import numpy as np
import scipy  # scipy.optimize is loaded on first use

from bayesnb.compute.arrays._placement import Array
from bayesnb.learned.validation._ratio_table import Groups, LeftOutRatios, Loss, softmax
from bayesnb.learned.validation._temper_in_jax import LOG_TEMPERATURES, SCALES, TOO_LOW

MOST_NEWTON = 500
"""The most features for which the loss's matrix of second derivatives is computed."""

MOST_STEPS, SMALLEST_GAIN, SMALLEST_GAIN_A_ROW = 50, 1e-4, 1e-6
"""The most steps of Newton's method, and the predicted gains in nats, of all rows and of one, below which a step is the
last."""

FIRST_ROOM, FAR = 0.9, 1.0
"""The part of its way to a power of 0 that a step may go while the one before gained so many nats: from a power near 0
the search takes as many steps back as it takes to double it to its value."""


def learn_temperature(table: LeftOutRatios) -> float:
    """The power T that all features share: where the loss, -log likelihood + (log T)^2 / 2, has slope 0.

    There is one such place at the most: the slope is negative until that of the likelihood is positive, and then grows.
    """
    ratios = table.summed()

    def slope(log_t: float) -> float:
        t = np.exp(log_t)
        probs, _ = softmax(table.prior + t * ratios)
        return t * float(table.weight @ (probs * ratios).sum(axis=1)) + log_t

    low, high = LOG_TEMPERATURES
    if slope(high) <= 0.0:
        return float(np.exp(high))
    if slope(low) >= 0.0:
        return float(np.exp(low))
    return float(np.exp(scipy.optimize.brentq(slope, low, high)))


def learn_powers(groups: Groups, table: LeftOutRatios) -> Array:
    """The powers [F], and that of forests if the table has it: those that each group learns, averaged."""
    powers = []
    for of_group in groups.split(table):
        temperature = learn_temperature(of_group)
        powers.append(temperature * (1.0 + learn_deviations(of_group, temperature)))
    return groups.join(powers)


def learn_deviations(table: LeftOutRatios, temperature: float) -> Array:
    """delta [F] at the scale that has the largest evidence."""
    delta, least, found = np.zeros(table.num_features), -np.inf, []
    for scale in SCALES if len(delta) else ():
        log_evidence, delta = _at_scale(table, temperature, scale, delta, least)
        found.append((log_evidence, delta))
        least = found[0][0] - TOO_LOW
        if log_evidence < least:
            break
    return max(found, key=itemgetter(0))[1] if found else delta


def _at_scale(
    table: LeftOutRatios, temperature: float, scale: float, start: Array, least: float
) -> tuple[float, Array]:
    """The log evidence of a scale by Laplace's approximation, up to a constant, and the mode of delta under it.

    A search that cannot find the ``least`` evidence is given up: -inf. The scale of forests is the widest: a power near
    0, as where nothing depends, is no reason for wide powers of all features.
    """
    scales = np.full(len(start), scale)
    if table.forest is not None:
        scales[-1] = SCALES[0]

    def loss(delta: Array) -> Loss:
        value, gradient, probs = table.loss(temperature * (1.0 + delta))
        of_prior = delta / scales**2
        return Loss(value + 0.5 * float(delta @ of_prior), temperature * gradient + of_prior, probs)

    def hessian(probs: Array) -> Array:
        return temperature**2 * table.hessian(probs) + np.diag(scales**-2)

    if len(start) <= MOST_NEWTON:
        smallest_gain = max(SMALLEST_GAIN, SMALLEST_GAIN_A_ROW * float(table.weight.sum()))
        value, mode, curvature = _newton(loss, hessian, start, smallest_gain, scales, -least)
        if curvature is None:
            return -np.inf, mode
        return -value - 0.5 * float(np.linalg.slogdet(scales[:, None] * curvature * scales)[1]), mode
    bounds = scipy.optimize.Bounds(np.full(len(start), -1.0), np.full(len(start), np.inf))
    best = scipy.optimize.minimize(lambda at: loss(at)[:2], start, jac=True, method="L-BFGS-B", bounds=bounds)
    return -float(best.fun) - 0.5 * table.log_volume(temperature * (1.0 + best.x), temperature * scales), best.x


def _newton(
    loss: Callable[[Array], Loss],
    hessian: Callable[[Array], Array],
    delta: Array,
    smallest_gain: float,
    scales: Array,
    most: float,
) -> tuple[float, Array, Array | None]:
    """The minimum of a convex loss over delta >= -1, the mode, and the second derivatives near it.

    Newton's method, with each step the best that stays within the bounds. None for the derivatives if the minimum is
    more than ``most``: the curvature is ``scales`` [F] to the power of -2 at least.
    """
    here, gain = loss(delta), np.inf
    for _ in range(MOST_STEPS):
        value, gradient, probs = here
        free = ~((delta <= -1.0) & (gradient > 0.0))
        if value - 0.5 * float(np.square(scales * gradient) @ free) > most:
            return value, delta, None
        curvature = hessian(probs)
        step = _step_above((FIRST_ROOM if gain > FAR else 1.0) * (-1.0 - delta), gradient, curvature)
        slope, length = float(gradient @ step), 1.0
        gain = -0.5 * slope
        while True:
            moved = np.maximum(delta + length * step, -1.0)
            new = loss(moved)
            if new.value <= value + 1e-4 * length * slope or length < 1e-6:
                break
            length *= 0.5
        here, delta = (new, moved) if new.value <= value else (here, delta)
        if gain < smallest_gain or length < 1e-6:
            break
    return here.value, delta, curvature


def _step_above(least: Array, gradient: Array, curvature: Array) -> Array:
    """The step s >= least at which s gradient + s curvature s / 2 is smallest, [F]; ``least`` is 0 or below.

    Numbers that would fall below their bound are held there, and those are freed that would rise from it, until there
    are none: Portugal, Judice and Vicente, A comparison of block pivoting and interior-point algorithms for linear
    least squares problems with nonnegative variables (1994).
    """
    held, step = (least >= 0.0) & (gradient > 0.0), np.zeros_like(gradient)
    for _ in range(MOST_STEPS):
        step, free = np.where(held, least, 0.0), ~held
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], (gradient + curvature @ step)[free])
        change = np.where(held, gradient + curvature @ step < 0.0, step < least)
        if not change.any():
            break
        held = held ^ change
    return np.maximum(step, least)
