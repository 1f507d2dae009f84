"""Loops over the cells of numpy rows, compiled by numba: one pass over the rows, and no temporaries.

A compiled loop releases the interpreter lock, so that blocks of rows may run in threads. numba caches compiled code
next to the source file, or in the user's cache, for the next process.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from bayesnb.arrays.prefetch import teach_compiler

T = TypeVar("T")

_LOADING = threading.Lock()


def compiled(function: Callable[..., T]) -> Callable[..., T]:
    """The function, compiled on its first call with each combination of argument types."""
    loaded: list[Callable[..., T]] = []

    @wraps(function)
    def call(*args: Any) -> T:
        if not loaded:
            with _LOADING:
                if not loaded:
                    loaded.append(_compiler(function))
        try:
            return loaded[0](*args)
        except (OSError, EOFError, pickle.UnpicklingError):  # before the loop begins: the cache cannot be read
            loaded[0] = _compiler(function, keep=False)
            return loaded[0](*args)

    return call


def for_loops(values: Any) -> Any:
    """The values in C order, in a dtype that loops are compiled for."""
    if values.dtype.kind not in "fiub":
        values = values.astype(np.float64)  # such as bfloat16
    # in memory True may be any byte but 0; the conversion makes it 1
    return np.ascontiguousarray(values.astype(np.uint8) if values.dtype == bool else values)


def _compiler(function: Callable[..., T], *, keep: bool = True) -> Callable[..., T]:
    import numba  # takes a third of a second, and only numpy rows need it

    teach_compiler()
    try:
        return numba.njit(function, nogil=True, cache=keep)
    except RuntimeError:  # no folder for the cache is writable
        return numba.njit(function, nogil=True)
