"""Check that exported functions only do arithmetic, before anything in a file is compiled or run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.export
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir

STRUCTURE = frozenset({"builtin.module", "func.func", "func.call", "func.return", "stablehlo.return"})

NAMES = (
    "abs add and atan2 bitcast_convert broadcast broadcast_in_dim case cbrt ceil cholesky clamp compare "
    "complex concatenate constant convert cosine count_leading_zeros divide dot_general "
    "dynamic_broadcast_in_dim dynamic_gather dynamic_iota dynamic_pad dynamic_reshape dynamic_slice "
    "dynamic_update_slice exponential exponential_minus_one fft floor gather get_dimension_size if imag "
    "iota is_finite log log_plus_one logistic maximum minimum multiply negate not optimization_barrier or "
    "pad popcnt power real real_dynamic_slice reduce reduce_precision reduce_window remainder reshape "
    "reverse round_nearest_afz round_nearest_even rsqrt scatter select shift_left shift_right_arithmetic "
    "shift_right_logical sign sine slice sort sqrt subtract tan tanh transpose triangular_solve while xor"
)
ARITHMETIC = frozenset(f"stablehlo.{name}" for name in NAMES.split())
"""Operations without side effects: their results depend only on their operands."""

ASSERTION = "shape_assertion"
"""An assertion about the number of rows, which JAX resolves before compilation."""

SOLVERS = frozenset({"lapack_strsm_ffi", "lapack_dtrsm_ffi"})
FACTORS = frozenset(
    {"lapack_spotrf_ffi", "lapack_dpotrf_ffi", "cusolver_potrf_ffi", "hipsolver_potrf_ffi", "rocsolver_potrf_ffi"}
)
"""Native code for triangular systems and Cholesky factors; it does not check array sizes itself."""

LEFT = ord("L")


class ForeignOperation(ValueError):
    """An operation that ``export`` never writes; the message names it."""


def require_arithmetic(function: jax.export.Exported) -> None:
    """Raise ForeignOperation if a function, or its gradient, has an operation that is not allowed."""
    with mlir.make_ir_context() as context:
        while True:
            module = stablehlo.deserialize_portable_artifact(context, function.mlir_module_serialized)
            for operation in _inside(module.operation):
                _require_allowed(operation)
            if not function.has_vjp():
                return
            function = function.vjp()


def _inside(operation: ir.Operation) -> Iterator[ir.Operation]:
    yield operation
    for region in operation.regions:
        for block in region:
            for inner in block:
                yield from _inside(inner.operation)


def _require_allowed(operation: ir.Operation) -> None:
    if operation.name in STRUCTURE | ARITHMETIC:
        return
    # a composite calls a function of this module, which is checked as well
    if operation.name == "stablehlo.composite" and _name(operation, "name").startswith("chlo."):
        return
    if operation.name != "stablehlo.custom_call":
        raise ForeignOperation(f"the operation {operation.name!r}, which bayesnb never exports")
    target = _name(operation, "call_target_name")
    if target not in SOLVERS | FACTORS | {ASSERTION}:
        raise ForeignOperation(f"a call of {target!r}, which bayesnb never exports")
    operands, results = (list(map(_shape, values)) for values in (operation.operands, operation.results))
    good = True
    if target in FACTORS:
        # a matrix of the operand's sizes, and one status for each matrix of the batch
        good = operands == results[:1] and [status[:-1] for status in results[1:]] == [operands[0][:-3]]
        good = good and _is_square(operands[0])
    elif target in SOLVERS:
        good = operands[1:2] == results and _fit(operands[0], operands[1], operation)
    if not good:
        raise ForeignOperation(f"a call of {target!r} with arrays of wrong sizes")


def _name(operation: ir.Operation, attribute: str) -> str:
    return str(ir.StringAttr(operation.attributes[attribute]).value)


def _shape(value: ir.Value) -> tuple[Any, ...]:
    """The sizes, with None for the symbolic number of rows, and the element type."""
    array = ir.RankedTensorType(value.type)
    return (
        *(None if array.is_dynamic_dim(d) else array.get_dim_size(d) for d in range(array.rank)),
        array.element_type,
    )


def _is_square(matrix: tuple[Any, ...]) -> bool:
    return len(matrix) > 2 and matrix[-2] == matrix[-3] is not None


def _fit(matrix: tuple[Any, ...], right: tuple[Any, ...], operation: ir.Operation) -> bool:
    side = ir.IntegerAttr(ir.DictAttr(operation.attributes["mhlo.backend_config"])["side"]).value
    size = right[-3 if side == LEFT else -2] if len(right) == len(matrix) else None
    return _is_square(matrix) and matrix[:-3] == right[:-3] and matrix[-1] == right[-1] and size == matrix[-2]
