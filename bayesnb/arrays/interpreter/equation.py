"""One equation of a trace: the shape and dtype of its result, and JAX's own function for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from bayesnb.arrays.interpreter import random

Function = Callable[..., Any]


def shape_of(equation: Any) -> tuple[int, ...]:
    """The shape of the first result."""
    return tuple(equation.outvars[0].aval.shape)


def dtype_of(equation: Any) -> Any:
    """The dtype of the first result."""
    return equation.outvars[0].aval.dtype


def bind(equation: Any) -> Function:
    """The primitive itself, which JAX compiles for these shapes."""
    primitive, params = equation.primitive, equation.primitive.get_bind_params(equation.params)
    kinds = [variable.aval for variable in equation.invars]

    def run(*args: Any) -> Any:
        with jax.core.eval_context(), jax.enable_x64(True):
            found = primitive.bind(*map(random.to_jax, args, kinds), **params)
            found = [*map(random.to_numpy, found if primitive.multiple_results else [found])]
        return found[0] if len(found) == 1 else found

    return run
