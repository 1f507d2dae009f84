"""JAX's trace of a function of rows as a graph of ONNX operators, for any number of rows.

What does not depend on the rows is computed here, by numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import jax
import numpy as np
from jax.export import is_symbolic_dim
from jax.extend.core import Literal
from onnx import TensorProto, helper, numpy_helper

from bayesnb.compute.arrays._placement import allow_promotion
from bayesnb.compute.jaxpr_numpy import CALLS, function_of
from bayesnb.compute.jaxpr_numpy import RULES as NUMPY_RULES

Array = np.ndarray[Any, Any]
Shape = tuple[Any, ...]

BOOL, DOUBLE, INT64, STRING = TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING


def element_type(dtype: Any) -> int:
    """ONNX's type of elements for a dtype: all floats are double and all integers int64."""
    return {"b": BOOL, "f": DOUBLE, "i": INT64, "u": INT64}.get(np.dtype(dtype).kind, STRING)


class NoOperator(ValueError):
    """What JAX computes and ONNX has no operator for."""

    def __init__(self, what: str) -> None:
        super().__init__(f"JAX's {what} has no ONNX operator; write predict_proba by jax.export")


Value = str | Array
"""A value of the trace: its name in the graph, or what is known already."""

Rule = Callable[..., Value | list[Value]]
"""The results of an equation, from the graph that gets its operators, the equation and the values of its arguments."""


