"""Where numbers live: numpy arrays on the host, JAX arrays on a device, or tracers inside a transformation.

numpy in, numpy out; JAX in, JAX out. Host work is done in float64 whatever JAX's own setting, device work in JAX's
default precision. This file answers the question "which of the two?" for the whole package.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import cache, reduce
from types import ModuleType
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.sharding import AxisType, Mesh, NamedSharding
from threadpoolctl import ThreadpoolController

from bayesnb.compiled import compiled
from bayesnb.masked import as_numpy, without_mask

Array = Any
"""A numpy or a JAX array."""

S = TypeVar("S")
T = TypeVar("T")

ALIGNED = 64
"""The bytes of which an address is a multiple, where JAX on the host takes an array as it is."""

BLOCK_BYTES = 8 << 20
"""Bytes of X in one block of rows: X, its copies and the sums stay in the processor's cache."""


def on_host(*trees: Any) -> bool:
    """True where every leaf is a numpy array or a Python number: nothing of JAX's, nothing traced."""
    return not any(isinstance(leaf, jax.Array) for leaf in _not_numpy(trees))


def is_traced(*trees: Any) -> bool:
    """True where a leaf is a tracer: its values are not known, only its shape."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in _not_numpy(trees))


def _not_numpy(trees: tuple[Any, ...]) -> list[Any]:
    """The leaves that are no plain numpy arrays, which need not be asked whether they are of JAX's abstract classes."""
    others = [tree for tree in trees if type(tree) is not np.ndarray]
    return [leaf for leaf in jax.tree.leaves(others) if type(leaf) is not np.ndarray] if others else []


def namespace(x: Array) -> ModuleType:
    """The module, numpy or jax.numpy, whose functions work on ``x``."""
    return jnp if isinstance(x, jax.Array) else np


def as_array(x: Any) -> Array:
    """``x`` itself where it is a JAX array, else the numpy array of it, in a type that JAX has."""
    if not isinstance(x, jax.Array):
        x = without_mask("an argument", x)
        try:
            return native(np.asarray(x))
        except ValueError as error:
            raise ValueError(
                f"an array or rows of one length are expected, got a {type(x).__name__}: {error}"
            ) from None
    return x if is_traced(x) else _auto_sharded(x)


