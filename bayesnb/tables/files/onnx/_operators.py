"""ONNX's operators for JAX's primitives, and JAX's functions that ONNX lacks, written with those that it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive

from bayesnb.compute.numerics._stable import stirling_log_gamma
from bayesnb.tables.files.onnx._graph import BOOL, DOUBLE, Graph, NoOperator, Rule, Value, describe, element_type

# kinds of rules, by what they are made of


def _each(add: Callable[..., str]) -> Rule:
    """Of numbers one by one: ``add`` has the names of the arguments, which its operator broadcasts."""
    return lambda graph, equation, *values: add(graph, equation, *graph.broadcast(equation, values))


def _whole(add: Callable[..., str]) -> Rule:
    """Of arrays: ``add`` has the names of the arguments in full size."""
    return lambda graph, equation, *values: add(graph, equation, *map(graph.name, values))


def _formula(function: Callable[..., Any]) -> Rule:
    """Of a JAX function of the primitive's arguments and parameters, which is translated in turn."""
    return lambda graph, equation, *values: graph.trace(partial(function, **equation.params), equation, values)


def _plain(operator: str, **options: Any) -> Rule:
    """Of an operator that means what the primitive does."""
    return _each(lambda graph, _, *names: graph.add(operator, *names, **options))


def _logical(operator: str) -> Rule:
    """Of an operator of booleans; the primitive takes bits of integers, too."""

    def add(graph: Graph, equation: Any, *names: str) -> str:
        if _kind(equation.outvars[0]) != BOOL:
            raise NoOperator(f"{equation.primitive.name!r} of integers")
        return graph.add(operator, *names)

    return _each(add)


def _shape(variable: Any) -> Any:
    return variable.aval.shape


def _kind(variable: Any) -> int:
    return element_type(variable.aval.dtype)


# numbers one by one


def _select(graph: Graph, equation: Any, which: str, *cases: str) -> str:
    if _kind(equation.invars[0]) != BOOL:
        raise NoOperator("'select_n' of more than two cases")
    no, yes = cases
    if _kind(equation.outvars[0]) != BOOL:
        return graph.add("Where", which, yes, no)
    return graph.add("Or", graph.add("And", which, yes), graph.add("And", graph.add("Not", which), no))


def _convert(graph: Graph, equation: Any, name: str) -> str:
    before, after = _kind(equation.invars[0]), _kind(equation.outvars[0])
    return name if before == after else graph.add("Cast", name, to=after)


def _log1p(x: jax.Array, **_: Any) -> jax.Array:
    """log(1 + x) without the loss of small x: what 1 + x rounds away is a factor (Kahan)."""
    total = 1.0 + x
    change = total - 1.0
    exact = change == x  # also for an infinite x
    scale = jnp.where(exact, 1.0, x / jnp.where(change == 0, 1.0, change))
    return jnp.where(change == 0, x, jnp.log(total) * scale)


def _expm1(x: jax.Array, **_: Any) -> jax.Array:
    """exp(x) - 1 without the loss of small x."""
    half = jnp.tanh(0.5 * x)
    return jnp.where(jnp.abs(x) < 1.0, 2.0 * half / (1.0 - half), jnp.exp(x) - 1.0)


# axes and parts


def _broadcast(graph: Graph, equation: Any, name: str, *_: str) -> str:
    axes, shape = equation.params["broadcast_dimensions"], _shape(equation.outvars[0])
    before = dict(zip(axes, _shape(equation.invars[0]), strict=True))
    new = [axis for axis in range(len(shape)) if axis not in before]
    name = graph.add("Unsqueeze", name, graph.integers(*new)) if new else name
    return name if all(before.get(axis, 1) == size for axis, size in enumerate(shape)) else graph.expand(name, shape)


def _slice(graph: Graph, equation: Any, name: str) -> str:
    params, axes = equation.params, range(len(_shape(equation.outvars[0])))
    steps = params["strides"] or [1] * len(axes)
    return graph.add("Slice", name, *map(graph.shape, (params["start_indices"], params["limit_indices"], axes, steps)))


def _pad(graph: Graph, equation: Any, name: str, fill: str) -> str:
    before, after, between = zip(*equation.params["padding_config"], strict=True)
    if any(between):
        raise NoOperator("'pad' between cells")
    return graph.add("Pad", name, graph.integers(*before, *after), fill)


def _iota(*, dtype: Any, shape: Any, dimension: int, **_: Any) -> jax.Array:
    places = jnp.cumsum(jnp.ones(shape[dimension], dtype)) - 1
    return lax.broadcast_in_dim(places.astype(dtype), shape, [dimension])


_read = Primitive("read")
_read.def_abstract_eval(lambda x, places, axis: x.update(shape=(*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])))


