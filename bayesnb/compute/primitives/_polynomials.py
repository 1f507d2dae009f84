"""Tables at Chebyshev or other nodes: cells that are spread over the nodes of their bins, and looked up by them.

A cell at t of a bin has l_p(t) at node p, the Lagrange polynomial, the product of t - t_q over all others, scaled.
"""

from __future__ import annotations

import numpy as np

from bayesnb.compute.arrays._loops import compiled, part_of_loops
from bayesnb.compute.arrays._placement import Array


def scale_at(nodes: Array) -> Array:
    """What the product of t - t_q is multiplied by, for each node [P]: it is then 1 at the node."""
    return 1.0 / np.prod(nodes[:, None] - nodes + np.eye(len(nodes)), axis=1)


@part_of_loops
def _polynomials(t: float, nodes: Array, scale: Array, out: Array) -> None:
    product = 1.0
    for p in range(len(nodes)):
        out[p] = scale[p] * product
        product *= t - nodes[p]
    product = 1.0
    for p in range(len(nodes) - 1, -1, -1):
        out[p] *= product
        product *= t - nodes[p]


@compiled
def add_polynomials(
    first: Array, t: Array, size: int, nodes: Array, scale: Array, y: Array, weight: Array | None, table: Array
) -> None:
    """table_kj += sum of w_n l_p(t_nd) at j = d size + first_nd + p over the rows of class k; none where t is NaN."""
    shares = np.empty(len(nodes))
    for n in range(t.shape[0]):
        k = y[n]
        if 0 <= k < table.shape[0]:
            w = 1.0 if weight is None else weight[n]
            for d in range(t.shape[1]):
                if t[n, d] == t[n, d]:
                    _polynomials(t[n, d], nodes, scale, shares)
                    start = d * size + first[n, d]
                    for p in range(len(nodes)):
                        table[k, start + p] += w * shares[p]


@compiled
def look_up_polynomials(
    first: Array, t: Array, size: int, nodes: Array, scale: Array, table: Array, out: Array
) -> None:
    """out_nk += sum over d and p of l_p(t_nd) table_jk at j = d size + first_nd + p; none where t is NaN."""
    shares = np.empty(len(nodes))
    for n in range(t.shape[0]):
        for d in range(t.shape[1]):
            if t[n, d] == t[n, d]:
                _polynomials(t[n, d], nodes, scale, shares)
                start = d * size + first[n, d]
                for p in range(len(nodes)):
                    for k in range(out.shape[1]):
                        out[n, k] += shares[p] * table[start + p, k]
