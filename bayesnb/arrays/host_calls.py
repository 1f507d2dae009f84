"""JAX functions called on the host: eagerly, in float64 whatever JAX's own setting, and with numpy leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from bayesnb.arrays.placement import on_host, promote_dtypes
from bayesnb.arrays.threads import require_jax
from bayesnb.jaxpr_numpy import evaluate, has_numpy_form, prepare

T = TypeVar("T")

LITTLE = 1 << 22
"""The most numbers that numpy computes, those on the way to the result included; beyond, compilation pays.

From a cold start a fit, its evidence and a prediction of some columns then take .1 s; compiled they took 2 s.
"""


def at_once(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``function(*args)`` in float64 with numpy leaves, evaluated eagerly even inside an outer jit.

    Little work is done by numpy, as in ``without_compiling``, and much by JAX.
    """
    require_jax()
    if all(map(has_numpy_form, jax.tree.leaves(args))):
        call = prepare(function, *args, **static)
        if call.program.work <= LITTLE:
            return call()
    return by_jax(function, *args, **static)


@promote_dtypes
def by_jax(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``at_once``, evaluated by JAX: as a whole if the function is jitted, else operation by operation."""
    require_jax()
    # JAX caches constants of a trace by the identity of the numpy array, in that trace's precision: pass views
    args = jax.tree.map(lambda a: a[...] if isinstance(a, np.ndarray) else a, args)
    # convert inside the context: a float64 JAX array taken out of it would drop to float32
    with jax.core.eval_context(), jax.enable_x64(True):
        return jax.tree.map(np.asarray, function(*args, **static))


def without_compiling(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``at_once``, evaluated by numpy operation by operation: nothing is compiled for the shapes of the arguments.

    Pass module-level functions and hashable static arguments: a new function is traced at every call.
    """
    require_jax()
    return evaluate(function, *args, **static)


@promote_dtypes
def eagerly(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``function(*args)`` of blocks of rows: ``without_compiling`` if they are numpy's, else by JAX."""
    return without_compiling(function, *args, **static) if on_host(args) else function(*args, **static)


@promote_dtypes
def finalise(function: Callable[..., Any], *args: Any, **static: Any) -> Any:
    """``function(*args)`` for a jitted, module-level ``function`` of small arrays: ``at_once`` if they are numpy's."""
    if on_host(args):
        return at_once(function, *args, **static)
    require_jax()
    return function(*args, **static)
