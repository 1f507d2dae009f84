"""Functions of numpy's name for arrays of either kind: of numpy arrays by numpy, of JAX arrays and tracers by JAX.

Rows are checked and counted, and statistics merged, in the arrays that users gave; there ``either.where`` stands for
``jnp.where``. What follows from statistics is written in ``jax.numpy``, and ``compute`` evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.scipy.special import gammaln

from bayesnb.compute.arrays._placement import Array, on_host


def _either(of_numpy: Callable[..., Any], of_jax: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(of_numpy)
    def call(*args: Any, **options: Any) -> Any:
        return (of_numpy if on_host(*args) else of_jax)(*args, **options)

    return call


broadcast_to = _either(np.broadcast_to, jnp.broadcast_to)
clip = _either(np.clip, jnp.clip)
concatenate = _either(np.concatenate, jnp.concatenate)
cumsum = _either(np.cumsum, jnp.cumsum)
diagonal = _either(np.diagonal, jnp.diagonal)
exp = _either(np.exp, jnp.exp)
floor = _either(np.floor, jnp.floor)
inverse = _either(np.linalg.inv, jnp.linalg.inv)
isfinite = _either(np.isfinite, jnp.isfinite)
isnan = _either(np.isnan, jnp.isnan)
log = _either(np.log, jnp.log)
log_gamma = _either(scipy.special.gammaln, gammaln)
log1p = _either(np.log1p, jnp.log1p)
logaddexp = _either(np.logaddexp, jnp.logaddexp)
maximum = _either(np.maximum, jnp.maximum)
minimum = _either(np.minimum, jnp.minimum)
moveaxis = _either(np.moveaxis, jnp.moveaxis)
ones_like = _either(np.ones_like, jnp.ones_like)
repeat = _either(np.repeat, jnp.repeat)
sigmoid = _either(scipy.special.expit, jax.nn.sigmoid)
split = _either(np.split, jnp.split)
sqrt = _either(np.sqrt, jnp.sqrt)
square = _either(np.square, jnp.square)
stack = _either(np.stack, jnp.stack)
take = _either(np.take, partial(jnp.take, mode="clip"))  # places lie inside: filling would be work
take_along_axis = _either(np.take_along_axis, jnp.take_along_axis)
where = _either(np.where, jnp.where)
zeros_like = _either(np.zeros_like, jnp.zeros_like)


def floats(x: Any) -> Array:
    """The numbers in float64 if they are numpy's, else in JAX's default precision."""
    return np.asarray(x, np.float64) if on_host(x) else jnp.asarray(x, jnp.result_type(float))


def like(x: Array, other: Array) -> Array:
    """``x`` as a JAX array where the other array is JAX's."""
    return x if on_host(other) else jnp.asarray(x)
