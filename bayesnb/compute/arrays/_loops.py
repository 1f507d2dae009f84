"""Loops over numpy rows: compiled by numba, and run in threads over blocks of rows.

A compiled loop is one pass over the rows without temporaries. It releases the interpreter lock, so that blocks of rows
may run in threads. numba caches compiled code next to the source file, or in the user's cache, for the next process,
until that file changes: what a loop takes from another file of the package would stay as it was.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import cache, reduce, wraps
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from bayesnb.compute.arrays import _limits as limits

T = TypeVar("T")

_LOADING = threading.Lock()

_PARTS: list[Callable[..., Any]] = []
"""The functions that numba does not know yet."""


def compiled(function: Callable[..., T], *, few: int | None = None, **options: Any) -> Callable[..., T]:
    """The function, compiled on its first call with each combination of argument types; ``options`` are numba's.

    At most ``few`` numbers are left to Python, until something loads numba.
    """
    loaded: list[Callable[..., T]] = []

    @wraps(function)
    def call(*args: Any) -> T:
        if not loaded:
            numbers = sum(x.size for x in args if isinstance(x, np.ndarray))
            if few is not None and numbers <= few and "numba" not in sys.modules:
                with np.errstate(all="ignore"):
                    return function(*args)
            with _LOADING:
                if not loaded:
                    loaded.append(_compiler(function, options))
        try:
            return loaded[0](*args)
        except (OSError, EOFError, pickle.UnpicklingError):  # before the loop begins: the cache cannot be read
            loaded[0] = _compiler(function, options, keep=False)
            return loaded[0](*args)

    return call


def compiled_unless_few(function: Callable[..., T], **options: Any) -> Callable[..., T]:
    """As ``compiled``, but few numbers are left to Python until something else loads numba, which takes .3 seconds.

    So a new process answers its first row sooner. Only for loops that give identical bits in Python: floats, not
    integer sums, which wrap.
    """
    return compiled(function, few=limits.MOST_IN_PYTHON, **options)


def part_of_loops(function: Callable[..., T]) -> Callable[..., T]:
    """The function, which compiled loops of the same file may call."""
    _PARTS.append(function)
    return function


def for_loops(values: Any) -> Any:
    """The values in C order, in a dtype that loops are compiled for."""
    if values.dtype.kind not in "fiub":
        values = values.astype(np.float64)  # such as bfloat16
    # in memory True may be any byte but 0; the conversion makes it 1
    return np.ascontiguousarray(values.astype(np.uint8) if values.dtype == bool else values)


def _compiler(function: Callable[..., T], options: dict[str, Any], *, keep: bool = True) -> Callable[..., T]:
    import numba  # takes a third of a second, and only numpy rows need it
    from numba.extending import register_jitable

    while _PARTS:
        register_jitable(_PARTS.pop())
    try:
        return numba.njit(function, nogil=True, cache=keep, **options)
    except RuntimeError:  # no folder for the cache is writable
        return numba.njit(function, nogil=True, **options)


S = TypeVar("S")


def row_blocks(num_rows: int, bytes_per_row: int, least: int = 0, block_bytes: int | None = None) -> list[slice]:
    """Slices that cover the rows in blocks of at most ``block_bytes``, or of ``least`` bytes if that is more.

    The number of rows in each is a power of two, at least one; the last may have fewer.
    """
    room = max(limits.BLOCK_BYTES if block_bytes is None else block_bytes, least)
    step = 1 << (int(max(room // max(bytes_per_row, 1), 1)).bit_length() - 1)
    if 0 < num_rows <= step:
        return [slice(0, num_rows)]
    return [slice(start, min(start + step, num_rows)) for start in range(0, num_rows, step)]


def in_threads(function: Callable[[S], T], parts: Iterable[S]) -> list[T]:
    """``function`` of every part, such as a block of rows; numpy, scipy and BLAS release the interpreter lock.

    Neither BLAS nor a call from inside a thread starts further threads, which would compete with these for the cores.
    """
    parts = list(parts)
    return [*(_results(function, parts) if len(parts) > 1 else map(function, parts))]


def merge_in_threads(merge: Callable[[T, T], T], function: Callable[[S], T], parts: Iterable[S]) -> T:
    """The results of ``function`` for the parts, merged in their order; only a few results are kept at a time."""
    return reduce(merge, _results(function, parts))


def _results(function: Callable[[S], T], parts: Iterable[S]) -> Iterator[T]:
    parts = list(parts)
    if len(parts) < 2 or threading.current_thread().name.startswith(THREAD_NAME):
        yield from map(function, parts)
        return
    workers, ahead = _workers(os.getpid()), deque[Future[T]]()
    with one_blas_thread():
        try:
            for part in parts:
                ahead.append(workers.submit(function, part))
                if len(ahead) > MOST_WAITING:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:  # also after an error: nothing keeps running
            for future in ahead:
                future.cancel()
            wait(ahead)


THREAD_NAME = "bayesnb"
"""The names of our threads begin with this."""

MOST_WAITING = 2 * (os.cpu_count() or 1)
"""The number of parts that wait for a thread: few, so that other callers do not wait long for threads."""


@cache
def _workers(process: int) -> ThreadPoolExecutor:
    """Threads that are kept: starting them takes longer than many a block. A forked process gets its own."""
    del process
    return ThreadPoolExecutor(os.cpu_count(), THREAD_NAME)


class _OneBlasThread:
    """A limit that several threads may enter at once: the first sets it, and the last restores the original limit."""

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
    """A context that limits BLAS to one thread: for work in our own threads, and for many small products."""
    return _ONE_BLAS_THREAD


_blas = cache(ThreadpoolController)
_first_process = cache(os.getpid)
"""The number of the process that first ran JAX; a fork inherits its parent's."""


def require_jax() -> None:
    """Raises RuntimeError in a process that was forked after JAX had run; call it before JAX runs."""
    if _first_process() != os.getpid():
        raise RuntimeError(
            "this process was forked after JAX had run in its parent, and JAX does not survive a fork: start processes "
            "by multiprocessing.get_context('spawn') or ('forkserver'), or by joblib's default, or fork before the "
            "first fit"
        )
