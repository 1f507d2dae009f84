"""ONNX's operators of numbers one by one, which broadcast their arguments, by JAX's primitives."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.files.onnx.graph import BOOL, DOUBLE, INT64, element_type
from bayesnb.files.onnx.translation import NoOperator, Rule, Translation


def _plain(operator: str) -> Rule:
    return lambda translation, _, *names: translation.graph.add(operator, *names)


def _not(operator: str) -> Rule:
    return lambda translation, _, *names: translation.graph.add("Not", translation.graph.add(operator, *names))


def _of_bools(operator: str) -> Rule:
    """An operator of booleans; the primitive has bits of integers, too."""

    def rule(translation: Translation, equation: Any, *names: str) -> str:
        if _kind(equation) != BOOL:
            raise NoOperator(f"JAX's operation {equation.primitive.name!r} of integers")
        return str(translation.graph.add(operator, *names))

    return rule


def _select(translation: Translation, equation: Any, which: str, *cases: str) -> str:
    graph = translation.graph
    if equation.invars[0].aval.dtype != bool:
        raise NoOperator("a choice between more than two cases")
    no, yes = cases
    if _kind(equation) != BOOL:
        return str(graph.add("Where", which, yes, no))
    return str(graph.add("Or", graph.add("And", which, yes), graph.add("And", graph.add("Not", which), no)))


def _convert(translation: Translation, equation: Any, name: str) -> str:
    before, after = element_type(equation.invars[0].aval.dtype), _kind(equation)
    return name if before == after else str(translation.graph.add("Cast", name, to=after))


def _power(translation: Translation, equation: Any, name: str) -> str:
    return str(translation.graph.add("Pow", name, _number(translation, equation, equation.params["y"])))


def _square(translation: Translation, _: Any, name: str) -> str:
    return str(translation.graph.add("Mul", name, name))


def _exp2(translation: Translation, equation: Any, name: str) -> str:
    return str(translation.graph.add("Pow", _number(translation, equation, 2), name))


def _rsqrt(translation: Translation, _: Any, name: str) -> str:
    return str(translation.graph.add("Reciprocal", translation.graph.add("Sqrt", name)))


def _remainder(translation: Translation, _: Any, *names: str) -> str:
    return str(translation.graph.add("Mod", *names, fmod=1))


def _same(_: Translation, __: Any, name: str) -> str:
    return name


def _kind(equation: Any) -> int:
    return element_type(equation.outvars[0].aval.dtype)


def _number(translation: Translation, equation: Any, value: Any) -> str:
    dtype = {DOUBLE: np.float64, INT64: np.int64}[_kind(equation)]
    return translation.graph.constant(np.asarray(value, dtype))


OPERATORS = {
    "add": "Add", "add_any": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "max": "Max", "min": "Min",
    "pow": "Pow", "sign": "Sign", "abs": "Abs", "floor": "Floor", "ceil": "Ceil", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "tanh": "Tanh", "erf": "Erf",
    "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip
"""Operators that mean what the primitive does."""

RULES: dict[str, Rule] = {name: _plain(operator) for name, operator in OPERATORS.items()} | {
    "ne": _not("Equal"),
    "and": _of_bools("And"),
    "or": _of_bools("Or"),
    "xor": _of_bools("Xor"),
    "not": _of_bools("Not"),
    "select_n": _select,
    "convert_element_type": _convert,
    "integer_pow": _power,
    "square": _square,
    "exp2": _exp2,
    "rsqrt": _rsqrt,
    "rem": _remainder,
    "copy": _same,
    "copy_p": _same,
    "stop_gradient": _same,
    "checked": _same,
}
"""The rules by the primitive's name."""
