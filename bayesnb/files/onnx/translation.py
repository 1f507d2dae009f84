"""JAX's trace of a function of rows as ONNX operators, primitive by primitive, for any number of rows.

What does not depend on the rows is computed here, by numpy. An axis that a value only repeats is kept at size 1, and
ONNX's operators broadcast it. It knows JAX's primitives, and must not know what they are used for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import jax
import numpy as np
from jax.export import is_symbolic_dim
from jax.extend.core import Literal

from bayesnb.arrays.placement import allow_promotion
from bayesnb.files.onnx.graph import BOOL, INT64, Array, Graph, Tensor, element_type
from bayesnb.jaxpr_numpy import CALLS, function_of
from bayesnb.jaxpr_numpy import RULES as NUMPY_RULES

Shape = tuple[Any, ...]


class NoOperator(ValueError):
    """An operation of JAX that ONNX has no form of here."""


class Value(NamedTuple):
    """A value of the trace: the output ``name`` of a node, or the ``array`` of what is known already.

    ``shape`` is what it has in the graph, where an axis of size 1 may stand for one of any size.
    """

    shape: Shape
    name: str = ""
    array: Array | None = None


Rule = Callable[..., Any]
"""The results of an equation, from the translation, the equation and its arguments in full size."""


class Translation:
    """The translation into a graph, or into the body of a loop or a branch.

    Args:
        graph: The graph that gets the nodes.
        rows: JAX's symbolic number of rows.
        source: The name of an input whose first axis are the rows.
        rules: The rules of primitives by name: operators of numbers one by one, which broadcast; functions of numbers
            that are traced in turn; and all others.
    """

    def __init__(self, graph: Graph, rows: Any, source: str, rules: tuple[dict[str, Rule], ...]) -> None:
        self.graph, self.rows, self.source, self.rules = graph, rows, source, rules
        self.operators, self.functions, self.others = rules

    def within(self) -> Self:
        """The translation into a graph inside this one."""
        return type(self)(Graph(self.graph), self.rows, self.source, self.rules)

    def run(self, jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Value]) -> list[Value]:
        """The results of a jaxpr."""
        values = dict(zip(jaxpr.invars, arguments, strict=True))
        values |= {name: to_value(value) for name, value in zip(jaxpr.constvars, constants, strict=True)}

        def value_of(atom: Any) -> Value:
            literal: Any = atom if isinstance(atom, Literal) else None
            return values[atom] if literal is None else to_value(np.asarray(literal.val, literal.aval.dtype))

        for equation in jaxpr.eqns:
            found = self._equation(equation, [value_of(atom) for atom in equation.invars])
            values.update(zip(equation.outvars, found, strict=True))
        return [value_of(atom) for atom in jaxpr.outvars]

    # parts of rules

    def full(self, value: Value, shape: Shape) -> str:
        """The name of a value in this shape."""
        if value.array is not None and is_static(shape):
            return self.graph.constant(np.broadcast_to(value.array, shape))
        name = self.graph.constant(value.array) if value.array is not None else value.name
        return name if value.shape == shape else str(self.graph.add("Expand", name, self.shape(shape)))

    def shape(self, sizes: Shape) -> str:
        """The name of a shape, int64 [number of axes]."""
        if is_static(sizes):
            return self.graph.constant(np.array(sizes, np.int64))
        return str(self.graph.add("Concat", *map(self.size, sizes), axis=0))

    def size(self, size: Any) -> str:
        """The name of one size, int64 [1]: a number, or a N or N + b of N rows."""
        if not is_symbolic_dim(size):
            return self.graph.constant(np.array([size], np.int64))
        rows = self.graph.add("Shape", self.source, start=0, end=1)
        factor, rest = divmod(size, self.rows)  # of a N
        if is_symbolic_dim(factor) or is_symbolic_dim(rest):
            factor, rest = 1, size - self.rows  # of N + b
        if is_symbolic_dim(rest):
            raise NoOperator(f"a size of {size}")
        if factor != 1:
            rows = self.graph.add("Mul", rows, self.graph.constant(np.array([factor], np.int64)))
        return str(self.graph.add("Add", rows, self.graph.constant(np.array([rest], np.int64))) if rest else rows)

    def scalar(self, size: Any) -> str:
        """The name of one size, int64 []."""
        return str(self.graph.add("Squeeze", self.size(size)))

    def integers(self, *numbers: Any) -> str:
        """The name of known integers, int64 [number of them]."""
        return self.graph.constant(np.array(numbers, np.int64))

    def part(self, name: str, start: str, size: Any, whole: Any, axis: int) -> tuple[str, str, str]:
        """The part of an array from a computed place on, moved inside the array, and where it starts and ends."""
        graph = self.graph
        start = graph.add("Max", graph.add("Reshape", start, self.integers(1)), self.integers(0))
        start = graph.add("Min", start, self.size(whole - size))
        end = graph.add("Add", start, self.size(size))
        return graph.add("Slice", name, start, end, self.integers(axis)), start, end

    def finish(self, values: Sequence[Value], variables: Sequence[Any]) -> None:
        """Make these values the outputs of this graph, in their full shapes."""
        for value, variable in zip(values, variables, strict=True):
            self.graph.add_output(self.full(value, variable.aval.shape), tensor(variable.aval))

    # equations

    def _equation(self, equation: Any, arguments: list[Value]) -> list[Value]:
        name, avals = equation.primitive.name, [variable.aval for variable in equation.outvars]
        if name in CALLS:
            called = equation.params[CALLS[name]]
            return self.run(called.jaxpr, called.consts, arguments)
        if name == "call_hi_primitive":  # newer JAX's searchsorted, which says what it consists of
            whole = equation.params["_prim"]
            parts = jax.tree.unflatten(whole.in_tree, [variable.aval for variable in equation.invars])
            traced = jax.make_jaxpr(whole.expand)(*parts)
            return self.run(traced.jaxpr, traced.consts, arguments)
        simple = name in self.operators or name in self.functions
        arrays = [value.array for value in arguments if value.array is not None]
        static = name != "dim_as_value" and all(is_static(aval.shape) for aval in avals)
        if len(arrays) == len(arguments) and (simple or static):
            return _compute(equation, np.broadcast_arrays(*arrays) if simple else _in_full(equation, arrays))
        if name in self.operators:
            names = [value.name if value.array is None else self.graph.constant(value.array) for value in arguments]
            found = self.operators[name](self, equation, *names)
            return [Value(_together([value.shape for value in arguments]), found)]
        rule = self.functions.get(name) or self.others.get(name)
        if rule is None:
            raise NoOperator(f"JAX's operation {name!r}")
        found = rule(self, equation, *arguments)
        return list(found) if isinstance(found, list) else [found]


def to_value(value: Any) -> Value:
    """The value of an array."""
    array = np.asarray(value)
    return Value(array.shape, array=array)


def tensor(aval: Any) -> Tensor:
    """The type and shape of a traced array; the symbolic size is named as in JAX."""
    sizes = [str(size) if is_symbolic_dim(size) else int(size) for size in aval.shape]
    return Tensor(element_type(aval.dtype), tuple(sizes))


def is_static(shape: Shape) -> bool:
    """Whether no size depends on the number of rows."""
    return not any(is_symbolic_dim(size) for size in shape)


def on_full(rule: Rule) -> Rule:
    """A rule of names in full size from one value to one value."""

    def call(translation: Translation, equation: Any, *arguments: Value) -> Value:
        names = [translation.full(v, a.aval.shape) for v, a in zip(arguments, equation.invars, strict=True)]
        return Value(equation.outvars[0].aval.shape, rule(translation, equation, *names))

    return call


def traced(function: Callable[..., jax.Array]) -> Rule:
    """The rule of a primitive that this JAX function of its arguments and parameters stands for."""

    def call(translation: Translation, equation: Any, *arguments: Value) -> list[Value]:
        with allow_promotion():
            found = jax.make_jaxpr(partial(function, **equation.params))(*[v.aval for v in equation.invars])
        return translation.run(found.jaxpr, found.consts, arguments)

    return call


def _compute(equation: Any, arrays: Sequence[Array]) -> list[Value]:
    with np.errstate(all="ignore"):
        found = function_of(equation, NUMPY_RULES)(*arrays)
    return [to_value(value) for value in (found if len(equation.outvars) > 1 else [found])]


def _in_full(equation: Any, arrays: list[Array]) -> list[Array]:
    return [np.broadcast_to(x, v.aval.shape) for x, v in zip(arrays, equation.invars, strict=True)]


def _together(shapes: Sequence[Shape]) -> Shape:
    """The shape of arrays of these shapes broadcast; a single number has none."""
    longest = max(map(len, shapes))
    full = [(1,) * (longest - len(shape)) + shape for shape in shapes]
    return tuple(
        next((size for size in sizes if is_symbolic_dim(size) or size != 1), 1) for sizes in zip(*full, strict=True)
    )


# loops and branches


def _cond(translation: Translation, equation: Any, which: Value, *arguments: Value) -> list[Value]:
    branches, avals = equation.params["branches"], [variable.aval for variable in equation.outvars]
    if which.array is not None:
        taken = branches[min(max(int(which.array), 0), len(branches) - 1)]
        return translation.run(taken.jaxpr, taken.consts, arguments)
    if len(branches) != 2:
        raise NoOperator("a choice between more than two branches")
    bodies = []
    for branch in branches:
        body = translation.within()
        body.finish(body.run(branch.jaxpr, branch.consts, arguments), branch.jaxpr.outvars)
        bodies.append(body.graph)
    condition = translation.graph.add("Cast", which.name, to=BOOL)
    found = translation.graph.add("If", condition, num_outputs=len(avals), then_branch=bodies[1], else_branch=bodies[0])
    return _values([found] if len(avals) == 1 else found, avals)


def _scan(translation: Translation, equation: Any, *arguments: Value) -> list[Value]:
    """A loop over the first axis of some arguments; results without a place in the state are stacked."""
    params, avals = equation.params, [variable.aval for variable in equation.outvars]
    closed, length = params["jaxpr"], params["length"]
    # newer JAX does not say how many arguments are constant: those that are stacked lack an axis inside
    pairs = [*zip(closed.jaxpr.invars, equation.invars, strict=True)]
    stacked = zip(closed.jaxpr.outvars, equation.outvars, strict=True)
    num_carry = sum(one.aval.ndim == whole.aval.ndim for one, whole in stacked)
    num_consts = len(pairs) - num_carry - sum(one.aval.ndim < whole.aval.ndim for one, whole in pairs)
    state = slice(num_consts, num_consts + num_carry)
    graph, body = translation.graph, translation.within()
    step, proceed = body.graph.add_input(Tensor(INT64, ())), body.graph.add_input(Tensor(BOOL, ()))
    inside = [Value(v.aval.shape, body.graph.add_input(tensor(v.aval))) for v in closed.jaxpr.invars[state]]
    if params["reverse"]:
        last = graph.add("Sub", translation.scalar(length), graph.constant(np.int64(1)))
        step = body.graph.add("Sub", last, step)
    scanned = []
    for value, outer in zip(arguments[state.stop :], equation.invars[state.stop :], strict=True):
        whole = translation.full(value, outer.aval.shape)
        scanned.append(Value(outer.aval.shape[1:], body.graph.add("Gather", whole, step, axis=0)))
    results = body.run(closed.jaxpr, closed.consts, [*arguments[:num_consts], *inside, *scanned])
    body.graph.add_output(proceed, Tensor(BOOL, ()))
    body.finish(results, closed.jaxpr.outvars)
    start = [translation.full(v, o.aval.shape) for v, o in zip(arguments[state], equation.invars[state], strict=True)]
    found = graph.add("Loop", translation.scalar(length), "", *start, num_outputs=len(avals), body=body.graph)
    names = [found] if len(avals) == 1 else list(found)
    if params["reverse"]:
        names[num_carry:] = [reverse(translation, name, [0]) for name in names[num_carry:]]
    return _values(names, avals)


def reverse(translation: Translation, name: str, axes: Sequence[int]) -> str:
    """The name of an array in reverse order along axes."""
    ones = [-1] * len(axes)
    ends = [np.iinfo(np.int64).min] * len(axes)
    parts = (translation.integers(*numbers) for numbers in (ones, ends, axes, ones))
    return str(translation.graph.add("Slice", name, *parts))


RULES: dict[str, Rule] = {"cond": _cond, "scan": _scan}
"""The rules by the primitive's name."""


def _values(names: Sequence[str], avals: Sequence[Any]) -> list[Value]:
    return [Value(aval.shape, name) for name, aval in zip(names, avals, strict=True)]
