"""Bounds of shares of a whole whose parts have bounds, such as the posterior of classes whose likelihoods have bounds.

With bounds exp(low_k) and exp(high_k) of K parts, and weights n_k to n_k' of the parts, of which other parts have m_o,

    lower share c = n_c L_c / (n_c L_c + sum_o m_o U_o + s max_o U_o),         o other than c
    upper share c = n_c' U_c / (n_c' U_c + sum_o n_o L_o)

numpy's rows go through compiled loops and numpy's vectorised exp. By numpy alone this would take twice as long as a
prediction, and by XLA four times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._loops import compiled_unless_few, in_threads, row_blocks
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
        return _by_jax(weights, logs)
    low, high = np.empty((2, len(logs), len(weights.fewest)))
    with np.errstate(divide="ignore"):
        log_fewest = np.log(weights.fewest)

    def block(rows: slice) -> None:
        with np.errstate(under="ignore"):
            parts = np.exp(_in_units(logs[rows], log_fewest))
        _divide(parts, weights.most, weights.others, float(weights.worst), low[rows], high[rows])

    in_threads(block, row_blocks(len(logs), 8 * logs.shape[1], block_bytes=limits.IN_CACHE))
    return low, high


def _ends(dtype: Any) -> tuple[float, float, float]:
    """The least logarithm of a unit, the largest logarithm in units, and a number that keeps 0 / 0 at 0."""
    largest = float(np.finfo(dtype).max)
    return -0.25 * largest, 0.75 * math.log(largest), float(np.finfo(dtype).tiny)


LOWEST, ROOM, TINY = _ends(np.float64)


@jax.jit
def _by_jax(weights: Weights, logs: Array) -> tuple[Array, Array]:
    low, high = jnp.split(logs, 2, axis=1)
    lowest, room, tiny = _ends(logs.dtype)
    fewest, most, others = (part.astype(logs.dtype)[None] for part in map(jnp.asarray, weights[:3]))
    low = low + jnp.log(fewest)
    # the largest lower bound is the unit: what is far above it decides alone
    unit = jnp.maximum(low.max(axis=1, keepdims=True), lowest)
    low, high = jnp.exp(low - unit), jnp.exp(jnp.minimum(high - unit, room))
    rest = _of_others(jnp.add, jax.lax.cumsum, others * high)
    rest = rest + weights.worst * _of_others(jnp.maximum, jax.lax.cummax, high)
    high = most * high
    return low / (low + rest + tiny), high / (high + _of_others(jnp.add, jax.lax.cumsum, low) + tiny)


def _of_others(combine: Callable[..., Array], cumulate: Callable[..., Array], parts: Array) -> Array:
    """The other entries of each row combined: those before and those after, without a difference that could cancel."""
    none, before, after = 0.0 * parts[:, :1], cumulate(parts, axis=1), cumulate(parts, axis=1, reverse=True)
    return combine(jnp.concatenate([none, before[:, :-1]], axis=1), jnp.concatenate([after[:, 1:], none], axis=1))


@compiled_unless_few
def _in_units(logs: Array, log_fewest: Array) -> Array:
    out, num_parts = np.empty(logs.shape), log_fewest.size
    for n in range(logs.shape[0]):
        unit = LOWEST
        for k in range(num_parts):
            unit = max(unit, logs[n, k] + log_fewest[k])
        for k in range(num_parts):
            out[n, k] = logs[n, k] + log_fewest[k] - unit
            out[n, num_parts + k] = min(logs[n, num_parts + k] - unit, ROOM)
    return out


@compiled_unless_few
def _divide(parts: Array, most: Array, others: Array, worst: float, low: Array, high: Array) -> None:
    num_parts = most.size
    for n in range(parts.shape[0]):
        of_low, of_high, largest, second = 0.0, 0.0, 0.0, 0.0
        for k in range(num_parts):
            least, best = parts[n, k], parts[n, num_parts + k]
            low[n, k], high[n, k] = of_high, of_low
            of_low, of_high = of_low + least, of_high + others[k] * best
            second, largest = max(second, min(best, largest)), max(largest, best)
        of_low, of_high = 0.0, 0.0
        for k in range(num_parts - 1, -1, -1):
            least, best = parts[n, k], parts[n, num_parts + k]
            low[n, k] += of_high + worst * (second if best == largest else largest)
            high[n, k] += of_low
            of_low, of_high = of_low + least, of_high + others[k] * best
        for k in range(num_parts):
            least, best = parts[n, k], most[k] * parts[n, num_parts + k]
            low[n, k], high[n, k] = least / (least + low[n, k] + TINY), best / (best + high[n, k] + TINY)
