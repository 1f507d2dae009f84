"""Squared distances, and the log densities that are functions of them."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.numerics import log_gamma

LOG_2PI = 1.8378770664093453


class Distances(NamedTuple):
    """``squares`` [N, K]: (x - m)' S^-1 (x - m); ``log_det`` [N, K]: log |S|; ``count`` [N]: observed columns."""

    squares: Array
    log_det: Array
    count: Array


@jax.jit
def log_normal(between: Distances) -> Array:
    """log density of the observed cells under Normal(m, S), [N, K]."""
    squares, log_det, count = between
    return -0.5 * (squares + log_det + LOG_2PI * count[:, None])


@jax.jit
def log_student(df: Array, between: Distances) -> Array:
    """log density of the observed cells under Student's t about m, scale matrix S, [N, K]; df is [1, K] or [N, K]."""
    squares, log_det, count = between
    count = count[:, None]
    constant = log_gamma.log_gamma_ratio(0.5 * df, 0.5 * count) - 0.5 * (count * jnp.log(jnp.pi * df) + log_det)
    return constant - 0.5 * (df + count) * jnp.log1p(squares / df)