def native(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array in this machine's byte order; half precision in single, more than double in double."""
    kind = x.dtype
    if kind.kind == "f" and kind.itemsize not in (4, 8):
        return x.astype(np.float32 if kind.itemsize == 2 else np.float64)
    # JAX takes any byte order for its own once a function is compiled
    return x if kind.isnative else x.astype(kind.newbyteorder("="))


def _auto_sharded(x: jax.Array) -> jax.Array:
    """The same shards, where a mesh's axes are explicit: XLA, not each operation, says how results are sharded."""
    placed = x.sharding
    if not isinstance(placed, NamedSharding) or AxisType.Explicit not in placed.mesh.axis_types:
        return x
    with jax.ensure_compile_time_eval():
        return jax.device_put(x, NamedSharding(Mesh(placed.mesh.devices, placed.mesh.axis_names), placed.spec))


def to_host(tree: Any) -> Any:
    """The same pytree with numpy leaves; masked arrays keep their masks."""
    return jax.tree.map(lambda a: a if scipy.sparse.issparse(a) else as_numpy(a), tree)


def to_double(tree: Any) -> Any:
    """The same pytree with numpy leaves, floating ones in float64."""
    return jax.tree.map(
        lambda a: a.astype(np.promote_types(a.dtype, np.float64)) if a.dtype.kind == "f" else a, to_host(tree)
    )


def row_blocks(num_rows: int, bytes_per_row: int, least: int = 0, block_bytes: int | None = None) -> Iterator[slice]:
    """Slices that cover the rows in blocks of ``block_bytes`` at most, or of ``least`` bytes where that is more.

    The number of rows in each is a power of two, at least one.
    """
    room = max(BLOCK_BYTES if block_bytes is None else block_bytes, least)
    step = 1 << (int(max(room // max(bytes_per_row, 1), 1)).bit_length() - 1)
    return (slice(start, min(start + step, num_rows)) for start in range(0, num_rows, step))


def read_only(value: Array) -> Array:
    """A numpy array that nobody can change any more: what follows from it is kept."""
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.setflags(write=False)
    return value


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    """Zeros in float64 that JAX does not copy."""
    size = 8 * math.prod(shape)
    room = np.zeros(size + ALIGNED, np.uint8)
    begin = -room.ctypes.data % ALIGNED
    return room[begin : begin + size].view(np.float64).reshape(shape)


def padded_size(num_rows: int) -> int:
    """The power of two, at least 16, up to which rows are filled: what is compiled for a size serves many."""
    return 1 << max(num_rows - 1, 15).bit_length()


def padded(rows: Array) -> Array:
    """The rows and zeros, up to their ``padded_size``."""
    size = rows.shape[0]
    room = padded_size(size)
    if room == size:
        return rows
    out = np.zeros((room, *rows.shape[1:]), rows.dtype)
    out[:size] = rows
    return out


def in_threads(function: Callable[[S], T], parts: Iterable[S]) -> list[T]:
    """``function`` of every part, such as a block of rows; numpy, scipy and BLAS release the interpreter lock.

    BLAS is held to one thread meanwhile: its own would fight with these for the cores. So would threads of threads.
    """
    return list(_results(function, parts))


def merged_in_threads(merge: Callable[[T, T], T], function: Callable[[S], T], parts: Iterable[S]) -> T:
    """What ``function`` makes of the parts, merged in their order: few results are held at a time."""
    return reduce(merge, _results(function, parts))


def _results(function: Callable[[S], T], parts: Iterable[S]) -> Iterator[T]:
    parts = list(parts)
    if len(parts) < 2 or getattr(_THREAD, "is_worker", False):
        yield from map(function, parts)
        return
    workers, ahead = _workers(os.getpid()), deque[Future[T]]()
    with one_blas_thread():
        try:
            for part in parts:
                ahead.append(workers.submit(function, part))
                if len(ahead) > AHEAD:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:  # nothing goes on after an error
            for future in ahead:
                future.cancel()
            wait(ahead)


AHEAD = 2 * (os.cpu_count() or 1)
"""Parts that wait for a thread: few, so that others who ask for threads wait for few."""


@cache
def _workers(process: int) -> ThreadPoolExecutor:
    """Threads that wait for work: to start them takes longer than many a block. A forked process has its own."""
    del process
    return ThreadPoolExecutor(os.cpu_count(), "bayesnb", initializer=_begin_work)


_THREAD = threading.local()


def _begin_work() -> None:
    _THREAD.is_worker = True


class _OneBlasThread:
    """A limit that several threads may enter at once: the first sets it, and the last gives back what was before."""

    def __init__(self) -> None:
        self.lock, self.depth = threading.Lock(), 0
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.depth:
                self.limit = _blas().limit(limits=1, user_api="blas")
            self.depth += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.depth -= 1
            if not self.depth:
                self.limit.restore_original_limits()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Holds BLAS to one thread: for work in threads of our own, and for many small products."""
    return _ONE_BLAS_THREAD


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def all_codes(x: Array, size: float) -> bool:
    """True where it is known that every cell is one of 0..size-1, whatever its type; ``size`` may be infinite."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fiu":
        return False
    return _count_others(_cells(x), size) == 0


def largest_codes(x: np.ndarray[Any, Any]) -> Array:
    """The largest number of each column, [D], in float64; 0 where none is above it."""

    def of_block(rows: slice) -> Array:
        largest = np.zeros(x.shape[1])
        _raise_to(np.ascontiguousarray(x[rows]), largest)
        return largest

    parts = in_threads(of_block, row_blocks(x.shape[0], x.shape[1] * x.itemsize))
    return np.max(parts, axis=0, initial=0.0) if parts else np.zeros(x.shape[1])


@compiled
def _raise_to(x: Array, largest: Array) -> None:
    for n in range(x.shape[0]):
        for d in range(x.shape[1]):
            largest[d] = x[n, d] if x[n, d] > largest[d] else largest[d]


@compiled
def _count_others(cells: Array, size: float) -> int:
    """How many cells are none of 0..size-1; to count them all is a loop of vectors, to stop at one is not."""
    others = 0
    for i in range(cells.shape[0]):
        cell = cells[i]
        others += not ((cell >= 0) & (cell < size) & (cell == np.floor(cell)))
    return others


def _cells(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The cells in any order, without a copy where they fill their memory."""
    return x.ravel(order="K")


def unless_all(seen: Array) -> Array | None:
    """None in the place of a mask of which it is known that it is all True."""
    return None if isinstance(seen, np.ndarray) and seen.all() else seen


def observed(x: Array) -> Array | None:
    """True for the cells that are not NaN, [N, D]; None where it is known that none is missing."""
    if scipy.sparse.issparse(x) or not jnp.issubdtype(x.dtype, jnp.inexact):
        return None
    if isinstance(x, jax.Array):
        return ~jnp.isnan(x)
    with np.errstate(invalid="ignore", over="ignore"):
        # one pass without a temporary: the squares' sum is finite only where no cell is NaN
        whole = x.flags.c_contiguous or x.flags.f_contiguous
        if np.isfinite(np.vdot(_cells(x), _cells(x)) if whole else x.sum(dtype=x.dtype)):
            return None
    return unless_all(~np.isnan(x))
