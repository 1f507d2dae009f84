"""Learn the powers of ``temper`` inside JAX: under jit, vmap and grad, where numpy's solvers cannot run.

The objective is that of ``temper``. The common power is found by bisection and powers of features by projected Newton
steps, a fixed number of each. A last step of Newton's method carries the derivatives: at a minimum it does not move,
and its derivative is that of the minimum by the implicit function theorem. Blondel et al., Efficient and modular
implicit differentiation (2022), section 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays._placement import Array
from bayesnb.families._views import start_powers
from bayesnb.results._classifier import Posterior
from bayesnb.rows._labelled_rows import LabelledRows
from bayesnb.validation._leave_one_out import class_part, one_in

LOG_TEMPERATURES = (-12.0, 0.0)
"""Bounds of log T, whose prior has standard deviation 1: the common power never makes the model more confident."""

SCALES = (1.0, 0.3, 0.2, 0.1, 0.03)
"""The standard deviations of delta that are compared by evidence."""

TOO_LOW = 20.0
"""Nats of evidence that a scale may lose against the first before smaller ones are left out."""

NUM_STEPS = 8, 4
"""Newton's steps for the common power; and for each scale, which begins at the mode of the one before."""


class Ratios(NamedTuple):
    """Left-out log ratios of all classes to a row's own: ``prior`` [N, K], ``ratios`` [N, K, F], ``weight`` [N];
    ``sizes``, the number of features by block.
    """

    prior: Array
    ratios: Array
    weight: Array
    sizes: dict[str, int]

    def loss(self, powers: Array) -> tuple[Array, Array, Array]:
        """-sum_i weight_i log p(y_i | x_i) under powers [F], its gradient [F] and second derivatives [F, F]."""
        joint = self.prior + self.ratios @ powers
        total = jax.nn.logsumexp(joint, axis=1)
        probs = jnp.exp(joint - total[:, None])
        mean = jnp.einsum("nk,nkf->nf", probs, self.ratios)
        about_mean = jnp.sqrt(self.weight[:, None] * probs)[:, :, None] * (self.ratios - mean[:, None])
        spread = about_mean.reshape(-1, len(powers))
        return self.weight @ total, self.weight @ mean, spread.T @ spread


def left_out_log_ratios(posterior: Posterior, rows: LabelledRows, *, by_feature: bool) -> Ratios:
    """Those of all rows, or of one in ``one_in`` of each class; without ``by_feature`` each block is one feature."""
    total = posterior.statistics.class_counts.sum()
    if (every := one_in(rows.num_rows)) > 1:
        rows = rows.select(jnp.argsort(rows.labels.y, stable=True)[::every])
    y, weight = rows.labels.y, rows.weight()
    once, own = jnp.minimum(weight, 1.0), jnp.arange(len(y))

    def relative(table: Array) -> Array:
        return table - table[own, y][:, None]

    blocks = []
    for name, family in posterior.prior.families.items():
        terms = family.leave_one_out_terms(posterior.statistics.blocks[name], rows.arrays[name], y, once)
        terms = terms * start_powers(family, rows.arrays[name].shape[1])[None, None]
        blocks.append(relative(terms if by_feature else terms.sum(axis=2, keepdims=True)))
    prior = relative(class_part(posterior, y, once, learned=True))
    sizes = dict(zip(posterior.prior.families, (block.shape[2] for block in blocks), strict=True))
    return Ratios(prior, jnp.concatenate(blocks, axis=2), weight * (total / weight.sum()), sizes)


