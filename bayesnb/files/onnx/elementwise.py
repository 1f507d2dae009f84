"""ONNX's operators of numbers one by one, and JAX's functions that ONNX lacks, written with those that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.files.onnx.graph import BOOL, DOUBLE, INT64, element_type
from bayesnb.files.onnx.translation import NoOperator, Rule, Translation, traced
from bayesnb.numerics.stable import stirling_log_gamma


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
    dtype = {DOUBLE: np.float64, INT64: np.int64}[_kind(equation)]
    power = translation.graph.constant(np.asarray(equation.params["y"], dtype))
    return str(translation.graph.add("Pow", name, power))


def _remainder(translation: Translation, _: Any, *names: str) -> str:
    return str(translation.graph.add("Mod", *names, fmod=1))


def _same(_: Translation, __: Any, name: str) -> str:
    return name


def _kind(equation: Any) -> int:
    return element_type(equation.outvars[0].aval.dtype)


def _log1p(x: jax.Array, **_: Any) -> jax.Array:
    """log(1 + x) without the loss of small x: what 1 + x rounds away is a factor (Kahan)."""
    total = 1.0 + x
    change = total - 1.0
    exact = change == x  # also for an infinite x
    scale = jnp.where(exact, 1.0, x / jnp.where(change == 0, 1.0, change))
    return jnp.where(change == 0, x, jnp.log(total) * scale)


def _expm1(x: jax.Array, **_: Any) -> jax.Array:
    """exp(x) - 1, likewise."""
    total = jnp.exp(x)
    change, log = total - 1.0, jnp.log(total)
    plain = (jnp.abs(x) > 1.0) | (log == 0)
    return jnp.where(total == 1.0, x, jnp.where(plain, change, change * (x / jnp.where(plain, 1.0, log))))


def _cholesky(a: jax.Array, **_: Any) -> jax.Array:
    """The lower factor of matrices [..., D, D], column by column."""
    places = jnp.arange(a.shape[-1])

    def add(j: Any, factor: jax.Array) -> jax.Array:
        column = _at(a, j, -1)[..., 0] - (factor * _at(factor, j, -2)).sum(axis=-1)
        column = jnp.where(places >= j, column / jnp.sqrt(_at(column, j, -1)), 0.0)
        return jnp.where(places == j, column[..., None], factor)

    return jax.lax.fori_loop(0, a.shape[-1], add, jnp.zeros_like(a))


def _triangular_solve(
    a: jax.Array, b: jax.Array, *, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> jax.Array:
    """x with a x = b, or x a = b, by substitution, row by row."""
    if transpose_a == left_side:  # a triangle on the left in all cases
        a = a.mT
    b = b if left_side else b.mT
    last = a.shape[-1] - 1
    places, downwards = jnp.arange(last + 1)[:, None], (lower != transpose_a) == left_side

    def add(step: Any, x: jax.Array) -> jax.Array:
        i = step if downwards else last - step
        row = _at(a, i, -2)
        found = _at(b, i, -2) - row @ x
        return jnp.where(places == i, found if unit_diagonal else found / _at(row, i, -1), x)

    x = jax.lax.fori_loop(0, last + 1, add, jnp.zeros_like(b))
    return x if left_side else x.mT


def _at(x: jax.Array, place: Any, axis: int) -> jax.Array:
    """The part of size 1 at a computed place along an axis."""
    return jax.lax.dynamic_slice_in_dim(x, place, 1, axis)


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
    "rem": _remainder,
    "copy": _same,
    "copy_p": _same,
    "stop_gradient": _same,
    "checked": _same,
}
"""The rules of operators, by the primitive's name."""

FORMULAS: dict[str, Callable[..., jax.Array]] = {
    "log1p": _log1p,
    "expm1": _expm1,
    "square": lambda x, **_: x * x,
    "exp2": lambda x, **_: jnp.power(2.0, x),
    "rsqrt": lambda x, **_: 1.0 / jnp.sqrt(x),
    "logistic": lambda x, **_: 1.0 / (1.0 + jnp.exp(-x)),
    "lgamma": lambda x, **_: stirling_log_gamma(x),
    "is_finite": lambda x, **_: jnp.abs(x) < jnp.inf,
    "lt_to": lambda a, b, **_: (a < b) | ((a == a) & (b != b)),  # NaN is the largest number
    "clamp": lambda low, x, high, **_: jnp.minimum(jnp.maximum(x, low), high),
}
"""Functions of numbers, by the primitive's name."""

FUNCTIONS: dict[str, Rule] = {name: traced(function) for name, function in FORMULAS.items()}
"""The rules of functions of numbers, by the primitive's name."""

OF_MATRICES: dict[str, Rule] = {"cholesky": traced(_cholesky), "triangular_solve": traced(_triangular_solve)}
"""The rules of functions of matrices, by the primitive's name."""
