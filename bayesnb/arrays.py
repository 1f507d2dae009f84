"""Where numbers live: numpy arrays on the host, JAX arrays on a device, or tracers inside a transformation.

numpy in, numpy out; JAX in, JAX out. Host work is done in float64 whatever JAX's own setting, device work in JAX's
default precision. This file answers the question "which of the two?" for the whole package.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from threadpoolctl import ThreadpoolController

Array = Any
"""A numpy or a JAX array."""

T = TypeVar("T")

BLOCK_BYTES = 4 << 20
"""Bytes of X in one block of rows: X, its copies and the sums stay in the processor's cache."""


def on_host(*trees: Any) -> bool:
    """True where every leaf is a numpy array or a Python number: nothing of JAX's, nothing traced."""
    return not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(trees))


def is_traced(*trees: Any) -> bool:
    """True where a leaf is a tracer: its values are not known, only its shape."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(trees))


def namespace(x: Array) -> ModuleType:
    """The module, numpy or jax.numpy, whose functions work on ``x``."""
    return jnp if isinstance(x, jax.Array) else np


def as_array(x: Any) -> Array:
    """``x`` itself where it is a JAX array, else the numpy array of it."""
    return x if isinstance(x, jax.Array) else np.asarray(x)


def to_host(tree: Any) -> Any:
    """The same pytree with numpy leaves."""
    return jax.tree.map(np.asarray, tree)


def to_double(tree: Any) -> Any:
    """The same pytree with numpy leaves, floating ones in float64."""
    return jax.tree.map(
        lambda a: a.astype(np.promote_types(a.dtype, np.float64)) if a.dtype.kind == "f" else a, to_host(tree)
    )


def at_once(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``function(*args)`` in float64 with numpy leaves, and at once, also inside somebody's jit.

    A float64 JAX array that is carried out of the context would drop to float32, so it is converted inside.
    """
    # JAX keeps the constants of a trace by the identity of the numpy array, in that trace's precision: give it views
    args = jax.tree.map(lambda a: a[...] if isinstance(a, np.ndarray) else a, args)
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        return to_host(function(*args, **static))


def finalise(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)`` for a jitted ``function`` of small arrays: on the host in float64, with numpy leaves."""
    return at_once(function, *args) if on_host(args) else function(*args)


def row_blocks(num_rows: int, bytes_per_row: int, least: int = 0) -> Iterator[slice]:
    """Slices that cover the rows in blocks which stay in the processor's cache, or hold at least so many bytes.

    Their size is a power of two.
    """
    step = 1 << (int(max(max(BLOCK_BYTES, least) // max(bytes_per_row, 1), 1)).bit_length() - 1)
    return (slice(start, min(start + step, num_rows)) for start in range(0, num_rows, step))


def map_blocks(function: Callable[[slice], T], blocks: Iterable[slice]) -> list[T]:
    """``function`` of every block of rows, in threads; numpy, scipy and BLAS release the interpreter lock.

    BLAS is held to one thread meanwhile: its own would fight with these for the cores.
    """
    blocks = list(blocks)
    if len(blocks) < 2:
        return [function(block) for block in blocks]
    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, blocks))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Holds BLAS to one thread: for work in threads of our own, and for many small products."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def observed(x: Array) -> Array | None:
    """True for the cells that are not NaN, [N, D]; None where it is known that none is missing."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return None
    if isinstance(x, jax.Array):
        return ~jnp.isnan(x)
    with np.errstate(invalid="ignore", over="ignore"):
        # one pass without a temporary: a sum is finite only where no cell is NaN
        if np.isfinite(x.sum(dtype=x.dtype)):
            return None
    mask = ~np.isnan(x)
    return None if mask.all() else mask
