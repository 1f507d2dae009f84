"""Functions of JAX called for numpy's numbers: in float64 whatever JAX's own setting, and with numpy leaves.

Each takes a pure JAX function and follows its arguments: numpy arrays give numpy arrays, JAX arrays and tracers are
given to the function as it is. (A concrete random key is ignored when numpy or JAX is chosen.) Which one to take:

- ``compute`` for small arrays, such as statistics and parameters: little work is done by numpy at once, much compiled;
- ``interpret`` for arrays of any size whose shapes vary, such as blocks of rows: numpy does all, nothing is compiled;
- ``compute_rows`` for all rows: ``compute`` of blocks of a few sizes, so that memory is bounded;
- ``compute_in_threads`` for rows that are long work: the same in threads, whose numbers stay in cache;
- ``of_numbers`` decorates a function that treats each number of its arrays alike, and is then called as it is.

Give functions of a module and hashable static arguments: a new function is traced, or compiled, at every call.

Users' JAX rows in host memory are read as numpy's, ``read_as_numpy``, and their answers given as JAX's, ``put_beside``.
XLA would compile a program for each number of rows and keep it, some 24 MB for a fit and a prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import dense, part_of
from bayesnb.compute.arrays._loops import in_threads, require_jax, row_blocks
from bayesnb.compute.arrays._placement import (
    Array,
    is_traced,
    on_host,
    pad_rows,
    padded_size,
    promote_dtypes,
    with_automatic_axes,
)
from bayesnb.compute.arrays._typing import ObservedRows
from bayesnb.compute.jaxpr_numpy import evaluate_numbers, is_key, prepare

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


def compute(function: Callable[..., T], *args: Any, repeats: int = 1, **static: Any) -> T:
    """``function(*args, **static)`` of small arrays; of numpy's by numpy, or if that is much work by JAX.

    ``repeats``: how many calls of this shape will follow; their work together decides whether to compile.
    """
    require_jax()
    leaves, structure = jax.tree.flatten(args)
    if not _of_numpy(leaves):
        return _by_jax(function, *args, **static)
    with suppress(NotImplementedError):  # numpy cannot follow keys of another generator than JAX's default
        call = prepare(function, leaves, structure, static)
        if call.program.work * repeats <= limits.MOST_IN_NUMPY:
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


def compute_rows(
    function: Callable[..., Any], args: tuple[Any, ...], x: Any, *, repeats: int = 1, **static: Any
) -> Any:
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
        room = max(-(-size // limits.PADDING), 1) * limits.PADDING if size <= limits.FINE_ROWS else padded_size(size)
        block = jax.tree.map(lambda a, rows=rows, room=room: pad_rows(dense(part_of(a, rows)), room), x)
        answer = compute(function, *args, block, repeats=repeats, **static)
        parts.append(jax.tree.map(lambda a, size=size: a[:size], answer))
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *pieces: np.concatenate(pieces), *parts)


def compute_in_threads(
    function: Callable[..., Any], args: tuple[Any, ...], x: Any, numbers: int, *, compiles: bool = True
) -> Any:
    """As ``compute_rows``, with blocks in threads: of rows that need so many ``numbers`` each, in cache together.

    All blocks together decide whether the function is compiled. With ``compiles=False`` it never is.
    """
    if not on_host(args, x):
        return function(*args, x)
    num_rows = jax.tree.leaves(x)[0].shape[0]
    blocks = row_blocks(num_rows, 8 * numbers, block_bytes=limits.IN_CACHE) or [slice(0, 0)]

    def of_block(rows: slice) -> Any:
        part = jax.tree.map(lambda a: part_of(a, rows), x)
        return compute_rows(function, args, part, repeats=len(blocks)) if compiles else interpret(function, *args, part)

    return jax.tree.map(lambda *pieces: np.concatenate(pieces), *in_threads(of_block, blocks))


def of_numbers(function: Method) -> Method:
    """A pure JAX function that treats each number of its arrays alike; of numpy's without a trace for their shapes."""

    @wraps(function)
    def call(*args: Any) -> Any:
        if not on_host(args):
            return function(*args)
        given = np.broadcast_arrays(*args)
        flat = [x.ravel() for x in given]
        blocks = row_blocks(given[0].size, 64, block_bytes=limits.IN_CACHE)  # eight of its arrays in cache
        parts = in_threads(lambda some: evaluate_numbers(function, *[x[some] for x in flat]), blocks or [slice(0)])
        return np.concatenate(parts).reshape(given[0].shape)

    same: Any = call  # for a type checker, which would see arguments of any kind
    return same


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


