"""One equation of a trace: the shape and dtype of its result, and the function that computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from bayesnb.arrays.interpreter.keys import to_jax, to_numpy

Function = Callable[..., Any]

KINDS = {
    "bool": "b", "int32": "i", "int64": "i", "uint32": "u", "uint64": "w", "float32": "f", "float64": "d",
    "key<fry>": "k",
}  # fmt: skip
"""The dtypes that numpy computes, as one letter; all others, such as halves and complex numbers, are left to JAX."""


class Rule(NamedTuple):
    """How to make the numpy function of an equation, and the ``KINDS`` of dtypes for which it gives what JAX gives."""

    kinds: str
    make: Function


def shape_of(equation: Any) -> tuple[int, ...]:
    """The shape of the first result."""
    return tuple(equation.outvars[0].aval.shape)


def dtype_of(equation: Any) -> Any:
    """The dtype of the first result."""
    return equation.outvars[0].aval.dtype


def function_of(equation: Any, rules: dict[str, Rule]) -> Function:
    """The function of an equation: numpy's if a rule has all its dtypes, else JAX's own."""
    rule = rules.get(equation.primitive.name)
    dtypes = {variable.aval.dtype.name for variable in (*equation.invars, *equation.outvars)}
    known = rule is not None and all(KINDS.get(name, "other") in rule.kinds for name in dtypes)
    return rule.make(equation) if rule and known else bind(equation)


def bind(equation: Any) -> Function:
    """The primitive itself, which JAX compiles for these shapes."""
    primitive, params = equation.primitive, equation.primitive.get_bind_params(equation.params)
    kinds = [variable.aval for variable in equation.invars]

    def run(*args: Any) -> Any:
        with jax.core.eval_context(), jax.enable_x64(True):
            found = primitive.bind(*map(to_jax, args, kinds), **params)
            found = [*map(to_numpy, found if primitive.multiple_results else [found])]
        return found[0] if len(found) == 1 else found

    return run
