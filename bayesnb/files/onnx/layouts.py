"""ONNX's operators that join, reduce, move and look up parts of arrays, by JAX's primitives."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.export import is_symbolic_dim

from bayesnb.files.onnx.graph import BOOL, DOUBLE, INT64, element_type
from bayesnb.files.onnx.translation import NoOperator, Rule, Translation, Value, on_full, reverse


def _shape(equation: Any) -> Any:
    return equation.outvars[0].aval.shape


# axes that are added, dropped and moved: values stay small


def _broadcast(translation: Translation, equation: Any, value: Value, *_: Value) -> Value:
    axes, rank = [int(axis) for axis in equation.params["broadcast_dimensions"]], len(_shape(equation))
    shape = [1] * rank
    for axis, size in zip(axes, value.shape if len(value.shape) == len(axes) else [1] * len(axes), strict=True):
        shape[axis] = size
    if value.array is not None:
        return Value(tuple(shape), array=value.array.reshape(shape))
    new = [axis for axis in range(rank) if axis not in axes]
    if not value.shape:
        new = list(range(rank))
    name = translation.graph.add("Unsqueeze", value.name, translation.integers(*new)) if new else value.name
    return Value(tuple(shape), name)


def _transpose(translation: Translation, equation: Any, value: Value) -> Value:
    order = [int(axis) for axis in equation.params["permutation"]]
    value = _restore_axes(translation, equation, value)
    shape = tuple(value.shape[axis] for axis in order)
    if value.array is not None:
        return Value(shape, array=value.array.transpose(order))
    return Value(shape, translation.graph.add("Transpose", value.name, perm=order))


def _squeeze(translation: Translation, equation: Any, value: Value) -> Value:
    axes = [int(axis) for axis in equation.params["dimensions"]]
    value = _restore_axes(translation, equation, value)
    shape = tuple(size for axis, size in enumerate(value.shape) if axis not in axes)
    if value.array is not None:
        return Value(shape, array=value.array.reshape(shape))
    return Value(shape, translation.graph.add("Squeeze", value.name, translation.integers(*axes)))


def _restore_axes(translation: Translation, equation: Any, value: Value) -> Value:
    """The value with all its axes; a result of single numbers may have none."""
    shape = equation.invars[0].aval.shape
    return value if len(value.shape) == len(shape) else Value(shape, translation.full(value, shape))


@on_full
def _reshape(translation: Translation, equation: Any, name: str, *_: str) -> str:
    return str(translation.graph.add("Reshape", name, translation.shape(_shape(equation)), allowzero=1))


# parts and joins


@on_full
def _concatenate(translation: Translation, equation: Any, *names: str) -> str:
    return str(translation.graph.add("Concat", *names, axis=int(equation.params["dimension"])))


@on_full
def _stack(translation: Translation, equation: Any, *names: str) -> str:
    graph, axis = translation.graph, int(equation.params["axis"])
    apart = [graph.add("Unsqueeze", name, translation.integers(axis)) for name in names]
    return str(graph.add("Concat", *apart, axis=axis))


def _unstack(translation: Translation, equation: Any, value: Value) -> list[Value]:
    name, axis = translation.full(value, equation.invars[0].aval.shape), int(equation.params["axis"])
    places = (translation.graph.constant(np.int64(place)) for place in range(len(equation.outvars)))
    return [Value(_shape(equation), translation.graph.add("Gather", name, place, axis=axis)) for place in places]


def _split(translation: Translation, equation: Any, value: Value) -> list[Value]:
    sizes, axis = equation.params["sizes"], int(equation.params["axis"])
    name, ends = translation.full(value, equation.invars[0].aval.shape), np.cumsum([0, *sizes])
    return [
        Value(variable.aval.shape, _part(translation, name, [axis], [start], [end]))
        for variable, start, end in zip(equation.outvars, ends, ends[1:], strict=False)
    ]


@on_full
def _slice(translation: Translation, equation: Any, name: str) -> str:
    params, shape = equation.params, equation.invars[0].aval.shape
    starts, ends, steps = params["start_indices"], params["limit_indices"], params["strides"] or [1] * len(shape)
    axes = [a for a, size in enumerate(shape) if (starts[a], steps[a]) != (0, 1) or ends[a] != size]
    if any(is_symbolic_dim(x) for a in axes for x in (starts[a], ends[a])):
        raise NoOperator("a part of the rows")
    return _part(translation, name, axes, *([x[a] for a in axes] for x in (starts, ends, steps)))


def _part(translation: Translation, name: str, axes: Any, starts: Any, ends: Any, steps: Any = None) -> str:
    numbers = (starts, ends, axes, steps or [1] * len(axes))
    return str(translation.graph.add("Slice", name, *(translation.integers(*one) for one in numbers)))


@on_full
def _dynamic_slice(translation: Translation, equation: Any, name: str, *starts: str) -> str:
    shape = equation.invars[0].aval.shape
    for axis, size in enumerate(equation.params["slice_sizes"]):
        if size != shape[axis]:
            name, *_ = translation.part(name, starts[axis], size, shape[axis], axis)
    return name


@on_full
def _dynamic_update_slice(translation: Translation, equation: Any, name: str, update: str, *starts: str) -> str:
    graph, (whole, part) = translation.graph, (variable.aval.shape for variable in equation.invars[:2])
    axes = [axis for axis, size in enumerate(part) if size != whole[axis]]
    if len(axes) > 1:
        raise NoOperator("a change of a part of several axes")
    for axis in axes:
        _, start, end = translation.part(name, starts[axis], part[axis], whole[axis], axis)
        first, last, along = translation.integers(0), translation.size(whole[axis]), translation.integers(axis)
        before, after = graph.add("Slice", name, first, start, along), graph.add("Slice", name, end, last, along)
        update = graph.add("Concat", before, update, after, axis=axis)
    return update


@on_full
def _pad(translation: Translation, equation: Any, name: str, value: str) -> str:
    low, high, inside = zip(*equation.params["padding_config"], strict=True)
    if any(inside) or min(*low, *high, 0) < 0:
        raise NoOperator("padding between the cells")
    return str(translation.graph.add("Pad", name, translation.integers(*low, *high), value))


@on_full
def _rev(translation: Translation, equation: Any, name: str) -> str:
    return reverse(translation, name, [int(axis) for axis in equation.params["dimensions"]])


def _iota(translation: Translation, equation: Any, *_: Value) -> Value:
    shape, axis, graph = _shape(equation), int(equation.params["dimension"]), translation.graph
    ends = graph.constant(np.int64(0)), translation.scalar(shape[axis]), graph.constant(np.int64(1))
    name = graph.add("Range", *ends)
    others = [a for a in range(len(shape)) if a != axis]
    name = graph.add("Unsqueeze", name, translation.integers(*others)) if others else name
    if element_type(equation.outvars[0].aval.dtype) != INT64:
        name = graph.add("Cast", name, to=DOUBLE)
    return Value(tuple(size if a == axis else 1 for a, size in enumerate(shape)), name)


def _dim_as_value(translation: Translation, equation: Any) -> Value:
    return Value((), translation.scalar(equation.params["dim"]))


# sums and products


def _reduce(operator: str) -> Rule:
    @on_full
    def rule(translation: Translation, equation: Any, name: str) -> str:
        axes, graph = [int(axis) for axis in equation.params["axes"]], translation.graph
        of_bools = element_type(equation.invars[0].aval.dtype) == BOOL
        name = graph.add("Cast", name, to=INT64) if of_bools else name
        name = graph.add(operator, name, translation.integers(*axes), keepdims=0) if axes else name
        return str(graph.add("Cast", name, to=BOOL) if of_bools else name)

    return rule


def _arg(operator: str) -> Rule:
    @on_full
    def rule(translation: Translation, equation: Any, name: str) -> str:
        graph, (axis,) = translation.graph, equation.params["axes"]
        if element_type(equation.invars[0].aval.dtype) != DOUBLE:
            name = graph.add("Cast", name, to=DOUBLE)
        return str(graph.add(operator, name, axis=int(axis), keepdims=0))

    return rule


@on_full
def _cumsum(translation: Translation, equation: Any, name: str) -> str:
    axis = translation.graph.constant(np.int64(equation.params["axis"]))
    return str(translation.graph.add("CumSum", name, axis, reverse=int(equation.params["reverse"])))


@on_full
def _dot_general(translation: Translation, equation: Any, left: str, right: str) -> str:
    (of_left, of_right), (left_batch, right_batch) = equation.params["dimension_numbers"]
    ranks = [len(variable.aval.shape) for variable in equation.invars]
    if ranks == [2, 2] and not left_batch and (*of_left, *of_right) == (1, 0):
        return str(translation.graph.add("MatMul", left, right))
    letters = [chr(ord("a") + place) for place in range(sum(ranks))]
    first, second = letters[: ranks[0]], letters[ranks[0] :]
    for one, other in zip([*of_left, *left_batch], [*of_right, *right_batch], strict=True):
        second[other] = first[one]
    free = [x for axis, x in enumerate(first) if axis not in (*of_left, *left_batch)]
    free += [x for axis, x in enumerate(second) if axis not in (*of_right, *right_batch)]
    out = [*(first[axis] for axis in left_batch), *free]
    spelled = f"{''.join(first)},{''.join(second)}->{''.join(out)}"
    return str(translation.graph.add("Einsum", left, right, equation=spelled))


RULES: dict[str, Rule] = {
    "broadcast_in_dim": _broadcast,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "reshape": _reshape,
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
    "dim_as_value": _dim_as_value,
    "reduce_sum": _reduce("ReduceSum"),
    "reduce_prod": _reduce("ReduceProd"),
    "reduce_max": _reduce("ReduceMax"),
    "reduce_min": _reduce("ReduceMin"),
    "reduce_and": _reduce("ReduceMin"),
    "reduce_or": _reduce("ReduceMax"),
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "cumsum": _cumsum,
    "dot_general": _dot_general,
}
"""The rules by the primitive's name."""
