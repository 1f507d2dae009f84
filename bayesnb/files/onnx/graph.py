"""A graph of ONNX operators as it is built: equal operations are one node, and what no output needs is left out.

It holds plain values, so that only ``to_bytes`` needs the package ``onnx``. Numbers are double, int64 or bool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

OPSETS = {"": 18, "ai.onnx.ml": 2}
"""The versions of the operators: those of ONNX 1.13, which onnxruntime 1.14 and later run."""

IR_VERSION = 8
"""The version of the file's own format, that of ONNX 1.13."""

DOUBLE, INT64, BOOL, STRING = 11, 7, 9, 8
"""ONNX's numbers of the types of elements."""


def element_type(dtype: Any) -> int:
    """The type of elements that stands for a dtype; all floats are double and all integers int64."""
    return {"b": BOOL, "f": DOUBLE, "i": INT64, "u": INT64}.get(np.dtype(dtype).kind, STRING)


class Tensor(NamedTuple):
    """The type and the shape of an input or an output; an axis that is no number is named."""

    kind: int
    shape: tuple[Any, ...]


class Node(NamedTuple):
    """One operator; an attribute may be a ``Graph``."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    domain: str


class Graph:
    """Nodes in order, each after those that it needs; a graph ``within`` another sees the values of that one."""

    def __init__(self, within: Graph | None = None) -> None:
        self.within = within
        self.root: Graph = self if within is None else within.root
        self.nodes: list[Node] = []
        self.inputs: dict[str, Tensor] = {}
        self.outputs: dict[str, Tensor] = {}
        self.constants: dict[str, Array] = {}  # of the root
        self._found: dict[Any, Any] = {}
        self._num_names = 0

    def add(self, operator: str, *inputs: str, num_outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        """The output of an operator, or all of them; an equal operation that is there already is used again."""
        plain = {key: value.signature({}) if isinstance(value, Graph) else value for key, value in attributes.items()}
        key = (operator, inputs, num_outputs, repr(sorted(plain.items())))
        found = self._look_up(key)
        if found is None:
            outputs = tuple(self.new_name() for _ in range(num_outputs))
            self.nodes.append(Node(operator, inputs, outputs, attributes, domain))
            found = self._found[key] = outputs[0] if num_outputs == 1 else outputs
        return found

    def constant(self, value: Any) -> str:
        """The name of a constant of numbers, booleans or text."""
        array = np.asarray(value)
        kind = {DOUBLE: np.float64, INT64: np.int64, BOOL: np.bool_, STRING: object}[element_type(array.dtype)]
        array = np.asarray(array, kind, order="C")
        content = repr(array.tolist()) if kind is object else array.tobytes()
        key = ("constant", array.dtype.str, array.shape, content)
        found = self.root._found.get(key)
        if found is None:
            found = self.root._found[key] = self.new_name()
            self.root.constants[found] = array
        return found

    def add_input(self, tensor: Tensor, name: str = "") -> str:
        """The name of a new input."""
        name = name or self.new_name()
        self.inputs[name] = tensor
        return name

    def add_output(self, value: str, tensor: Tensor, name: str = "") -> None:
        """Make a value an output; it gets a node of its own, since it may come from elsewhere."""
        name = name or self.new_name()
        self.nodes.append(Node("Identity", (value,), (name,), {}, ""))
        self.outputs[name] = tensor

    def new_name(self) -> str:
        """A name that is nowhere else; an input may be named like it."""
        root = self.root
        root._num_names += 1
        name = f".{root._num_names}"
        return self.new_name() if name in root.inputs else name

    def signature(self, places: dict[str, int]) -> str:
        """What the graph computes, the same for graphs that differ in their own names alone."""
        own = [*self.inputs, *(name for node in self.nodes for name in node.outputs)]
        places = places | {name: len(places) + place for place, name in enumerate(own)}
        nodes = []
        for node in self.nodes:
            attributes = {
                key: value.signature(places) if isinstance(value, Graph) else value
                for key, value in node.attributes.items()
            }
            nodes.append((node.operator, [places.get(name, name) for name in node.inputs], attributes))
        return repr((list(self.inputs.values()), nodes, [places[name] for name in self.outputs]))

    def find_needed(self) -> tuple[list[Node], set[str]]:
        """The nodes that the outputs need, in order, and the names that they read."""
        names, nodes = set(self.outputs), []
        for node in reversed(self.nodes):
            if not names.isdisjoint(node.outputs):
                nodes.append(node)
                names.update(node.inputs, *(graph.find_needed()[1] for graph in _graphs(node.attributes)))
        return nodes[::-1], names

    def _look_up(self, key: Any) -> Any:
        found = self._found.get(key)
        return found if found is not None or self.within is None else self.within._look_up(key)


def to_bytes(graph: Graph, description: str, metadata: Mapping[str, str]) -> bytes:
    """The content of an ONNX file.

    Raises:
        ImportError: without the package ``onnx``.
        ValueError: if it is larger than the 2 GB that a file can hold.
    """
    from onnx import checker, helper

    model = helper.make_model(
        _proto(graph, "predictions"),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in OPSETS.items()],
        ir_version=IR_VERSION,
        producer_name="bayesnb",
        doc_string=description,
    )
    helper.set_model_props(model, dict(metadata))
    content: bytes = model.SerializeToString()
    checker.check_model(content, full_check=True)
    return content


def _proto(graph: Graph, name: str) -> Any:
    from onnx import helper, numpy_helper

    def described(tensors: dict[str, Tensor]) -> list[Any]:
        return [helper.make_tensor_value_info(name, tensor.kind, tensor.shape) for name, tensor in tensors.items()]

    def attribute(value: Any) -> Any:
        return _proto(value, "body") if isinstance(value, Graph) else value

    nodes, names = graph.find_needed()
    made = []
    for node in nodes:
        attributes = {key: attribute(value) for key, value in node.attributes.items()}
        made.append(helper.make_node(node.operator, node.inputs, node.outputs, domain=node.domain, **attributes))
    constants = [numpy_helper.from_array(value, key) for key, value in graph.constants.items() if key in names]
    return helper.make_graph(made, name, described(graph.inputs), described(graph.outputs), constants)


def _graphs(attributes: dict[str, Any]) -> Iterator[Graph]:
    return (value for value in attributes.values() if isinstance(value, Graph))
