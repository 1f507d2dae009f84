"""Functions of rows as graphs."""

import jax
import numpy as np

from bayesnb.tables.files.onnx._graph import Graph
from bayesnb.tables.files.onnx._operators import RULES

TABLE = np.arange(12.0).reshape(4, 3) ** 2


def traced(function, x):
    """The graph of a function of rows [N, D], and its result there."""
    (rows,) = jax.export.symbolic_shape("rows")
    graph, like = Graph(RULES, rows, "X", "v"), jax.ShapeDtypeStruct((rows, x.shape[1]), np.float64)
    with jax.enable_x64(True):
        closed = jax.make_jaxpr(function)(like)
        return graph, closed.out_avals[0], graph.run(closed, ["X"])
