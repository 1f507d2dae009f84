"""Memory prefetching for compiled loops that read a table in random order.

Without it a loop waits for every row of a table that is larger than the cache.
"""

from __future__ import annotations

from functools import cache
from typing import Any

AHEAD = 32
"""How many loop steps before its use memory is prefetched. numba's cached loops contain this value: delete the cache
after a change."""


def prefetch(address: int) -> None:
    """Prefetches the memory at an address without waiting; only for use inside a compiled loop."""


@cache
def teach_compiler() -> None:
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
