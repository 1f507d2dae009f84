"""A hint to the processor, for compiled loops that read a table in no order: which memory they need soon.

Without it a loop waits for one row of the table after the other, wherever this is larger than the cache.
"""

from __future__ import annotations

from functools import cache
from typing import Any

AHEAD = 32
"""Steps of a loop between asking for memory and using it. numba keeps loops as compiled with it: after a change delete
what it kept."""


def prefetch(address: int) -> None:
    """Asks for the memory at an address and goes on; inside a compiled loop alone."""


@cache
def teach_compiler() -> None:
    """Tells numba what ``prefetch`` compiles to: LLVM's instruction of this name, for data that are read again."""
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
