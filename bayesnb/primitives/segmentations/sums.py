"""The sum of the weights of all segmentations, and the log of each segment's share in it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.host_bodies import Shape, with_host_body
from bayesnb.arrays.placement import Array
from bayesnb.primitives.segmentations.nodes import NEVER, boundaries_before, log_of, nodes


def _on_host(log_weight: Array, real: Array) -> tuple[Array, Array]:
    num_cells = log_weight.shape[-1]
    tables = np.ascontiguousarray(log_weight, np.float64).reshape(-1, num_cells, num_cells)
    cuts = np.ascontiguousarray(real, np.float64).reshape(len(tables), num_cells - 1)
    log_sum, log_shares = np.empty(len(tables)), np.full(tables.shape, NEVER)
    _add_up(tables, cuts, *nodes(num_cells), log_sum, log_shares)
    return log_sum.reshape(log_weight.shape[:-2]), log_shares.reshape(log_weight.shape)


def _shapes(log_weight: Shape, _: Shape) -> tuple[Shape, Shape]:
    return log_weight[:-2], log_weight


@with_host_body(_on_host, _shapes)
def sum_segmentations(log_weight: Array, real: Array) -> tuple[Array, Array]:
    """log of the sum over segmentations of prior times weights [...], and of each segment's probability [..., G, G].

    ``log_weight`` [..., G, G] are those of the segments from cell i to cell j >= i; ``real`` [..., G - 1] is 1 for a
    boundary that may be cut, else 0. Entries with i > j are ignored. The log of the probability of what is no segment
    is ``NEVER``; of the others it is right however small it is.
    """
    size, front = log_weight.shape[-1], log_weight.shape[:-2]
    flat = log_weight.reshape(-1, size, size), real.reshape(int(np.prod(front)), size - 1)
    log_sum, log_shares = jax.vmap(_of_table)(*flat)
    return log_sum.reshape(front), log_shares.reshape(log_weight.shape)


def _of_table(log_weight: Array, real: Array) -> tuple[Array, Array]:
    """The same for one table; in logs, by node."""
    size, before, kind = log_weight.shape[0], boundaries_before(real), log_weight.dtype
    p, weights = (jnp.asarray(x, kind) for x in nodes(size))
    inside = jnp.maximum(before[None, :] - before[:, None], 0)
    ends = jnp.append(log_of(real), 0.0).astype(kind)
    starts = jnp.append(0.0, log_of(real)).astype(kind)
    upper = jnp.where(jnp.triu(jnp.ones((size, size), bool)), log_weight, NEVER) + starts[:, None]

    def best_before(best: Array, j: Array) -> tuple[Array, None]:
        return best.at[j + 1].set((best[:-1] + upper[:, j]).max()), None

    # relative to the best segmentation the weights keep their digits, however large they are
    best, _ = jax.lax.scan(best_before, jnp.full(size + 1, NEVER, kind).at[0].set(0.0), jnp.arange(size))
    upper = (upper + best[:-1, None]) - best[None, 1:]

    # a segment costs 1 - p for each boundary that it crosses, and p for the cut after it, if it is not the last
    def at_node(node: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        log_p, log_rest, log_w = node
        cut = ends + jnp.where(jnp.arange(size) < size - 1, log_p, 0.0)
        table = upper + inside * log_rest + cut[None, :]

        def forward(sums: Array, j: Array) -> tuple[Array, None]:
            return sums.at[j + 1].set(jax.nn.logsumexp(sums[:-1] + table[:, j])), None

        def backward(sums: Array, i: Array) -> tuple[Array, None]:
            return sums.at[i].set(jax.nn.logsumexp(table[i] + sums[1:])), None

        start = jnp.full(size + 1, NEVER, kind)
        before_, _ = jax.lax.scan(forward, start.at[0].set(0.0), jnp.arange(size))
        after, _ = jax.lax.scan(backward, start.at[size].set(0.0), jnp.arange(size), reverse=True)
        return before_[size] + log_w, before_[:-1, None] + table + after[None, 1:] + log_w

    of_nodes = jnp.log(p), jnp.log1p(-p), jnp.log(weights)
    log_sum = jax.nn.logsumexp(jax.lax.map(lambda node: at_node(node)[0], of_nodes))

    def add(total: Array, node: tuple[Array, Array, Array]) -> tuple[Array, None]:
        return jnp.logaddexp(total, at_node(node)[1] - log_sum), None

    log_shares = jax.lax.scan(add, jnp.full_like(upper, NEVER), of_nodes)[0]
    return best[size] + log_sum, jnp.maximum(log_shares, NEVER)


@compiled
def _add_up(log_weight: Array, real: Array, p: Array, weights: Array, log_sum: Array, log_shares: Array) -> None:
    """The same by numba: sums up to a cell are relative to the best path there, and sums from it to the best one on.

    With path weights at most 1 nothing overflows; what underflows is nothing beside the best path, whose prior is at
    least 1e-80 for 256 cells.
    """
    size, num_nodes = log_weight.shape[1], p.shape[0]
    powers = np.ones((size, num_nodes))
    # node by node: operations of whole arrays take numba a second to compile
    for m in range(1, size):
        for n in range(num_nodes):
            powers[m, n] = powers[m - 1, n] * (1.0 - p[n])
    best, rest, before = np.empty(size + 1), np.empty(size + 1), np.zeros(size, np.int64)
    logs = np.empty((size, size))
    allowed = np.ones(size + 1, np.bool_)  # a segment may start at this cell
    for b in range(log_weight.shape[0]):
        for j in range(1, size):
            allowed[j] = real[b, j - 1] > 0
            before[j] = before[j - 1] + allowed[j]
        forward, backward = np.zeros((size + 1, num_nodes)), np.zeros((size + 1, num_nodes))
        forward[0], backward[size] = 1.0, 1.0
        best[0], rest[size] = 0.0, 0.0
        for j in range(size):
            if not allowed[j + 1]:
                continue
            best[j + 1] = -np.inf
            for i in range(j + 1):
                if allowed[i]:
                    best[j + 1] = max(best[j + 1], best[i] + log_weight[b, i, j])
            for i in range(j + 1):
                if allowed[i]:
                    logs[i, j] = best[i] + log_weight[b, i, j] - best[j + 1]
                    weight = np.exp(logs[i, j])
                    if weight > 0.0:
                        for n in range(num_nodes):
                            forward[j + 1, n] += forward[i, n] * weight * powers[before[j] - before[i], n]
            for n in range(num_nodes if j < size - 1 else 0):
                forward[j + 1, n] *= p[n]
        for i in range(size - 1, -1, -1):
            if not allowed[i]:
                continue
            rest[i] = -np.inf
            for j in range(i, size):
                if allowed[j + 1]:
                    rest[i] = max(rest[i], logs[i, j] + rest[j + 1])
            for j in range(i, size):
                if allowed[j + 1]:
                    weight = np.exp(logs[i, j] + rest[j + 1] - rest[i])
                    if weight > 0.0:
                        for n in range(num_nodes):
                            backward[i, n] += weight * powers[before[j] - before[i], n] * backward[j + 1, n]
            for n in range(num_nodes if i > 0 else 0):
                backward[i, n] *= p[n]
        total = 0.0
        for n in range(num_nodes):
            total += weights[n] * forward[size, n]
        for i in range(size + 1):
            for n in range(num_nodes):
                backward[i, n] *= weights[n]
        log_sum[b] = best[size] + np.log(total)
        for i in range(size):
            for j in range(i, size):
                if allowed[i] and allowed[j + 1]:
                    share = 0.0
                    for n in range(num_nodes):
                        share += forward[i, n] * powers[before[j] - before[i], n] * backward[j + 1, n]
                    log_shares[b, i, j] = logs[i, j] + rest[j + 1] + np.log(share / total)
