"""Factors, inverses and eigenvalues of matrices [..., D, D], which LAPACK computes one after the other on a CPU.

XLA cuts a batch of matrices into parts for its threads and waits for them in one of these: jaxlib 0.10 waits for ever
where as many batches are under way as it has threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.arrays._own_primitives import Body, with_host_body
from bayesnb.compute.arrays._placement import Array


def _one_by_one(function: Body) -> Body:
    """A function of one matrix as a primitive of JAX, which makes a loop of what ``vmap`` would make a batch."""

    def of_all(matrix: Array, mapped: Callable[[Body], Any] = jax.vmap) -> tuple[Array, ...]:
        front = matrix.shape[:-2]
        found = mapped(function)(matrix.reshape(prod(front), *matrix.shape[-2:]))
        return tuple(part.reshape(*front, *part.shape[1:]) for part in found)

    def shapes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [part.shape for part in jax.eval_shape(of_all, jax.ShapeDtypeStruct(shape, jnp.float32))]

    in_turn = partial(of_all, mapped=lambda of_one: partial(jax.lax.map, of_one))

    @with_host_body(partial(interpret, of_all), shapes)
    @wraps(function)
    def call(matrix: Array) -> Any:
        return jax.lax.platform_dependent(matrix, cpu=in_turn, default=of_all)

    return call


@jax.custom_jvp
@_one_by_one
def factors(matrix: Array) -> tuple[Array, Array]:
    """L and L^-1 of symmetric S = L L', with L lower triangular; NaN unless S is positive definite."""
    lower, unit = jnp.linalg.cholesky(matrix), jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    return lower, jax.scipy.linalg.solve_triangular(lower, unit, lower=True)


@factors.defjvp
def _(given: tuple[Array], changes: tuple[Array]) -> Any:
    lower, inverse = found = factors(*given)  # derivatives need no others
    white = inverse @ (changes[0] + changes[0].mT) @ inverse.mT / 2
    part = (jnp.tril(white) + jnp.tril(white, -1)) / 2
    return found, (lower @ part, -part @ inverse)


@_one_by_one
def inverses(matrix: Array) -> tuple[Array, Array]:
    """A^-1 and log |A|."""
    return jnp.linalg.inv(matrix), jnp.linalg.slogdet(matrix)[1]


@_one_by_one
def eigenvalues(matrix: Array) -> tuple[Array]:
    """Those of symmetric matrices, [..., D]."""
    return (jnp.linalg.eigvalsh(matrix),)
