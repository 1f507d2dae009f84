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


inverse = _either(np.linalg.inv, jnp.linalg.inv)
log_gamma = _either(scipy.special.gammaln, gammaln)
sigmoid = _either(scipy.special.expit, jax.nn.sigmoid)
take = _either(np.take, partial(jnp.take, mode="clip"))  # places lie inside: filling would be work


def __getattr__(name: str) -> Callable[..., Any]:
    """Any other function, by the name that numpy and ``jax.numpy`` give it."""
    if name.startswith("_"):  # what Python asks of modules
        raise AttributeError(name)
    found: Callable[..., Any] = _either(getattr(np, name), getattr(jnp, name))
    globals()[name] = found
    return found


def run_sums(table: Array, sizes: tuple[int, ...]) -> Array:
    """The sums over runs of neighbouring columns, [K, S] to [K, D]; each of the D sizes is at least one."""
    if on_host(table):
        return np.add.reduceat(table, np.cumsum((0, *sizes[:-1])), axis=1)
    return jax.ops.segment_sum(table.T, np.repeat(np.arange(len(sizes)), sizes), len(sizes)).T


def floats(x: Any) -> Array:
    """The numbers in float64 if they are numpy's, else in JAX's default precision."""
    return np.asarray(x, np.float64) if on_host(x) else jnp.asarray(x, jnp.result_type(float))


def like(x: Array, other: Array) -> Array:
    """``x`` as a JAX array where the other array is JAX's."""
    return x if on_host(other) else jnp.asarray(x)
