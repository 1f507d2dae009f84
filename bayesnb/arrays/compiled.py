"""Loops over the cells of numpy rows, compiled by numba: one pass over the rows, and no temporaries.

A compiled loop releases the interpreter lock, so that blocks of rows may run in threads. numba caches compiled code
next to the source file, or in the user's cache, for the next process, until that file changes: what a loop takes from
another file of the package would stay as it was.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

FEW = 256
"""The most numbers that are left to Python, which takes about a microsecond for each."""

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
            if few is not None and "numba" not in sys.modules and _count_numbers(args) <= few:
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


def _count_numbers(args: tuple[Any, ...]) -> int:
    return sum(x.size for x in args if isinstance(x, np.ndarray))


def compiled_unless_few(function: Callable[..., T], **options: Any) -> Callable[..., T]:
    """As ``compiled``, but few numbers are left to Python until something else loads numba, which takes .3 seconds.

    So a new process answers its first row sooner. Only for loops of the same bits in Python: of floats, not of sums of
    integers, which overflow elsewhere.
    """
    return compiled(function, few=FEW, **options)


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

    register_prefetch()
    while _PARTS:
        register_jitable(_PARTS.pop())
    try:
        return numba.njit(function, nogil=True, cache=keep, **options)
    except RuntimeError:  # no folder for the cache is writable
        return numba.njit(function, nogil=True, **options)


def prefetch(address: int) -> None:
    """Loads the memory at an address into cache without waiting for it; only for use inside a compiled loop."""


@cache
def register_prefetch() -> None:
    """Registers with numba that ``prefetch`` compiles to LLVM's instruction for data that are read again."""
    from llvmlite import ir
    from numba import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(prefetch)
    def typed(context: Any) -> Any:
        del context
        return lambda address: types.void(types.intp) if isinstance(address, types.Integer) else None

    @lower_builtin(prefetch, types.intp)
    def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        of_llvm = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [pointer], of_llvm)
        read, often, data = number(0), number(3), number(1)
        builder.call(instruction, [builder.inttoptr(arguments[0], pointer), read, often, data])
        return context.get_dummy_value()
