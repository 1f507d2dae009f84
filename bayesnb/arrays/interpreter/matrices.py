"""Products, factors and solutions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.interpreter.equation import Function, bind, dtype_of
from bayesnb.arrays.placement import Array


def dot_general(equation: Any) -> Function:
    """Products, which JAX computes itself where they have another dtype than their factors."""
    (left, right), (left_batch, right_batch) = equation.params["dimension_numbers"]
    if any(variable.aval.dtype != dtype_of(equation) for variable in equation.invars):
        return bind(equation)
    if not left_batch:
        axes = [int(axis) for axis in left], [int(axis) for axis in right]
        return lambda a, b: np.tensordot(a, b, axes)
    sizes = [len(variable.aval.shape) for variable in equation.invars]
    of_left, of_right = list(range(sizes[0])), list(range(sizes[0], sum(sizes)))
    for one, other in zip([*left, *left_batch], [*right, *right_batch], strict=True):
        of_right[other] = int(one)
    free = [i for i in of_left if i not in (*left, *left_batch)], [i for i in of_right if i >= sizes[0]]
    out = [*(int(axis) for axis in left_batch), *free[0], *free[1]]
    return lambda a, b: np.einsum(a, of_left, b, of_right, out)


def _cholesky(equation: Any) -> Function:
    return _or_nan(np.linalg.cholesky, bind(equation))


def _eigh(equation: Any) -> Function:
    other = bind(equation)
    return _or_nan(lambda x: np.linalg.eigh(x)[::-1], other) if equation.params["lower"] else other


def _or_nan(function: Function, other: Function) -> Function:
    """The function of matrices; JAX has NaN where numpy raises."""

    def run(x: Array) -> Any:
        try:
            return function(x)
        except np.linalg.LinAlgError:
            return other(x)

    return run


def _triangular_solve(equation: Any) -> Function:
    """Substitution, which unlike a general solver is exact for rows of different scales."""
    left, lower, transposed, unit = (
        equation.params[name] for name in ("left_side", "lower", "transpose_a", "unit_diagonal")
    )

    def solve(a: Array, b: Array) -> Array:
        # all cases are a lower triangle on the left: an upper one is lower in reverse order
        if transposed == left:
            a = np.swapaxes(a, -1, -2)
        order = slice(None) if (lower != transposed) == left else slice(None, None, -1)
        a = a[..., order, order]
        x = np.array((b if left else np.swapaxes(b, -1, -2))[..., order, :])
        for i in range(a.shape[-1]):
            x[..., i, :] -= (a[..., i, None, :i] @ x[..., :i, :])[..., 0, :]
            if not unit:
                x[..., i, :] /= a[..., i, i, None]
        x = x[..., order, :]
        return x if left else np.swapaxes(x, -1, -2)

    return solve


RULES: dict[str, Function] = {"triangular_solve": _triangular_solve, "cholesky": _cholesky, "eigh": _eigh}
"""The rules by the primitive's name, of floats."""