def _dynamic_slice(x: jax.Array, *starts: Any, slice_sizes: Any) -> jax.Array:
    for axis, (start, size) in enumerate(zip(starts, slice_sizes, strict=True)):
        if size != x.shape[axis]:
            first = jnp.clip(start, 0, jnp.asarray(x.shape[axis]) - size)
            x = _read.bind(x, first + jnp.arange(size), axis=axis)
    return x


def _dynamic_update_slice(x: jax.Array, part: jax.Array, *starts: Any) -> jax.Array:
    here: Any = True
    for axis, start in enumerate(starts):
        if part.shape[axis] != x.shape[axis]:
            if part.shape[axis] != 1:
                raise NoOperator("'dynamic_update_slice' of several places of an axis")
            first = jnp.clip(start, 0, jnp.asarray(x.shape[axis]) - 1)
            here = here & (lax.broadcasted_iota(int, x.shape, axis) == first)
    return jnp.where(here, part, x)


def _gather(
    x: jax.Array, places: Any, *, dimension_numbers: Any, slice_sizes: Any, fill_value: Any, **_: Any
) -> jax.Array:
    """Reads from computed places of some axes, which become one; the other axes are read as a whole."""
    numbers, num_batch = dimension_numbers, places.ndim - 1
    starts = {axis: jnp.zeros(places.shape[:-1], int) for axis in range(x.ndim) if slice_sizes[axis] != x.shape[axis]}
    starts |= {axis: places[..., column] for column, axis in enumerate(numbers.start_index_map)}
    paired = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    starts |= {axis: lax.broadcasted_iota(int, places.shape[:-1], of_places) for axis, of_places in paired}
    dropped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    target = dict(zip((axis for axis in range(x.ndim) if axis not in dropped), numbers.offset_dims, strict=True))
    read, whole = sorted(starts), [axis for axis in range(x.ndim) if axis not in starts]
    kept = [axis for axis in read if axis in target]

    place: Any = 0
    inside: Any = True
    for axis in read:
        last = jnp.asarray(x.shape[axis]) - slice_sizes[axis]
        inside = inside & (starts[axis] >= 0) & (starts[axis] <= last)
        at = jnp.expand_dims(jnp.clip(starts[axis], 0, last), range(num_batch, num_batch + len(kept)))
        if axis in target:
            at = at + lax.broadcasted_iota(int, [slice_sizes[one] for one in kept], kept.index(axis))
        place = place * x.shape[axis] + at
    x = jnp.moveaxis(x, read, range(len(read)))
    found = _read.bind(x.reshape(-1, *x.shape[len(read) :]), place, axis=0)
    if fill_value is not None:  # of places beyond the array
        found = jnp.where(jnp.expand_dims(inside, range(num_batch, found.ndim)), found, fill_value)
    return jnp.moveaxis(found, range(num_batch, found.ndim), [target[axis] for axis in (*kept, *whole)])


def _scatter(combine: Callable[..., jax.Array], neutral: float) -> Callable[..., jax.Array]:
    """Updates combined into an array, at each place along one axis those that belong there."""

    def formula(x: jax.Array, places: Any, updates: jax.Array, *, dimension_numbers: Any, **_: Any) -> jax.Array:
        numbers, axes = dimension_numbers, dimension_numbers.scatter_dims_to_operand_dims
        if len(axes) > 1 or numbers.inserted_window_dims != axes or numbers.operand_batching_dims:
            raise NoOperator("'scatter' at places of several axes")
        batch = [axis for axis in range(updates.ndim) if axis not in numbers.update_window_dims]
        x, updates = jnp.moveaxis(x, axes[0], 0), jnp.moveaxis(updates, batch, range(len(batch)))
        here = jnp.expand_dims(jnp.arange(x.shape[0])[:, None] == places.reshape(1, -1), range(2, x.ndim + 1))
        chosen = jnp.where(here, updates.reshape(1, places.size, *x.shape[1:]), neutral)
        return jnp.moveaxis(combine(jnp.concatenate([x[:, None], chosen], axis=1), axis=1), 0, axes[0])

    return formula


# sums, products and factors


def _reduce(operator: str) -> Rule:
    return _whole(lambda g, e, x: g.add(operator, x, g.integers(*e.params["axes"]), keepdims=0, noop_with_empty_axes=1))


def _place(operator: str) -> Rule:
    return _whole(lambda g, e, x: g.add(operator, g.add("Cast", x, to=DOUBLE), axis=e.params["axes"][0], keepdims=0))


def _cumsum(graph: Graph, equation: Any, name: str) -> str:
    axis, reverse = equation.params["axis"], equation.params["reverse"]
    return graph.add("CumSum", name, graph.constant(axis), reverse=int(reverse))


