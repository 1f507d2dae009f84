"""Newton's method for many small problems at once: minima of a few unknowns between bounds, and roots of one.

In minima curvature enters by its absolute value, so that a step descends even if the loss is not convex. Steps are
limited to a radius that grows while they reduce the loss. Nocedal and Wright, Numerical Optimization (2006), sections
3.4, 4.1 and 16.7.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bayesnb.compute.arrays._placement import Array


class Minimum(NamedTuple):
    """Unknowns ``x`` [P, F] of F problems; ``at_bound`` [P, F] is -1 or 1 if the loss still falls beyond a bound."""

    x: Array
    at_bound: Array
    converged: Array
    num_iterations: Array


class _Point(NamedTuple):
    """Unknowns [P, F], their loss [F] and its gradient, Newton's step, and the decrease of the loss [F] it predicts."""

    x: Array
    loss: Array
    slope: Array
    step: Array
    promise: Array


def minimise(
    loss: Callable[[Array], Array], lower: Array, upper: Array, tolerance: Array, max_iterations: Array
) -> Minimum:
    """The minimum of each of F losses, searched from 0. Pure JAX; made for float64.

    Args:
        loss: A function from unknowns [P, F] to losses [F], each of which depends only on its own column.
        lower: Bounds [P, F], not above 0.
        upper: Bounds [P, F], not below 0.
        tolerance: A problem is solved when a further step is predicted to reduce its loss by no more than this.
        max_iterations: The largest number of steps.
    """
    num_unknowns, num_problems = lower.shape

    def total(x: Array) -> tuple[Array, Array]:
        each = loss(x)
        return each.sum(), each

    def at(x: Array) -> _Point:
        slope, bend, each = jax.linearize(jax.grad(total, has_aux=True), x, has_aux=True)
        # problems are independent: one direction for all of them gives a row of every Hessian
        directions = jnp.broadcast_to(jnp.eye(num_unknowns)[:, :, None], (num_unknowns, *x.shape))
        return _Point(x, each, slope, *_step(slope, jax.lax.map(bend, directions), x <= lower, x >= upper))

    def advance(state: tuple[_Point, Array, Array]) -> tuple[_Point, Array, Array]:
        point, radius, n = state
        x = _move(point, lower, upper, radius)
        trial = at(x)
        # a tiny increase may be the rounding of large sums
        helped = trial.loss <= point.loss + 1e-6 + 1e-13 * jnp.abs(point.loss)
        taken = helped & (point.promise > tolerance)
        radius = jnp.where(helped, jnp.minimum(2.0 * radius, 4.0), 0.25 * jnp.abs(x - point.x).max(axis=0))
        return jax.tree.map(lambda new, old: jnp.where(taken, new, old), trial, point), radius, n + 1

    def proceed(state: tuple[_Point, Array, Array]) -> Array:
        return (state[0].promise > tolerance).any() & (state[2] < max_iterations)

    # the first iteration only evaluates the starting point
    still, unknown = jnp.zeros_like(lower), jnp.full(num_problems, jnp.inf)
    start = _Point(still, unknown, still, still, unknown), jnp.ones(num_problems), jnp.array(-1)
    point, _, n = jax.lax.while_loop(proceed, advance, start)
    at_lower, at_upper = (point.x == lower) & (point.slope > 0), (point.x == upper) & (point.slope < 0)
    return Minimum(point.x, at_upper.astype(int) - at_lower.astype(int), (point.promise <= tolerance).all(), n)


def _step(slope: Array, curvature: Array, at_lower: Array, at_upper: Array) -> tuple[Array, Array]:
    """-|H|^-1 g [P, F] and g' |H|^-1 g / 2 [F], for gradients g [P, F] and Hessians H [P, P, F] in the free unknowns.

    An unknown at a bound is not free if descent, or the step itself, would move it beyond the bound.
    """
    free = ~((at_lower & (slope > 0)) | (at_upper & (slope < 0)))
    for _ in range(slope.shape[0]):
        matrix = jnp.where(free[:, None] & free[None], curvature, jnp.eye(slope.shape[0])[:, :, None])
        size, axes = jnp.linalg.eigh(jnp.moveaxis(matrix, -1, 0))
        along = jnp.einsum("fpi,pf->fi", axes, jnp.where(free, slope, 0.0))
        scaled = along / jnp.maximum(jnp.abs(size), 1e-6)  # smaller curvatures are rounding
        step = jnp.where(free, -jnp.einsum("fpi,fi->pf", axes, scaled), 0.0)
        free &= ~((at_lower & (step < 0)) | (at_upper & (step > 0)))
    return step, 0.5 * (along * scaled).sum(axis=1)


def _move(point: _Point, lower: Array, upper: Array, radius: Array) -> Array:
    """The end of the step, shortened to stay within the bounds [P, F] and the radius [F]."""
    room = jnp.minimum(jnp.where(point.step > 0, upper - point.x, point.x - lower), radius[None])
    share = jnp.where(point.step == 0, 1.0, room / jnp.abs(point.step)).min(axis=0)
    x = point.x + jnp.minimum(share, 1.0)[None] * point.step
    return jnp.where(x < lower + 1e-9, lower, jnp.where(x > upper - 1e-9, upper, x))


MOST_STEPS = 60
"""Of the search for roots: halves of halves are then as near as float64 tells numbers apart."""


class _Bracket(NamedTuple):
    """``lower`` and ``upper`` were tried and have the roots between them; ``x`` is next, ``moved`` from the last."""

    x: Array
    lower: Array
    upper: Array
    moved: Array
    num_steps: Array


def find_root(
    function: Callable[[Array], tuple[Array, Array]],
    lower: Array,
    upper: Array,
    start: Array,
    tolerance: Callable[[Array], Array],
    middle: Callable[[Array, Array], Array] = lambda lower, upper: 0.5 * (lower + upper),
) -> Array:
    """The roots of many functions, each negative below its root and positive above; else the bound they point to.

    Newton's method, and where it would leave what is left between the bounds, their middle. Pure JAX.

    Args:
        function: Unknowns of any shape, as their values and slopes; with a slope of NaN the sign alone counts.
        lower: Bounds of this shape.
        upper: Bounds of this shape.
        start: Where to begin, between the bounds.
        tolerance: The search ends when no step is longer than this, of the unknowns.
        middle: Of two bounds, such as their geometric mean.
    """

    def step(state: _Bracket) -> _Bracket:
        value, slope = function(state.x)
        below, newton = value < 0, state.x - value / slope
        low, high = jnp.where(below, state.x, state.lower), jnp.where(below, state.upper, state.x)
        within = jnp.clip(newton, lower, upper)
        good = ((low < within) & (within < high)) | (newton == state.x)
        x = jnp.where(good, within, middle(jnp.maximum(low, lower), jnp.minimum(high, upper)))
        return _Bracket(x, low, high, jnp.abs(x - state.x), state.num_steps + 1)

    def proceed(state: _Bracket) -> Array:
        return (state.moved > tolerance(state.x)).any() & (state.num_steps < MOST_STEPS)

    begin = _Bracket(start, start - jnp.inf, start + jnp.inf, start + jnp.inf, jnp.zeros((), int))
    return jax.lax.while_loop(proceed, step, begin).x
