"""What both bodies share: the nodes of the integral over p, and how many boundaries lie before a cell."""

from __future__ import annotations

from functools import cache

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array

NEVER = -1e36
"""The log of a weight that counts as zero; unlike -inf it has a gradient."""


@cache
def nodes(num_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes p in (0, 1) and weights that integrate polynomials of degree G - 1 exactly, and log p and log (1 - p)."""
    points, weights = np.polynomial.legendre.leggauss((num_cells + 1) // 2)
    return 0.5 * (1.0 + points), 0.5 * weights


def boundaries_before(real: Array) -> Array:
    """The number of boundaries that may be cut before each cell, [..., G], from 1 where one may [..., G - 1]."""
    first = jnp.zeros((*real.shape[:-1], 1), real.dtype)
    return jnp.concatenate([first, jnp.cumsum(real, axis=-1)], axis=-1)


def log_of(real: Array) -> Array:
    """0 where a boundary may be cut, [..., G - 1], and the log of zero elsewhere."""
    return jnp.where(real > 0, 0.0, NEVER)