def _dot_general(graph: Graph, equation: Any, left: str, right: str) -> str:
    (of_left, of_right), (left_batch, right_batch) = equation.params["dimension_numbers"]
    ranks = [len(_shape(variable)) for variable in equation.invars]
    letters = [chr(ord("a") + place) for place in range(sum(ranks))]
    first, second = letters[: ranks[0]], letters[ranks[0] :]
    for one, other in zip([*of_left, *left_batch], [*of_right, *right_batch], strict=True):
        second[other] = first[one]
    free = [x for axis, x in enumerate(first) if axis not in (*of_left, *left_batch)]
    free += [x for axis, x in enumerate(second) if axis not in (*of_right, *right_batch)]
    out = [*(first[axis] for axis in left_batch), *free]
    return graph.add("Einsum", left, right, equation=f"{''.join(first)},{''.join(second)}->{''.join(out)}")


def _cholesky(a: jax.Array, **_: Any) -> jax.Array:
    """The lower factor of matrices [..., D, D], column by column."""
    places = jnp.arange(a.shape[-1])

    def add(j: Any, factor: jax.Array) -> jax.Array:
        column = _at(a, j, -1)[..., 0] - (factor * _at(factor, j, -2)).sum(axis=-1)
        column = jnp.where(places >= j, column / jnp.sqrt(_at(column, j, -1)), 0.0)
        return jnp.where(places == j, column[..., None], factor)

    return lax.fori_loop(0, a.shape[-1], add, jnp.zeros_like(a))


def _triangular_solve(
    a: jax.Array, b: jax.Array, *, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> jax.Array:
    """x with a x = b, or x a = b, by substitution, row by row."""
    if transpose_a:
        a, lower = a.mT, not lower
    if not left_side:
        a, b, lower = a.mT, b.mT, not lower
    last = a.shape[-1] - 1
    places = jnp.arange(last + 1)[:, None]

    def add(step: Any, x: jax.Array) -> jax.Array:
        i = step if lower else last - step
        row = _at(a, i, -2)
        found = _at(b, i, -2) - row @ x
        return jnp.where(places == i, found if unit_diagonal else found / _at(row, i, -1), x)

    x = lax.fori_loop(0, last + 1, add, jnp.zeros_like(b))
    return x if left_side else x.mT


def _inverse(a: jax.Array) -> jax.Array:
    return lax.linalg.triangular_solve(a, jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape), lower=True)


def _at(x: jax.Array, place: Any, axis: int) -> jax.Array:
    """The part of size 1 at a computed place along an axis."""
    return lax.dynamic_slice_in_dim(x, place, 1, axis)


# branches and loops


def _cond(graph: Graph, equation: Any, which: Value, *arguments: Value) -> list[Value]:
    branches = equation.params["branches"]
    if not isinstance(which, str):
        return graph.run(branches[min(max(int(which), 0), len(branches) - 1)], arguments)
    if len(branches) != 2:
        raise NoOperator("'cond' of more than two branches")
    condition, bodies = graph.add("Cast", which, to=BOOL), [graph.body(0), graph.body(1)]
    no, yes = (
        body.to_proto([], _outputs(body, body.run(branch, arguments), equation.outvars))
        for body, branch in zip(bodies, branches, strict=True)
    )
    return [*graph.add_several(len(equation.outvars), "If", condition, then_branch=yes, else_branch=no)]


def _scan(graph: Graph, equation: Any, *values: Value) -> list[Value]:
    """A loop over the first axis of some arguments; results that are not its state are stacked."""
    step, outer, results = equation.params["jaxpr"], equation.invars, equation.outvars
    if equation.params["reverse"]:
        raise NoOperator("'scan' in reverse")
    # newer JAX does not say how many arguments are constant
    last = _count_whole(step.jaxpr.invars, outer)
    first = last - _count_whole(step.jaxpr.outvars, results)
    start, stacked = [*map(graph.name, values[first:last])], [*map(graph.name, values[last:])]
    rounds = graph.add("Squeeze", graph.size(equation.params["length"]))

    body = graph.body()
    place, proceed, *state = (f"{body.prefix}{name}" for name in ("place", "proceed", *range(first, last)))
    parts = [body.add("Gather", whole, place, axis=0) for whole in stacked]
    found = body.run(step, [*values[:first], *state, *parts])
    number, flag = jax.ShapeDtypeStruct((), np.int64), jax.ShapeDtypeStruct((), bool)
    inputs = [describe(place, number), describe(proceed, flag)]
    inputs += [describe(name, one.aval) for name, one in zip(state, outer[first:last], strict=True)]
    outputs = [body.output(proceed, flag, f"{proceed}ed"), *_outputs(body, found, step.jaxpr.outvars)]
    whole = body.to_proto(inputs, outputs)
    return [*graph.add_several(len(results), "Loop", rounds, "", *start, body=whole)]


