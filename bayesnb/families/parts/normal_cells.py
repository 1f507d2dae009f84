"""The log density of real cells under Normal distributions."""

from __future__ import annotations

import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.numerics import stable
from bayesnb.primitives.distances import LOG_2PI


def log_normal_cells(x: Array, loc: Array, variance: Array) -> Array:
    """The log density, cell by cell; 0 for NaN and for columns without a scale."""
    off, missing = variance == 0, jnp.isnan(x)
    variance = jnp.where(off, 1.0, variance)
    z = stable.squarable((jnp.where(missing, 0.0, x) - loc) / jnp.sqrt(variance))
    return jnp.where(missing | off, 0.0, -0.5 * (z * z + jnp.log(variance) + LOG_2PI))