def find_cpu_rows(X: Any, *others: Any) -> jax.Array | None:
    """One of the JAX arrays in X if numpy can read all JAX arrays in X and in ``others``, else None."""
    rows = jax_parts(X)
    if not rows:
        return None
    sparse = any(hasattr(part, "todense") for part in _parts(X) if not isinstance(part, jax.Array))
    known = [*rows, *(other for other in others if isinstance(other, jax.Array))]
    return rows[0] if not sparse and all(map(_is_on_cpu, known)) else None


def read_as_numpy(given: Any) -> Any:
    """Rows, or another array, with JAX arrays replaced by numpy arrays that share their memory."""
    if isinstance(given, ObservedRows):
        return jax.tree.map(read_as_numpy, given)
    if isinstance(given, Mapping):
        return {name: read_as_numpy(part) for name, part in given.items()}
    if isinstance(given, tuple):
        return tuple(map(read_as_numpy, given))
    return np.asarray(given) if isinstance(given, jax.Array) else given


def put_beside(rows: jax.Array, answer: T, like: Any = None, power: float = 1.0) -> T | None:
    """The answer as JAX arrays on the device of ``rows``, in the dtypes of ``like`` or in JAX's default precision.

    None if the magnitude of a finite number exceeds m^``power``, where m is the largest number of its new dtype.
    """
    numbers, structure = jax.tree.flatten(answer)
    wanted = [jax.dtypes.canonicalize_dtype(leaf.dtype) for leaf in jax.tree.leaves(answer if like is None else like)]
    if any(_exceeds(number, dtype, power) for number, dtype in zip(numbers, wanted, strict=True)):
        return None
    with np.errstate(under="ignore"):
        cast = [number.astype(dtype, copy=False) for number, dtype in zip(numbers, wanted, strict=True)]
    with jax.core.eval_context():  # keeps the answer concrete inside an outer jit
        # without a commitment JAX may choose the device
        return jax.tree.unflatten(structure, jax.device_put(cast, rows.sharding if rows.committed else None))


def answers_cpu_rows(function: Method) -> Method:
    """A row-wise method ``function(fit, X)`` of a classifier, which compiles nothing for JAX rows on the CPU."""
    on_mesh = with_automatic_axes(function, by_rows=True)

    @wraps(function)
    @promote_dtypes
    def call(fit: Any, X: Any) -> Any:
        of_jax = jax_parts(X)
        if not of_jax:
            return function(fit, X)
        if find_cpu_rows(X) is None or is_traced(fit):
            return on_mesh(fit, X)
        found = put_beside(of_jax[0], function(fit, read_as_numpy(X)))
        return function(fit, X) if found is None else found  # JAX, if its dtypes cannot hold numpy's answer

    same: Any = call  # for a type checker, which would see arguments of any kind
    return same


def jax_parts(X: Any) -> list[jax.Array]:
    """The JAX arrays among the rows."""
    if type(X) is np.ndarray:
        return []
    return [part for part in _parts(X) if isinstance(part, jax.Array)]


def _parts(X: Any) -> list[Any]:
    """The arrays of the blocks; a block may be a pair of arrays."""
    blocks = X.cells if isinstance(X, ObservedRows) else X
    parts: list[Any] = []
    for block in blocks.values() if isinstance(blocks, Mapping) else (blocks,):
        parts.extend(block if isinstance(block, tuple) else (block,))
    return parts


def _is_on_cpu(array: jax.Array) -> bool:
    """True for concrete numbers of a dtype that numpy has, on a single CPU device."""
    if isinstance(array, jax.core.Tracer) or not isinstance(array.dtype, np.dtype) or array.dtype.kind not in "fiub":
        return False
    return isinstance(array.sharding, SingleDeviceSharding) and next(iter(array.devices())).platform == "cpu"


def _exceeds(number: Array, dtype: Any, power: float) -> bool:
    if dtype.kind != "f" or not number.size:
        return False
    most = float(np.finfo(dtype).max) ** power
    if -most <= number.min() and number.max() <= most:
        return False
    return bool((np.isfinite(number) & (np.abs(number) > most)).any())
