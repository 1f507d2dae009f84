"""``gather`` and ``scatter``: reads and writes of whole slices at computed places, as ``GatherND`` and ``ScatterND``.

Both take places along the first axes alone, so the array's axes are moved there and back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from bayesnb.files.onnx.graph import BOOL, DOUBLE, INT64, element_type
from bayesnb.files.onnx.translation import NoOperator, Rule, Translation, Value, on_full


@on_full
def _gather(translation: Translation, equation: Any, x: str, indices: str) -> str:
    """Read slices of whole axes, or of one place along an axis; a place beyond the array is moved inside, or filled."""
    numbers, sizes, mode = (equation.params[name] for name in ("dimension_numbers", "slice_sizes", "mode"))
    graph, (shape, of_indices) = translation.graph, (variable.aval.shape for variable in equation.invars)
    starts, paired = [int(a) for a in numbers.start_index_map], [int(a) for a in numbers.operand_batching_dims]
    if len(of_indices) == 1:
        return _slice(translation, equation, x, indices)
    whole = [axis for axis in range(len(shape)) if axis not in (*starts, *paired)]
    kept_ones = [axis for axis in starts if axis not in numbers.collapsed_slice_dims]
    if any(sizes[axis] != 1 for axis in starts) or any(sizes[axis] != shape[axis] for axis in whole):
        raise NoOperator("a look-up of parts of axes")

    # the axes of x in the order of GatherND: paired ones, those with places, the rest
    x = _permute(translation, x, [*paired, *starts, *whole])
    batch = len(of_indices) - 1
    of_pairs = [int(axis) for axis in numbers.start_indices_batching_dims]
    free = [axis for axis in range(batch) if axis not in of_pairs]
    indices = _permute(translation, indices, [*of_pairs, *free, batch])
    last = graph.add("Concat", *(translation.size(shape[axis] - 1) for axis in starts), axis=0)
    places = graph.add("Min", graph.add("Max", indices, translation.integers(0)), last)
    found = graph.add("GatherND", x, places, batch_dims=len(paired))
    if mode == GatherScatterMode.FILL_OR_DROP:
        found = _fill_beyond(translation, equation, found, places, indices, len(whole))

    # the axes of the result: pairs, other places, whole axes, and those of size one
    collapsed = {*numbers.collapsed_slice_dims, *paired}
    if kept_ones:
        rank = batch + len(whole)
        found = graph.add("Unsqueeze", found, translation.integers(*range(rank, rank + len(kept_ones))))
    window = [axis for axis in range(len(shape)) if axis not in collapsed]
    offsets = [int(axis) for axis in numbers.offset_dims]
    of_batch = [axis for axis in range(batch + len(window)) if axis not in offsets]
    here = [of_batch[axis] for axis in (*of_pairs, *free)]
    here += [offsets[window.index(axis)] for axis in (*whole, *kept_ones)]
    return _permute(translation, found, [int(place) for place in np.argsort(here)])


def _slice(translation: Translation, equation: Any, x: str, places: str) -> str:
    """One slice; its axes are in the order of the array's."""
    numbers, sizes, graph = equation.params["dimension_numbers"], equation.params["slice_sizes"], translation.graph
    if equation.params["mode"] == GatherScatterMode.FILL_OR_DROP:
        raise NoOperator("a slice that fills")
    for place, axis in enumerate(numbers.start_index_map):
        start = graph.add("Gather", places, graph.constant(np.int64(place)), axis=0)
        x, *_ = translation.part(x, start, sizes[axis], equation.invars[0].aval.shape[axis], int(axis))
    dropped = [int(axis) for axis in numbers.collapsed_slice_dims]
    return str(graph.add("Squeeze", x, translation.integers(*dropped)) if dropped else x)


def _fill_beyond(translation: Translation, equation: Any, found: str, places: str, indices: str, num_whole: int) -> str:
    """The slices that were read, with the fill value where a place is beyond the array."""
    graph, fill = translation.graph, equation.params["fill_value"]
    if element_type(equation.outvars[0].aval.dtype) != DOUBLE:
        raise NoOperator("a look-up that fills integers")
    beyond = graph.add("Cast", graph.add("Not", graph.add("Equal", places, indices)), to=INT64)
    beyond = graph.add("Cast", graph.add("ReduceMax", beyond, translation.integers(-1), keepdims=0), to=BOOL)
    for _ in range(num_whole):
        beyond = graph.add("Unsqueeze", beyond, translation.integers(-1))
    return str(graph.add("Where", beyond, graph.constant(np.float64(np.nan if fill is None else fill)), found))


def _scatter(reduction: str) -> Rule:
    def rule(translation: Translation, equation: Any, x: Value, indices: Value, updates: Value) -> Value:
        """Write whole slices, at places that are known here and inside the array."""
        numbers, (shape, _, of_updates) = equation.params["dimension_numbers"], (v.aval.shape for v in equation.invars)
        starts = [int(axis) for axis in numbers.scatter_dims_to_operand_dims]
        whole = [axis for axis in range(len(shape)) if axis not in starts]
        window = [int(axis) for axis in numbers.update_window_dims]
        if indices.array is None or numbers.operand_batching_dims or {*numbers.inserted_window_dims} != {*starts}:
            raise NoOperator("a change at computed places")
        last = np.array([shape[axis] - 1 for axis in starts])
        if ((indices.array < 0) | (indices.array > last)).any():
            raise NoOperator("a change beyond an array")
        order = [*starts, *whole]
        others = [axis for axis in range(len(of_updates)) if axis not in window]
        found = translation.graph.add(
            "ScatterND",
            _permute(translation, translation.full(x, shape), order),
            translation.full(indices, equation.invars[1].aval.shape),
            _permute(translation, translation.full(updates, of_updates), [*others, *window]),
            reduction=reduction,
        )
        return Value(shape, _permute(translation, found, [int(place) for place in np.argsort(order)]))

    return rule


def _permute(translation: Translation, name: str, order: list[int]) -> str:
    """The array with its axes in this order."""
    return name if order == sorted(order) else str(translation.graph.add("Transpose", name, perm=order))


RULES: dict[str, Rule] = {
    "gather": _gather,
    "scatter": _scatter("none"),
    "scatter-add": _scatter("add"),
    "scatter_add": _scatter("add"),
    "scatter-min": _scatter("min"),
    "scatter-max": _scatter("max"),
}
"""The rules by the primitive's name."""
