"""Bounds of shares of a whole whose parts have bounds, such as the posterior of classes whose likelihoods have bounds.

With bounds exp(low_k) and exp(high_k) of K parts, and weights n_k to n_k' of the parts, of which other parts have m_o,

    lower share c = n_c L_c / (n_c L_c + sum_o m_o U_o + s max_o U_o),         o other than c
    upper share c = n_c' U_c / (n_c' U_c + sum_o n_o L_o)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, on_host


class Weights(NamedTuple):
    """``fewest`` n, ``most`` n' and ``others`` m of the parts, [K], and ``worst`` s, []."""

    fewest: Array
    most: Array
    others: Array
    worst: Array


def bound_shares(weights: Weights, logs: Array) -> tuple[Array, Array]:
    """The lower and the upper shares, two [N, K], of rows with the logs of both bounds beside each other, [N, 2 K]."""
    if not on_host(weights, logs):
        return _shares(weights, logs.T)

    def of_block(rows: slice) -> tuple[Array, Array]:
        return interpret(_shares, weights, np.ascontiguousarray(logs[rows].T))  # numpy is slow along short rows

    blocks = row_blocks(len(logs), 8 * logs.shape[1], block_bytes=limits.IN_CACHE) or [slice(0, 0)]
    low, high = map(np.concatenate, zip(*in_threads(of_block, blocks), strict=True))
    return low, high


def _ends(dtype: Any) -> tuple[float, float, float]:
    """The least logarithm of a unit, the largest logarithm in units, and a number that keeps 0 / 0 at 0."""
    largest = float(np.finfo(dtype).max)
    return -0.25 * largest, 0.75 * math.log(largest), float(np.finfo(dtype).tiny)


@jax.jit
def _shares(weights: Weights, logs: Array) -> tuple[Array, Array]:
    """The shares [N, K] of rows in columns, [2 K, N]."""
    low, high = jnp.split(logs, 2)
    lowest, room, tiny = _ends(logs.dtype)
    fewest, most, others = (part.astype(logs.dtype)[:, None] for part in map(jnp.asarray, weights[:3]))
    low = low + jnp.log(fewest)
    # the largest lower bound is the unit: what is far above it decides alone
    unit = jnp.maximum(low.max(axis=0, keepdims=True), lowest)
    low, high = jnp.exp(low - unit), jnp.exp(jnp.minimum(high - unit, room))
    rest = _of_others(jnp.add, jax.lax.cumsum, others * high)
    rest = rest + weights.worst * _of_others(jnp.maximum, jax.lax.cummax, high)
    high = most * high
    return (low / (low + rest + tiny)).T, (high / (high + _of_others(jnp.add, jax.lax.cumsum, low) + tiny)).T


def _of_others(combine: Callable[..., Array], cumulate: Callable[..., Array], parts: Array) -> Array:
    """The other entries of each column combined: those before and those after, as a difference could cancel."""
    none, before, after = 0.0 * parts[:1], cumulate(parts), cumulate(parts, reverse=True)
    return combine(jnp.concatenate([none, before[:-1]]), jnp.concatenate([after[1:], none]))