class Graph:
    """Operators in order. An equal one is used again, and what no output needs is left out.

    Args:
        rules: How each of JAX's primitives becomes operators, by its name.
        rows: JAX's symbol for the number of rows.
        source: The name of an input that has so many rows.
        word: What the names of values begin with.
    """

    def __init__(self, rules: dict[str, Rule], rows: Any, source: str, word: str) -> None:
        self.rules, self.rows, self.source, self.word = rules, rows, source, word
        self.prefix = f"{word}."
        self.nodes: list[Any] = []
        self.constants: dict[bytes, Any] = {}
        self._known: dict[str, list[str]] = {}
        self._before: dict[str, str] = {}  # the names of what was expanded

    # operators

    def add(self, operator: str, *inputs: str, **options: Any) -> str:
        """The output of an operator."""
        return self.add_several(1, operator, *inputs, **options)[0]

    def add_several(self, num_outputs: int, operator: str, *inputs: str, **options: Any) -> list[str]:
        """The outputs of an operator; ``options`` are its attributes and its ``domain``."""
        node = helper.make_node(operator, inputs, [], **options)
        key = str(node).replace(self._inside, "")  # its bodies do not depend on its place
        if key not in self._known:
            self._known[key] = [f"{self.prefix}{len(self.nodes)}_{place}" for place in range(num_outputs)]
            node.output.extend(self._known[key])
            self.nodes.append(node)
        return self._known[key]

    @property
    def _inside(self) -> str:
        """What names in the bodies of the next operator begin with."""
        return f"{self.prefix}{len(self.nodes)}."

    def body(self, place: int = 0) -> Self:
        """The graph of a branch, or of a step of a loop, in the next operator; it sees the values of this one.

        It uses none of the operators here again, so that equal bodies are equal wherever they stand.
        """
        body = copy(self)
        body.prefix = f"{self._inside}{place}."
        body.nodes, body._known, body._before = [], {}, self._before.copy()
        return body

    def constant(self, value: Any) -> str:
        """The name of a constant of numbers, booleans or text."""
        array = np.asarray(value)
        kind = helper.tensor_dtype_to_np_dtype(element_type(array.dtype))
        tensor = numpy_helper.from_array(np.asarray(array, kind, order="C"))
        tensor = self.constants.setdefault(tensor.SerializeToString(), tensor)
        tensor.name = tensor.name or f"{self.word}c{len(self.constants)}"
        return str(tensor.name)

    def integers(self, *numbers: Any) -> str:
        """The name of known integers, int64 [number of them]."""
        return self.constant(np.array(numbers, np.int64))

    def to_proto(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """The graph in ONNX's format, from the descriptions of its inputs and outputs; a body has no constants."""
        needed, nodes = {one.name for one in outputs}, []
        for node in reversed(self.nodes):
            if not needed.isdisjoint(node.output):
                nodes.append(node)
                needed.update(_names_read([node]))
        constants = [one for one in self.constants.values() if one.name in needed and self.prefix == f"{self.word}."]
        return helper.make_graph(nodes[::-1], "predictions", inputs, outputs, constants)

    # values

    def name(self, value: Value) -> str:
        """The name of a value."""
        return value if isinstance(value, str) else self.constant(value)

    def expand(self, name: str, shape: Shape) -> str:
        """The name of an array of this shape, whose axes of size 1 are repeated."""
        expanded = self.add("Expand", name, self.shape(shape))
        self._before[expanded] = name
        return expanded

    def broadcast(self, equation: Any, values: Sequence[Value]) -> list[str]:
        """The names of arguments for an operator that repeats axes of size 1 itself: one in full size will do."""
        names, shape = [*map(self.name, values)], equation.outvars[0].aval.shape
        whole = [name for name, one in zip(names, equation.invars, strict=True) if one.aval.shape == shape]
        if not whole:
            return names
        full = next((name for name in whole if name not in self._before), whole[0])
        return [name if name == full else self._before.get(name, name) for name in names]

    def shape(self, sizes: Shape) -> str:
        """The name of a shape, int64 [number of axes]."""
        if is_static(sizes):
            return self.integers(*sizes)
        return self.add("Concat", *map(self.size, sizes), axis=0)

    def size(self, size: Any) -> str:
        """The name of one size, int64 [1]: a number, or a multiple of the number of rows."""
        if not is_symbolic_dim(size):
            return self.integers(size)
        factor, rest = divmod(size, self.rows)
        if is_symbolic_dim(factor) or is_symbolic_dim(rest) or rest:
            raise NoOperator(f"axis of size {size}")
        rows = self.add("Shape", self.source, start=0, end=1)
        return rows if factor == 1 else self.add("Mul", rows, self.integers(factor))

    def output(self, value: Value, aval: Any, name: str) -> Any:
        """Make a value an output under this name, and describe it."""
        self.nodes.append(helper.make_node("Identity", [self.name(value)], [name]))
        return describe(name, aval)

    # JAX's programs

    def run(self, closed: Any, arguments: Sequence[Value]) -> list[Value]:
        """The results of a closed jaxpr."""
        jaxpr = closed.jaxpr
        values: dict[Any, Value] = dict(zip(jaxpr.invars, arguments, strict=True))
        values |= zip(jaxpr.constvars, map(np.asarray, closed.consts), strict=True)

        def value_of(atom: Any) -> Value:
            literal: Any = atom if isinstance(atom, Literal) else None
            return values[atom] if literal is None else np.asarray(literal.val, literal.aval.dtype)

        for equation in jaxpr.eqns:
            found = self._translate(equation, [value_of(atom) for atom in equation.invars])
            values |= zip(equation.outvars, found if isinstance(found, list) else [found], strict=True)
        return [value_of(atom) for atom in jaxpr.outvars]

    def _translate(self, equation: Any, arguments: list[Value]) -> Value | list[Value]:
        name, results = equation.primitive.name, equation.outvars
        if name in CALLS:
            return self.run(equation.params[CALLS[name]], arguments)
        static = all(is_static(variable.aval.shape) for variable in results) and name != "dim_as_value"
        if static and not any(isinstance(value, str) for value in arguments):
            with np.errstate(all="ignore"):
                answer = function_of(equation, NUMPY_RULES)(*arguments)
            return [*map(np.asarray, answer if len(results) > 1 else [answer])]
        if name not in self.rules:
            raise NoOperator(f"{name!r}")
        return self.rules[name](self, equation, *arguments)

    def trace(self, function: Callable[..., Any], equation: Any, arguments: Sequence[Value]) -> list[Value]:
        """The results of a JAX function of the arguments of an equation; those that are known are arrays."""
        unknown = [place for place, value in enumerate(arguments) if isinstance(value, str)]

        def of_unknown(*given: Any) -> Any:
            return function(*(dict(enumerate(arguments)) | dict(zip(unknown, given, strict=True))).values())

        with allow_promotion():
            traced = jax.make_jaxpr(of_unknown)(*(equation.invars[place].aval for place in unknown))
        return self.run(traced, [arguments[place] for place in unknown])


def describe(name: str, aval: Any) -> Any:
    """An input or output in ONNX's format; an axis that is no number is named as in JAX."""
    sizes = [str(size) if is_symbolic_dim(size) else int(size) for size in aval.shape]
    return helper.make_tensor_value_info(name, element_type(aval.dtype), sizes)


def is_static(shape: Shape) -> bool:
    """Whether no size depends on the number of rows."""
    return not any(is_symbolic_dim(size) for size in shape)


def _names_read(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            yield from _names_read(attribute.g.node)
