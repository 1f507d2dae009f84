"""``gather`` and ``scatter``: reads and writes of slices at computed places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from bayesnb.arrays.placement import Array


class _Slices:
    """Slices of an array of this shape, one for each vector of indices [batch..., I].

    ``window`` are the array's axes that a slice keeps, ``starts`` those that an index vector has, and ``paired`` the
    axes of the array and of the indices that run together.
    """

    def __init__(self, shape: Any, sizes: Any, batch: Any, window: Any, starts: Any, paired: Any) -> None:
        self.room = [(int(axis), shape[axis] - sizes[axis]) for axis in starts]
        self.ones = (1,) * len(window)
        rank = len(batch) + len(window)
        self.fixed = [np.zeros((1,) * rank, int)] * len(shape)
        runs = [*zip(*paired, strict=True), *((axis, len(batch) + place) for place, axis in enumerate(window))]
        for axis, place in runs:
            along = np.arange(sizes[axis] if axis in window else shape[axis])
            self.fixed[axis] = along.reshape([-1 if i == place else 1 for i in range(rank)])

    def places(self, indices: Array) -> tuple[tuple[Array, ...], Array]:
        """The places in the array by axis, [batch..., window...], and where a whole slice is inside, [batch...]."""
        places, inside = self.fixed.copy(), np.ones(indices.shape[:-1], bool)
        for column, (axis, last) in enumerate(self.room):
            index = indices[..., column].astype(np.int64)
            kept = np.minimum(np.maximum(index, 0), last)
            inside &= index == kept
            places[axis] = places[axis] + kept.reshape(kept.shape + self.ones)
        return tuple(places), inside


def gather(equation: Any) -> Callable[..., Array]:
    """Read slices; a slice beyond the array is moved inside, or filled."""
    numbers, sizes, mode = (equation.params[name] for name in ("dimension_numbers", "slice_sizes", "mode"))
    shape, out = equation.invars[0].aval.shape, equation.outvars[0].aval
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = [axis for axis in range(len(shape)) if axis not in dropped]
    paired = numbers.operand_batching_dims, numbers.start_indices_batching_dims
    batch = equation.invars[1].aval.shape[:-1]
    slices = _Slices(shape, sizes, batch, window, numbers.start_index_map, paired)
    offsets = [int(axis) for axis in numbers.offset_dims]
    fills = mode == GatherScatterMode.FILL_OR_DROP
    fill = equation.params["fill_value"]
    if fill is None:
        fill = np.nan if out.dtype.kind == "f" else np.iinfo(out.dtype).min if out.dtype.kind == "i" else -1
        fill = True if out.dtype.kind == "b" else fill

    middle = (*batch, *(sizes[axis] for axis in window))
    last = list(range(len(batch), len(middle)))

    def read(x: Array, indices: Array) -> Array:
        if not out.size:
            return np.zeros(out.shape, out.dtype)
        places, inside = slices.places(indices)
        found = x[places]
        if found.shape != middle:
            found = np.broadcast_to(found, middle)
        if fills and not inside.all():
            found = found.copy()
            found[~inside] = np.asarray(fill).astype(out.dtype)
        return found if last == offsets else np.moveaxis(found, last, offsets)

    return read


def scatter(combine: Callable[..., Any] | None) -> Callable[..., Callable[..., Array]]:
    """The rule of writing slices into a copy: ``combine`` is a ufunc, or None to replace."""

    def rule(equation: Any) -> Callable[..., Array]:
        numbers, mode = equation.params["dimension_numbers"], equation.params["mode"]
        shape, updates = equation.invars[0].aval.shape, equation.invars[2].aval.shape
        dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        window = [axis for axis in range(len(shape)) if axis not in dropped]
        sizes = [1] * len(shape)
        for axis, of_update in zip(window, numbers.update_window_dims, strict=True):
            sizes[axis] = updates[of_update]
        paired = numbers.operand_batching_dims, numbers.scatter_indices_batching_dims
        batch = equation.invars[1].aval.shape[:-1]
        slices = _Slices(shape, sizes, batch, window, numbers.scatter_dims_to_operand_dims, paired)
        offsets = [int(axis) for axis in numbers.update_window_dims]

        def write(x: Array, indices: Array, values: Array) -> Array:
            out = np.array(x)
            if not np.size(values) or not out.size:
                return out
            places, inside = slices.places(indices)
            values = np.moveaxis(values, offsets, range(values.ndim - len(offsets), values.ndim))
            if mode != GatherScatterMode.CLIP and not inside.all():
                places, values = tuple(place[inside] for place in np.broadcast_arrays(*places)), values[inside]
            if combine is None:
                out[places] = values
            else:
                combine.at(out, places, values)  # type: ignore[attr-defined]
            return out

        return write

    return rule
