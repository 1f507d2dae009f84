"""JAX's functions that ONNX lacks, written in JAX with those that it has; the translation traces them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from bayesnb.numerics.log_gamma import stirling_log_gamma


def _log1p(x: jax.Array, **_: Any) -> jax.Array:
    """log(1 + x) without the loss of small x: what 1 + x rounds away is a factor (Kahan)."""
    total = 1.0 + x
    change = total - 1.0
    exact = change == x  # also for an infinite x
    scale = jnp.where(exact, 1.0, x / jnp.where(change == 0, 1.0, change))
    return jnp.where(change == 0, x, jnp.log(total) * scale)


def _expm1(x: jax.Array, **_: Any) -> jax.Array:
    """exp(x) - 1, likewise."""
    total = jnp.exp(x)
    change, log = total - 1.0, jnp.log(total)
    plain = (jnp.abs(x) > 1.0) | (log == 0)
    return jnp.where(total == 1.0, x, jnp.where(plain, change, change * (x / jnp.where(plain, 1.0, log))))


def _log_gamma(x: jax.Array, **_: Any) -> jax.Array:
    return stirling_log_gamma(x)


def _logistic(x: jax.Array, **_: Any) -> jax.Array:
    return 1.0 / (1.0 + jnp.exp(-x))


def _is_finite(x: jax.Array, **_: Any) -> jax.Array:
    return jnp.abs(x) < jnp.inf


def _is_before(a: jax.Array, b: jax.Array, **_: Any) -> jax.Array:
    """a < b where NaN is the largest number."""
    return (a < b) | ((a == a) & (b != b))


def _clamp(low: jax.Array, x: jax.Array, high: jax.Array, **_: Any) -> jax.Array:
    return jnp.minimum(jnp.maximum(x, low), high)


def _cholesky(a: jax.Array, **_: Any) -> jax.Array:
    """The lower factor of matrices [..., D, D], column by column."""
    places = jnp.arange(a.shape[-1])

    def add(j: Any, factor: jax.Array) -> jax.Array:
        column = _at(a, j, -1)[..., 0] - (factor * _at(factor, j, -2)).sum(axis=-1)
        column = jnp.where(places >= j, column / jnp.sqrt(_at(column, j, -1)), 0.0)
        return jnp.where(places == j, column[..., None], factor)

    return jax.lax.fori_loop(0, a.shape[-1], add, jnp.zeros_like(a))


def _triangular_solve(
    a: jax.Array, b: jax.Array, *, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> jax.Array:
    """x with a x = b, or x a = b, by substitution, row by row."""
    if transpose_a == left_side:  # a triangle on the left in all cases
        a = a.mT
    b = b if left_side else b.mT
    last = a.shape[-1] - 1
    places, downwards = jnp.arange(last + 1)[:, None], (lower != transpose_a) == left_side

    def add(step: Any, x: jax.Array) -> jax.Array:
        i = step if downwards else last - step
        row = _at(a, i, -2)
        found = _at(b, i, -2) - row @ x
        return jnp.where(places == i, found if unit_diagonal else found / _at(row, i, -1), x)

    x = jax.lax.fori_loop(0, last + 1, add, jnp.zeros_like(b))
    return x if left_side else x.mT


def _at(x: jax.Array, place: Any, axis: int) -> jax.Array:
    """The part of size 1 at a computed place along an axis."""
    return jax.lax.dynamic_slice_in_dim(x, place, 1, axis)


ELEMENTWISE: dict[str, Callable[..., jax.Array]] = {
    "log1p": _log1p,
    "expm1": _expm1,
    "lgamma": _log_gamma,
    "logistic": _logistic,
    "is_finite": _is_finite,
    "lt_to": _is_before,
    "clamp": _clamp,
}
"""Functions of numbers, by the primitive's name."""

FUNCTIONS = ELEMENTWISE | {"cholesky": _cholesky, "triangular_solve": _triangular_solve}
"""All of them."""
