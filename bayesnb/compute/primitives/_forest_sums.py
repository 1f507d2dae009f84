"""Sums over all rooted forests, log Z = log sum_F prod_{(i, j) in F} w_ij: nodes have at most one parent, no circles.

Z is the determinant of diag(1 + sum_i w_ij) - w, by the matrix-tree theorem of directed graphs: Tutte, The dissection
of equilateral triangles into equilateral triangles (1948). Nodes are eliminated one after the other without a
subtraction, as by Grassmann, Taksar and Heyman, Regenerative analysis and steady state distributions for Markov chains
(1985). With g_j, at first 1, for j as a root, the elimination of node d is

    s_d = g_d + sum_i w_id,    w_ij += w_id w_dj / s_d,    g_j += g_d w_dj / s_d,    log Z = sum_d log s_d

so every digit is right. On the host it is done by compiled loops, in logarithms where weights would overflow; by JAX
always in logarithms. Predictions of 1,000 rows of 100 columns, which add up some 2,000 tables of 100 nodes, are to take
600 ms; of 400 tables with large weights the loop takes .76 s, and JAX 5.7.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._loops import compiled
from bayesnb.compute.arrays._placement import Array, on_host, varying_as
from bayesnb.compute.numerics._stable import NEVER


def log_forest_sum(log_weights: Array) -> Array:
    """log Z [...] of the log weights [..., D, D] of edges from parents, on the first of the two axes, to children.

    The diagonal is not read.
    """
    if not on_host(log_weights):
        return _eliminate(log_weights)
    size, count = log_weights.shape[-1], math.prod(log_weights.shape[:-2])
    tables = np.asarray(log_weights, np.float64).reshape(count, size, size)
    far = tables.max(axis=(1, 2), initial=0.0) > 650.0  # sums of 256 exponentials would overflow near 704
    if not far.any():
        return _of_weights(tables).reshape(log_weights.shape[:-2])
    out = np.empty(count)
    out[~far] = _of_weights(tables[~far])
    out[far] = _eliminate_logs(np.concatenate([tables[far], np.zeros((far.sum(), 1, size))], axis=1))
    return out.reshape(log_weights.shape[:-2])


def edge_probabilities(log_weights: Array) -> Array:
    """w_ij dlog Z / dw_ij, the share of Z of the forests with the edge from i to j, [D, D]."""
    return compute(_edge_probabilities, log_weights)


def _of_weights(tables: Array) -> Array:
    """log Z of log weights [N, D, D], none of them large."""
    count, size, _ = tables.shape
    weights = np.empty((count, size + 1, size))
    with np.errstate(under="ignore"):
        np.exp(tables, out=weights[:, :size])
    weights[:, size] = 1.0
    return _eliminate_weights(weights)


@compiled
def _eliminate_weights(weights: Array) -> Array:
    """log Z of weights [N, D + 1, D], the roots' last; the weights are overwritten."""
    out = np.zeros(weights.shape[0])
    size = weights.shape[2]
    for n in range(weights.shape[0]):
        w = weights[n]
        for d in range(size):
            total = 0.0
            for i in range(d + 1, size + 1):
                total += w[i, d]
            out[n] += math.log(total)
            for i in range(d + 1, size + 1):
                share = w[i, d] / total
                for j in range(d + 1, size):
                    w[i, j] += share * w[d, j]
    return out


@compiled
def _eliminate_logs(logs: Array) -> Array:
    """log Z of log weights [N, D + 1, D], the roots' last; they are overwritten."""
    out = np.zeros(logs.shape[0])
    size = logs.shape[2]
    for n in range(logs.shape[0]):
        w = logs[n]
        for d in range(size):
            largest, total = w[size, d], 0.0
            for i in range(d + 1, size):
                largest = max(largest, w[i, d])
            for i in range(d + 1, size + 1):
                total += math.exp(w[i, d] - largest)
            total = largest + math.log(total)
            out[n] += total
            for i in range(d + 1, size + 1):
                share = w[i, d] - total
                for j in range(d + 1, size):
                    high, low = w[i, j], share + w[d, j]
                    if low > high:
                        high, low = low, high
                    if high - low < 40.0:  # or the smaller one does not change the sum
                        high += math.log1p(math.exp(low - high))
                    w[i, j] = high
    return out


def _eliminate(log_weights: Array) -> Array:
    """The same by JAX, [..., D, D] to [...]: row D has the roots, and a node that has left is no longer a parent."""
    size = log_weights.shape[-1]
    roots = jnp.zeros_like(log_weights[..., :1, :])

    def leave(d: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rows, log_sum = state
        own = jax.lax.dynamic_index_in_dim(rows, d, axis=-2, keepdims=True)
        rows = jax.lax.dynamic_update_index_in_dim(rows, jnp.full_like(own, NEVER), d, axis=-2)
        column = jax.lax.dynamic_index_in_dim(rows, d, axis=-1, keepdims=True)
        total = jax.nn.logsumexp(column, axis=-2, keepdims=True)
        return jnp.logaddexp(rows, column - total + own), log_sum + total[..., 0, 0]

    nothing = varying_as(jnp.zeros_like(log_weights[..., 0, 0]), log_weights)
    return jax.lax.fori_loop(0, size, leave, (jnp.concatenate([log_weights, roots], axis=-2), nothing))[1]


_edge_probabilities = jax.jit(jax.grad(_eliminate))