def learn_temperature(table: Ratios) -> Array:
    """The power T that all features share: Newton's method for log T, or half the interval where it would leave it."""
    summed = table._replace(ratios=table.ratios.sum(axis=2, keepdims=True))

    def slopes(log_t: Array, table: Ratios) -> tuple[Array, Array]:
        t = jnp.exp(log_t)
        _, slope, curvature = table.loss(t[None])
        return t * slope[0] + log_t, t * slope[0] + t**2 * curvature[0, 0] + 1.0

    def advance(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        low, high, at = state
        slope, curvature = slopes(at, fixed)
        low, high = jnp.where(slope > 0.0, low, at), jnp.where(slope > 0.0, at, high)
        newton = at - slope / curvature
        inside = (curvature > 0.0) & (low <= newton) & (newton <= high)
        return low, high, jnp.where(inside, newton, 0.5 * (low + high))

    fixed = jax.lax.stop_gradient(summed)
    low, high = (jnp.asarray(end, summed.ratios.dtype) for end in LOG_TEMPERATURES)
    *_, found = jax.lax.fori_loop(0, NUM_STEPS[0], advance, (low, high, high))
    slope, curvature = slopes(found, summed)
    inside = (LOG_TEMPERATURES[0] < found) & (found < LOG_TEMPERATURES[1])
    step = jnp.where(inside, slope / jax.lax.stop_gradient(curvature), 0.0)
    return jnp.exp(found - (step - jax.lax.stop_gradient(step)))


class _Mode(NamedTuple):
    """delta [F], the loss there and its second derivatives; Newton's step, and the length of the next trial."""

    delta: Array
    loss: Array
    curvature: Array
    step: Array
    length: Array


def learn_deviations(table: Ratios, temperature: Array) -> Array:
    """delta [F] at the scale with the largest evidence, by projected Newton steps."""
    num_features = table.ratios.shape[2]
    fixed, fixed_t = jax.lax.stop_gradient((table, temperature))

    def loss(delta: Array, scale: Array, table: Ratios, t: Array) -> tuple[Array, Array, Array]:
        value, slope, curvature = table.loss(t * (1.0 + delta))
        prior = 0.5 * (delta @ delta) / scale**2
        return value + prior, t * slope + delta / scale**2, t**2 * curvature + jnp.eye(num_features) / scale**2

    def step_from(delta: Array, slope: Array, curvature: Array) -> Array:
        """Newton's step in the features that are not held at -1."""
        free = ~((delta <= -1.0) & (slope > 0.0))
        of_free = jnp.where(free[:, None] & free[None, :], curvature, jnp.eye(num_features))
        return jnp.where(free, jnp.linalg.solve(of_free, jnp.where(free, slope, 0.0)), 0.0)

    def at_scale(start: Array, scale: Array) -> tuple[Array, tuple[Array, Array]]:
        def advance(_: int, mode: _Mode) -> _Mode:
            tried = jnp.maximum(mode.delta - mode.length * mode.step, -1.0)
            value, slope, curvature = loss(tried, scale, fixed, fixed_t)
            one = jnp.ones_like(mode.length)
            moved = _Mode(tried, value, curvature, step_from(tried, slope, curvature), one)
            shorter = mode._replace(length=0.25 * mode.length)
            return jax.tree.map(lambda new, old: jnp.where(value <= mode.loss, new, old), moved, shorter)

        unknown = jnp.full((), jnp.inf, start.dtype)
        begin = _Mode(start, unknown, jnp.eye(num_features, dtype=start.dtype), 0 * start, jnp.ones_like(unknown))
        mode = jax.lax.fori_loop(0, NUM_STEPS[1], advance, begin)
        log_evidence = -mode.loss - 0.5 * jnp.linalg.slogdet(scale**2 * mode.curvature)[1]
        return mode.delta, (log_evidence, mode.delta)

    scales = jnp.asarray(SCALES, table.ratios.dtype)
    _, (log_evidence, modes) = jax.lax.scan(at_scale, jnp.zeros(num_features, scales.dtype), scales)
    left_out = jnp.cumsum(log_evidence < log_evidence[0] - TOO_LOW) > 0
    best = jnp.argmax(jnp.where(left_out, -jnp.inf, log_evidence))
    _, slope, curvature = loss(modes[best], scales[best], table, temperature)
    step = step_from(modes[best], slope, jax.lax.stop_gradient(curvature))
    return modes[best] - (step - jax.lax.stop_gradient(step))


def learn_powers(table: Ratios, groups: np.ndarray[Any, Any]) -> Array:
    """The powers [F] of the features: the mean of those that each group learns, from multiples [G, F] of the ratios."""
    powers = jnp.zeros(groups.shape[1], table.ratios.dtype)
    for multiples in groups:
        own = np.flatnonzero(multiples)
        of_group = table._replace(ratios=table.ratios[:, :, own] * multiples[own][None, None])
        temperature = learn_temperature(of_group)
        if own.size:
            powers = powers.at[own].add(multiples[own] * temperature * (1.0 + learn_deviations(of_group, temperature)))
    return powers / len(groups)
