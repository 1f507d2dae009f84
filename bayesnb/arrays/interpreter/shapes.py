"""Arrays of other shapes: parts, joins and copies."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from bayesnb.arrays.interpreter.equation import Function, bind, dtype_of, shape_of
from bayesnb.arrays.interpreter.keys import numpy_dtype
from bayesnb.arrays.placement import Array

FEW = 1 << 10
"""So few numbers are written out, which takes a microsecond and a half less than numpy's view of fewer."""


def _broadcast_in_dim(equation: Any) -> Function:
    shape, axes = shape_of(equation), [int(axis) for axis in equation.params["broadcast_dimensions"]]
    before = [1] * len(shape)
    for axis, size in zip(axes, equation.invars[0].aval.shape, strict=True):
        before[axis] = size
    if tuple(before) == shape:
        return _reshape(equation)
    dtype = numpy_dtype(dtype_of(equation))
    if prod(shape) > FEW:
        return lambda x: np.broadcast_to(x.reshape(before), shape)

    def fill(x: Array) -> Array:
        found = np.empty(shape, dtype)
        found[...] = x.reshape(before)
        return found

    return fill


def _reshape(equation: Any) -> Function:
    shape = shape_of(equation)
    return lambda x: x.reshape(shape)


def _transpose(equation: Any) -> Function:
    order = tuple(int(axis) for axis in equation.params["permutation"])
    return lambda x: x.transpose(order)


def _concatenate(equation: Any) -> Function:
    axis = int(equation.params["dimension"])
    return lambda *parts: np.concatenate(parts, axis)


def _stack(equation: Any) -> Function:
    axis = int(equation.params["axis"])
    return lambda *parts: np.stack(parts, axis)


def _unstack(equation: Any) -> Function:
    axis = int(equation.params["axis"])

    def parts(x: Array) -> Any:
        found = list(np.moveaxis(x, axis, 0))
        return found[0] if len(found) == 1 else found

    return parts


def _split(equation: Any) -> Function:
    axis, ends = int(equation.params["axis"]), np.cumsum(equation.params["sizes"])[:-1]
    return lambda x: np.split(x, ends, axis) if len(ends) else x


def _slice(equation: Any) -> Function:
    starts, ends, steps = (equation.params[name] for name in ("start_indices", "limit_indices", "strides"))
    part = tuple(map(slice, starts, ends, steps or [1] * len(starts)))
    return lambda x: x[part]


def _dynamic_slice(equation: Any) -> Function:
    sizes, shape = equation.params["slice_sizes"], equation.invars[0].aval.shape
    return lambda x, *starts: x[_part(shape, sizes, starts)]


def _dynamic_update_slice(equation: Any) -> Function:
    shape, sizes = (variable.aval.shape for variable in equation.invars[:2])

    def write(x: Array, update: Array, *starts: Array) -> Array:
        out = np.array(x)
        out[_part(shape, sizes, starts)] = update
        return out

    return write


def _part(shape: Any, sizes: Any, starts: Any) -> tuple[slice, ...]:
    """The slices of a block of these sizes, moved inside the array."""
    firsts = [min(max(int(start), 0), whole - size) for start, size, whole in zip(starts, sizes, shape, strict=True)]
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))


def _pad(equation: Any) -> Function:
    widths = [tuple(map(int, width)) for width in equation.params["padding_config"]]
    if any(low < 0 or high < 0 or inside for low, high, inside in widths):
        return bind(equation)
    inner = tuple(
        slice(low, low + size) for (low, _, _), size in zip(widths, equation.invars[0].aval.shape, strict=True)
    )

    def pad(x: Array, value: Array) -> Array:
        out = np.full(shape_of(equation), value)
        out[inner] = x
        return out

    return pad


def _rev(equation: Any) -> Function:
    axes = tuple(int(axis) for axis in equation.params["dimensions"])
    return lambda x: np.flip(x, axes)


def _iota(equation: Any) -> Function:
    shape, axis = shape_of(equation), int(equation.params["dimension"])
    along = [-1 if i == axis else 1 for i in range(len(shape))]
    return lambda: np.broadcast_to(np.arange(shape[axis], dtype=dtype_of(equation)).reshape(along), shape)


RULES: dict[str, Function] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": _reshape,
    "squeeze": _reshape,
    "transpose": _transpose,
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": _unstack,
    "split": _split,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "pad": _pad,
    "rev": _rev,
    "iota": _iota,
}
"""The rules by the primitive's name."""