def _count_whole(inside: Any, outside: Any) -> int:
    """How many arguments or results of a loop are not stacked: those that are lack an axis inside."""
    return sum(len(_shape(one)) == len(_shape(other)) for one, other in zip(inside, outside, strict=True))


def _outputs(body: Graph, values: list[Value], variables: Any) -> list[Any]:
    pairs = enumerate(zip(values, variables, strict=True))
    return [body.output(value, one.aval, f"{body.prefix}out{place}") for place, (value, one) in pairs]


def _write_out(graph: Graph, equation: Any, *values: Value) -> list[Value]:
    """Newer JAX's ``searchsorted``, which says what it consists of."""
    whole = equation.params["_prim"]
    return graph.trace(lambda *x: whole.expand(*jax.tree.unflatten(whole.in_tree, x)), equation, values)


OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "max": "Max", "min": "Min",
    "pow": "Pow", "sign": "Sign", "abs": "Abs", "floor": "Floor", "ceil": "Ceil", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "tanh": "Tanh", "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater",
    "ge": "GreaterOrEqual",
}  # fmt: skip
"""Operators that mean what the primitive does."""

FORMULAS: dict[str, Callable[..., Any]] = {
    "ne": lambda a, b: ~(a == b),
    "square": lambda x: x * x,
    "integer_pow": lambda x, y: jnp.power(x, float(y)).astype(x.dtype),
    "exp2": lambda x, **_: jnp.power(2.0, x),
    "rsqrt": lambda x, **_: 1.0 / jnp.sqrt(x),
    "logistic": lambda x, **_: 1.0 / (1.0 + jnp.exp(-x)),
    "log1p": _log1p,
    "expm1": _expm1,
    "lgamma": stirling_log_gamma,
    "is_finite": lambda x: jnp.abs(x) < jnp.inf,
    "lt_to": lambda a, b: (a < b) | ((a == a) & (b != b)),  # NaN is the largest number
    "clamp": lambda low, x, high: jnp.minimum(jnp.maximum(x, low), high),
    "reduce_and": lambda x, axes, **_: x.astype(int).min(axes) > 0,
    "reduce_or": lambda x, axes, **_: x.astype(int).max(axes) > 0,
    "stack": lambda *parts, axis: lax.concatenate([jnp.expand_dims(part, axis) for part in parts], axis),
    "unstack": lambda x, axis: [lax.index_in_dim(x, place, axis, False) for place in range(x.shape[axis])],
    "split": lambda x, sizes, axis: [
        lax.slice_in_dim(x, end - size, end, axis=axis) for size, end in zip(sizes, accumulate(sizes), strict=True)
    ],
    "iota": _iota,
    "gather": _gather,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "scatter-add": _scatter(jnp.sum, 0),
    "scatter_add": _scatter(jnp.sum, 0),
    "scatter-min": _scatter(jnp.min, jnp.inf),
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
    "factors": lambda a: (jnp.linalg.cholesky(a), _inverse(jnp.linalg.cholesky(a))),
}
"""JAX functions of the primitive's arguments and parameters."""

RULES: dict[str, Rule] = {
    **{name: _plain(operator) for name, operator in OPERATORS.items()},
    **{name: _formula(function) for name, function in FORMULAS.items()},
    **{name: _logical(name.capitalize()) for name in ("and", "or", "xor", "not")},
    **{f"reduce_{name}": _reduce(f"Reduce{name.capitalize()}") for name in ("sum", "prod", "max", "min")},
    **{name: lambda _, __, value, *___: value for name in ("copy", "copy_p", "stop_gradient", "checked")},
    "rem": _plain("Mod", fmod=1),
    "select_n": _each(_select),
    "convert_element_type": _each(_convert),
    "broadcast_in_dim": _whole(_broadcast),
    "reshape": _whole(lambda g, e, x, *_: g.add("Reshape", x, g.shape(_shape(e.outvars[0])), allowzero=1)),
    "transpose": _whole(lambda g, e, x: g.add("Transpose", x, perm=e.params["permutation"])),
    "squeeze": _whole(lambda g, e, x: g.add("Squeeze", x, g.integers(*e.params["dimensions"]))),
    "concatenate": _whole(lambda g, e, *parts: g.add("Concat", *parts, axis=e.params["dimension"])),
    "slice": _whole(_slice),
    "pad": _whole(_pad),
    "read": _whole(lambda g, e, x, places: g.add("Gather", x, places, axis=e.params["axis"])),
    "dim_as_value": _whole(lambda g, e: g.add("Squeeze", g.size(e.params["dim"]))),
    "argmax": _place("ArgMax"),
    "argmin": _place("ArgMin"),
    "cumsum": _whole(_cumsum),
    "dot_general": _whole(_dot_general),
    "cond": _cond,
    "scan": _scan,
    "call_hi_primitive": _write_out,
}
"""The rules by the primitive's name."""
