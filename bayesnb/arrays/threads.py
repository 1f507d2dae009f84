"""Runs blocks of rows in threads, with BLAS limited to one thread meanwhile; refuses processes in which JAX cannot run.

Those were forked after JAX had run: it would wait forever for threads that a fork does not copy.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import cache, reduce
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

S = TypeVar("S")
T = TypeVar("T")

BLOCK_BYTES = 8 << 20
"""Bytes of X in one block of rows, so that X, its copies and the sums stay in the processor's cache."""


def row_blocks(num_rows: int, bytes_per_row: int, least: int = 0, block_bytes: int | None = None) -> list[slice]:
    """Slices that cover the rows in blocks of at most ``block_bytes``, or of ``least`` bytes if that is more.

    The number of rows in each is a power of two, at least one; the last may have fewer.
    """
    room = max(BLOCK_BYTES if block_bytes is None else block_bytes, least)
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


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _first_process() -> int:
    """The process that first ran JAX by this package; a forked process has the number of its parent here."""
    return os.getpid()


def require_jax() -> None:
    """Raises RuntimeError in a process that was forked after JAX had run; call it before JAX runs."""
    if _first_process() != os.getpid():
        raise RuntimeError(
            "this process was forked after JAX had run in its parent, and JAX does not survive a fork: start processes "
            "by multiprocessing.get_context('spawn') or ('forkserver'), or by joblib's default, or fork before the "
            "first fit"
        )
