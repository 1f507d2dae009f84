"""The numpy functions of JAX's primitives: each rule makes one from the equation, with its parameters and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from bayesnb.arrays.interpreter import matrices, random, shapes
from bayesnb.arrays.interpreter.equation import Function, bind, dtype_of
from bayesnb.arrays.interpreter.indexing import gather, scatter
from bayesnb.arrays.placement import Array


def _always(function: Function) -> Function:
    return lambda _: function


def _div(equation: Any) -> Function:
    if dtype_of(equation).kind == "f":
        return np.divide

    if dtype_of(equation).kind == "u":
        return np.floor_divide
    return lambda a, b: np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))  # rounded towards zero


def _integer_pow(equation: Any) -> Function:
    power = equation.params["y"]
    if power == -1:
        return np.reciprocal
    return np.square if power == 2 else lambda x: np.power(x, np.asarray(power, x.dtype))


def _logical(of_bools: Function, of_integers: Function) -> Function:
    return lambda equation: of_bools if dtype_of(equation).kind == "b" else of_integers


def _select_n(equation: Any) -> Function:
    if len(equation.invars) != 3:
        return lambda which, *cases: np.choose(which.astype(np.intp), cases)
    return lambda which, no, yes: np.where(which, yes, no)


def _convert(equation: Any) -> Function:
    dtype = dtype_of(equation)
    return lambda x: x.astype(dtype)


def _reduce(ufunc: np.ufunc) -> Function:
    def rule(equation: Any) -> Function:
        axes, dtype = tuple(int(axis) for axis in equation.params["axes"]), dtype_of(equation)
        given: dict[str, Any] = {}
        if ufunc in (np.maximum, np.minimum):
            limits = {"f": (-np.inf, np.inf), "b": (False, True)}.get(dtype.kind)
            limits = limits or (np.iinfo(dtype).min, np.iinfo(dtype).max)
            given["initial"] = limits[ufunc is np.minimum]
        return lambda x: ufunc.reduce(x, axis=axes, dtype=dtype, **given)

    return rule


def _arg(function: Function) -> Function:
    def rule(equation: Any) -> Function:
        (axis,) = equation.params["axes"]
        return lambda x: function(x, int(axis)).astype(dtype_of(equation))

    return rule


def _accumulate(ufunc: np.ufunc) -> Function:
    def rule(equation: Any) -> Function:
        axis, dtype, reverse = int(equation.params["axis"]), dtype_of(equation), equation.params["reverse"]
        if reverse:
            return lambda x: np.flip(ufunc.accumulate(np.flip(x, axis), axis, dtype), axis)
        return lambda x: ufunc.accumulate(x, axis, dtype)

    return rule


def _reduce_precision(equation: Any) -> Function:
    single = equation.params == {"exponent_bits": 8, "mantissa_bits": 23}
    return (lambda x: x.astype(np.float32).astype(x.dtype)) if single else bind(equation)


def _shift_right(equation: Any) -> Function:
    return np.right_shift if dtype_of(equation).kind == "u" else bind(equation)


def _bitcast(equation: Any) -> Function:
    before, after = equation.invars[0].aval.dtype, dtype_of(equation)
    return (lambda x: np.asarray(x).view(after)) if before.itemsize == after.itemsize else bind(equation)


def _same(x: Array) -> Array:
    return x


ELEMENTWISE: dict[str, Function] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "rem": np.fmod, "max": np.maximum, "min": np.minimum, "pow": np.power, "sign": np.sign, "abs": np.abs,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt,
    "square": np.square, "tanh": np.tanh, "logistic": scipy.special.expit, "floor": np.floor, "ceil": np.ceil,
    "is_finite": np.isfinite, "lgamma": scipy.special.gammaln, "digamma": scipy.special.digamma,
    "erf": scipy.special.erf, "erfc": scipy.special.erfc, "erf_inv": scipy.special.erfinv, "nextafter": np.nextafter,
    "shift_left": np.left_shift, "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "copy": _same, "copy_p": _same, "stop_gradient": _same, "real": np.real, "rsqrt": lambda x: 1.0 / np.sqrt(x),
}  # fmt: skip
"""Functions that need no parameters."""

RULES: dict[str, Function] = {name: _always(function) for name, function in ELEMENTWISE.items()} | {
    "div": _div,
    "integer_pow": _integer_pow,
    "and": _logical(np.logical_and, np.bitwise_and),
    "or": _logical(np.logical_or, np.bitwise_or),
    "xor": _logical(np.logical_xor, np.bitwise_xor),
    "not": _logical(np.logical_not, np.bitwise_not),
    "select_n": _select_n,
    "convert_element_type": _convert,
    "reduce_precision": _reduce_precision,
    "bitcast_convert_type": _bitcast,
    "shift_right_logical": _shift_right,
    "reduce_sum": _reduce(np.add),
    "reduce_prod": _reduce(np.multiply),
    "reduce_max": _reduce(np.maximum),
    "reduce_min": _reduce(np.minimum),
    "reduce_and": _reduce(np.logical_and),
    "reduce_or": _reduce(np.logical_or),
    "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin),
    "cumsum": _accumulate(np.add),
    "cumprod": _accumulate(np.multiply),
    "cummax": _accumulate(np.maximum),
    "cummin": _accumulate(np.minimum),
    "cumlogsumexp": _accumulate(np.logaddexp),
    "gather": gather,
    "scatter": scatter(None),
    "scatter-add": scatter(np.add),
    "scatter_add": scatter(np.add),
    **shapes.RULES,
    **matrices.RULES,
    **random.RULES,
}
"""The rules by the primitive's name."""
