"""Nodes of a graph: equal ones are one, unused ones are none, and known values are computed at the export."""

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.tables.files.onnx._graph import describe
from tests.tables.files.onnx.traces import TABLE, traced


def test_equal_operations_are_one_node_and_what_nothing_needs_is_none():
    graph, _, _ = traced(lambda x: x, TABLE)

    def branch(operator):
        bodies = graph.body(0), graph.body(1)
        outputs = [describe(body.add(operator, body.add("Add", "X", "X")), TABLE) for body in bodies]
        no, yes = (body.to_proto([], [output]) for body, output in zip(bodies, outputs, strict=True))
        return graph.add("If", "condition", then_branch=yes, else_branch=no)

    assert graph.add("Exp", "X") == graph.add("Exp", "X") != graph.add("Log", "X")
    assert graph.constant(np.float64(1)) == graph.constant(1.0) != graph.constant(np.int64(1))
    first = branch("Exp")
    graph.add("Add", "X", "X")  # which no body uses instead of its own
    assert first == branch("Exp") != branch("Log")
    proto = graph.to_proto([], [describe(first, TABLE)])
    assert [node.op_type for node in proto.node] == ["If"]
    assert not proto.initializer


def test_known_values_are_computed_at_the_export():
    def function(x):
        return x + jax.scipy.special.gammaln(jnp.asarray(TABLE) + 1.0)[:1] + jnp.log(jnp.arange(1.0, 4.0))[None]

    graph, _, _ = traced(function, TABLE)
    assert {node.op_type for node in graph.nodes} == {"Add"}
