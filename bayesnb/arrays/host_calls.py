"""Compiled functions called on the host: eagerly, in float64 whatever JAX's own setting, and with numpy leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from bayesnb.arrays.forked import require_jax
from bayesnb.arrays.placement import on_host

T = TypeVar("T")


def at_once(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``function(*args)`` in float64 with numpy leaves, evaluated eagerly even inside an outer jit.

    The result is converted inside the context: a float64 JAX array taken out of it would drop to float32.
    """
    require_jax()
    # JAX caches constants of a trace by the identity of the numpy array, in that trace's precision: pass views
    args = jax.tree.map(lambda a: a[...] if isinstance(a, np.ndarray) else a, args)
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        return jax.tree.map(np.asarray, function(*args, **static))


def finalise(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``function(*args)`` for a jitted ``function`` of small arrays: on the host in float64, with numpy leaves.

    Pass module-level functions: a new function object is recompiled on every call.
    """
    if on_host(args):
        return at_once(function, *args, **static)
    require_jax()
    return function(*args, **static)
