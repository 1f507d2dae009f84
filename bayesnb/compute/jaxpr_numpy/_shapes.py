"""Arrays of other shapes: parts, joins and copies, and slices at computed places, which ``gather`` and ``scatter``."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from bayesnb.compute.jaxpr_numpy._equation import Array, Function, bind, dtype_of, shape_of


def given(name: str, function: Function) -> Function:
    """The rule of a function whose last argument is the parameter of this name."""
    return lambda equation: lambda x: function(x, equation.params[name])


def _of_parts(name: str, function: Function) -> Function:
    """The rule of a function of several arrays, along the axis that this parameter has."""
    return lambda equation: lambda *parts: function(parts, int(equation.params[name]))


def _broadcast_in_dim(equation: Any) -> Function:
    shape, axes = shape_of(equation), [int(axis) for axis in equation.params["broadcast_dimensions"]]
    before = [1] * len(shape)
    for axis, size in zip(axes, equation.invars[0].aval.shape, strict=True):
        before[axis] = size
    if tuple(before) == shape:
        return _reshape(equation)
    return lambda x: np.broadcast_to(x.reshape(before), shape)


def _reshape(equation: Any) -> Function:
    shape = shape_of(equation)
    return lambda x: x.reshape(shape)


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


def _iota(equation: Any) -> Function:
    shape, axis = shape_of(equation), int(equation.params["dimension"])
    along = [-1 if i == axis else 1 for i in range(len(shape))]
    return lambda: np.broadcast_to(np.arange(shape[axis], dtype=dtype_of(equation)).reshape(along), shape)


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


def gather(equation: Any) -> Function:
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


def scatter(combine: Function | None) -> Function:
    """The rule of writing slices into a copy: ``combine`` is a ufunc, or None to replace."""

    def rule(equation: Any) -> Function:
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


RULES: dict[str, Function] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": _reshape,
    "squeeze": _reshape,
    "transpose": given("permutation", np.transpose),
    "concatenate": _of_parts("dimension", np.concatenate),
    "stack": _of_parts("axis", np.stack),
    "unstack": _unstack,
    "split": _split,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "pad": _pad,
    "rev": given("dimensions", np.flip),
    "iota": _iota,
}
"""The rules by the primitive's name."""
