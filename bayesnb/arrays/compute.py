"""Functions of JAX called for numpy's numbers: in float64 whatever JAX's own setting, and with numpy leaves.

Each takes a pure JAX function and follows its arguments: numpy arrays give numpy arrays, JAX arrays and tracers are
given to the function as it is. (A random key decides nothing, unless it is traced.) Which one to take:

- ``compute`` for small arrays, such as statistics and parameters: little work is done by numpy at once, much compiled;
- ``interpret`` for arrays of any size whose shapes vary, such as blocks of rows: numpy does all, nothing is compiled;
- ``compute_rows`` for all rows: ``compute`` of blocks of a few sizes, so that memory is bounded.

Give functions of a module and hashable static arguments: a new function is traced, or compiled, at every call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import jax
import numpy as np

from bayesnb.arrays.placement import on_host, pad_rows, padded_size, promote_dtypes
from bayesnb.arrays.sparse import dense, part_of
from bayesnb.arrays.threads import require_jax, row_blocks
from bayesnb.jaxpr_numpy import is_key, prepare

T = TypeVar("T")

LITTLE = 1 << 22
"""The most numbers that numpy computes, those on the way to the result included; beyond, compilation pays.

From a cold start a fit, its evidence and a prediction of some columns then take .1 s; compiled they took 2 s.
"""

FEW, FINE = 512, 32
"""Up to so many rows, which numpy mostly evaluates, blocks are padded to multiples of the second number."""


def compute(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``function(*args, **static)`` of small arrays; of numpy's by numpy, or if that is much work by JAX."""
    require_jax()
    leaves, structure = jax.tree.flatten(args)
    if not _of_numpy(leaves):
        return _by_jax(function, *args, **static)
    with suppress(NotImplementedError):  # numpy cannot follow keys of another generator than JAX's default
        call = prepare(function, leaves, structure, static)
        if call.program.work <= LITTLE:
            return call()
    # JAX caches constants of a trace by the identity of the numpy array, in that trace's precision: pass views
    args = jax.tree.map(lambda a: a[...] if isinstance(a, np.ndarray) else a, args)
    # convert inside the context: a float64 JAX array taken out of it would drop to float32
    with jax.core.eval_context(), jax.enable_x64(True):
        return jax.tree.map(np.asarray, _by_jax(function, *args, **static))


def interpret(function: Callable[..., T], *args: Any, **static: Any) -> T:
    """``function(*args, **static)``; of numpy arrays by numpy, operation by operation, however much work that is."""
    require_jax()
    leaves, structure = jax.tree.flatten(args)
    return prepare(function, leaves, structure, static)() if _of_numpy(leaves) else _by_jax(function, *args, **static)


def compute_rows(function: Callable[..., Any], args: tuple[Any, ...], x: Any, **static: Any) -> Any:
    """``function(*args, x, **static)`` for a jitted function of rows, whose results have rows on their first axis.

    On the host the last block is padded, so that only a few sizes are traced or compiled. ``x`` is an array, a sparse
    matrix or a pytree of arrays [N, ...].
    """
    if not on_host(args, x):
        return function(*args, x, **static)
    leaves = jax.tree.leaves(x)
    num_rows = leaves[0].shape[0]
    row_bytes = sum(8 * int(np.prod(leaf.shape[1:])) for leaf in leaves)
    parts = []
    for rows in row_blocks(num_rows, row_bytes) if num_rows else [slice(0, 0)]:
        size = rows.stop - rows.start
        room = max(-(-size // FINE), 1) * FINE if size <= FEW else padded_size(size)
        block = jax.tree.map(lambda a, rows=rows, room=room: pad_rows(dense(part_of(a, rows)), room), x)
        answer = compute(function, *args, block, **static)
        parts.append(jax.tree.map(lambda a, size=size: a[:size], answer))
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *pieces: np.concatenate(pieces), *parts)


@promote_dtypes
def _by_jax(function: Callable[..., T], *args: Any, **static: Any) -> T:
    return function(*args, **static)


def _of_numpy(leaves: list[Any]) -> bool:
    """True if every leaf is numpy's, a Python number or a known random key."""
    for leaf in leaves:
        if type(leaf) is np.ndarray or not isinstance(leaf, jax.Array):
            continue
        if isinstance(leaf, jax.core.Tracer) or not is_key(leaf):
            return False
    return True
