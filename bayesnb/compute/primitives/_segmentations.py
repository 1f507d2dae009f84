"""Sums over all segmentations of G ordered bins, the best one, and exact draws, by dynamic programming.

A segmentation is a set of cuts between neighbouring bins, and its weight the product of its segments' weights. A
priori the number of cuts is uniform on 0..C, where C is the number of edges that may be cut, and so are their places
given the number: the mixture over p ~ Uniform(0, 1) of "each edge is a cut with probability p". The sum over
segmentations is a polynomial of degree C in p, so Gauss and Legendre's rule with C / 2 + 1 nodes integrates it exactly.
A draw takes p from its posterior, and then the cuts from the last to the first. The prior is that of Boulle, MODL: a
Bayes optimal discretization method (2006).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._loops import compiled, in_threads, row_blocks
from bayesnb.compute.arrays._own_primitives import Shape, remembered, with_host_body
from bayesnb.compute.arrays._placement import Array, varying_as
from bayesnb.compute.numerics._stable import NEVER


@cache
def nodes(num_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes p in (0, 1) and weights that integrate polynomials of degree G - 1 exactly, and log p and log (1 - p)."""
    points, weights = np.polynomial.legendre.leggauss((num_bins + 1) // 2)
    return 0.5 * (1.0 + points), 0.5 * weights


def edges_before(real: Array) -> Array:
    """The number of edges that may be cut before each bin, [..., G], from 1 where one may [..., G - 1]."""
    first = jnp.zeros((*real.shape[:-1], 1), real.dtype)
    return jnp.concatenate([first, jnp.cumsum(real, axis=-1)], axis=-1)


def log_of(real: Array) -> Array:
    """0 where an edge may be cut, [..., G - 1], and the log of zero elsewhere."""
    return jnp.where(real > 0, 0.0, NEVER)


def _on_host(log_weight: Array, real: Array) -> tuple[Array, Array]:
    size = log_weight.shape[-1]
    tables = np.asarray(log_weight, np.float64).reshape(-1, size, size)
    cuts = np.asarray(real, np.float64).reshape(len(tables), size - 1)
    log_sum, log_shares = np.empty(len(tables)), np.empty(tables.shape)

    def fill(part: slice) -> None:
        log_sum[part], log_shares[part] = _add_up(tables[part], cuts[part])

    in_threads(fill, row_blocks(len(tables), 8 * size * size, block_bytes=limits.IN_CACHE))
    return log_sum.reshape(log_weight.shape[:-2]), log_shares.reshape(log_weight.shape)


def _shapes(log_weight: Shape, _: Shape) -> tuple[Shape, Shape]:
    return log_weight[:-2], log_weight


@with_host_body(remembered(_on_host), _shapes)
def sum_segmentations(log_weight: Array, real: Array) -> tuple[Array, Array]:
    """log of the sum over segmentations of prior times weights [...], and of each segment's probability [..., G, G].

    ``log_weight`` [..., G, G] are those of the segments from bin i to bin j >= i; ``real`` [..., G - 1] is 1 for an
    edge that may be cut, else 0. Entries with i > j are ignored. The log of the probability of what is no segment
    is ``NEVER``; of the others it is right however small it is.
    """
    found: tuple[Array, Array] = jnp.vectorize(_of_table, signature="(g,g),(e)->(),(g,g)")(log_weight, real)
    return found


def _of_table(log_weight: Array, real: Array) -> tuple[Array, Array]:
    """The same for one table; in logs, by node."""
    size, before, kind = log_weight.shape[0], edges_before(real), log_weight.dtype
    p, weights = (jnp.asarray(x, kind) for x in nodes(size))
    inside = jnp.maximum(before[None, :] - before[:, None], 0)
    ends = jnp.append(log_of(real), 0.0).astype(kind)
    starts = jnp.append(0.0, log_of(real)).astype(kind)
    upper = jnp.where(jnp.triu(jnp.ones((size, size), bool)), log_weight, NEVER) + starts[:, None]

    def best_before(best: Array, j: Array) -> tuple[Array, None]:
        return best.at[j + 1].set((best[:-1] + upper[:, j]).max()), None

    # relative to the best segmentation the weights keep their digits, however large they are
    nothing = varying_as(jnp.full(size + 1, NEVER, kind), upper)
    best, _ = jax.lax.scan(best_before, nothing.at[0].set(0.0), jnp.arange(size))
    upper = (upper + best[:-1, None]) - best[None, 1:]

    # a segment costs 1 - p for each edge that it crosses, and p for the cut after it, if it is not the last
    def at_node(node: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        log_p, log_rest, log_w = node
        cut = ends + jnp.where(jnp.arange(size) < size - 1, log_p, 0.0)
        table = upper + inside * log_rest + cut[None, :]

        def forward(sums: Array, j: Array) -> tuple[Array, None]:
            return sums.at[j + 1].set(jax.nn.logsumexp(sums[:-1] + table[:, j])), None

        def backward(sums: Array, i: Array) -> tuple[Array, None]:
            return sums.at[i].set(jax.nn.logsumexp(table[i] + sums[1:])), None

        before_, _ = jax.lax.scan(forward, nothing.at[0].set(0.0), jnp.arange(size))
        after, _ = jax.lax.scan(backward, nothing.at[size].set(0.0), jnp.arange(size), reverse=True)
        return before_[size] + log_w, before_[:-1, None] + table + after[None, 1:] + log_w

    of_nodes = jnp.log(p), jnp.log1p(-p), jnp.log(weights)
    log_sum = jax.nn.logsumexp(jax.lax.map(lambda node: at_node(node)[0], of_nodes))

    def add(total: Array, node: tuple[Array, Array, Array]) -> tuple[Array, None]:
        return jnp.logaddexp(total, at_node(node)[1] - log_sum), None

    log_shares = jax.lax.scan(add, varying_as(jnp.full_like(upper, NEVER), upper), of_nodes)[0]
    return best[size] + log_sum, jnp.maximum(log_shares, NEVER)


def _add_up(log_weight: Array, real: Array) -> tuple[Array, Array]:
    """``sum_segmentations`` of numpy tables [B, G, G]: sums up to a bin are relative to the best path there, and sums
    from it on to the best path from there.

    With path weights at most 1 nothing overflows; what underflows is nothing beside the best path, whose prior is at
    least 1e-80 for 256 bins.
    """
    num_tables, size = log_weight.shape[:2]
    p, weights = nodes(size)
    allowed = np.pad(real > 0, ((0, 0), (1, 1)), constant_values=True)  # a segment may start at this bin
    crossing = np.where(allowed[..., None], 1.0 - p, 1.0)
    logs = np.where(allowed[:, :size, None] & allowed[:, None, 1:], log_weight, -np.inf)
    best, rest = np.full((2, num_tables, size + 1), -np.inf)
    best[:, 0], rest[:, size] = 0.0, 0.0
    sums = np.ones((num_tables, size + 1, len(p)))  # over what ends before a bin
    begun, ended = np.empty((2, num_tables, size, len(p)))  # those by a segment's start or end, times what it crosses
    for j in range(size):
        starts = slice(0, j + 1)
        begun[:, j] = sums[:, j]
        path = best[:, starts] + logs[:, starts, j]
        best[:, j + 1] = path.max(axis=1)
        logs[:, starts, j] = path - np.where(best[:, j + 1] > -np.inf, best[:, j + 1], 0.0)[:, None]
        sums[:, j + 1] = _totals(np.exp(logs[:, starts, j]), begun[:, starts])
        sums[:, j + 1] *= p if j < size - 1 else 1.0
        begun[:, starts] *= crossing[:, j + 1, None]
    total, log_shares = sums[:, size] @ weights, np.full_like(logs, NEVER)
    after = np.ones((num_tables, len(p)))
    for i in reversed(range(size)):
        ends = slice(i, size)
        ended[:, i] = after
        path = logs[:, i, ends] + rest[:, i + 1 :]
        rest[:, i] = path.max(axis=1)
        share = (ended[:, ends] @ (sums[:, i] * weights)[..., None])[..., 0] / total[:, None]
        with np.errstate(divide="ignore"):
            log_shares[:, i, ends] = np.maximum(path + np.log(share), NEVER)
        after = p * _totals(np.exp(path - np.where(rest[:, i] > -np.inf, rest[:, i], 0.0)[:, None]), ended[:, ends])
        ended[:, ends] *= crossing[:, i, None]
    return best[:, size] + np.log(total), log_shares


def _totals(weights: Array, values: Array) -> Array:
    """sum_i w_i x_i of tables, [B, N]."""
    return (weights[:, None, :] @ values)[:, 0]


def with_certain_cuts(log_weight: Array, real: Array, count: int) -> tuple[Array, Array]:
    """The tables and the edges with so many bins more at the end, each a segment of its own, [..., G + M, G + M].

    So M edges more are cuts for certain, and p ~ Beta(1 + M, 1): the sum over segmentations has its density but for the
    factor 1 + M.
    """
    if not count:
        return log_weight, real
    size, same = log_weight.shape[-1], [(0, 0)]
    alone = jnp.diag(jnp.arange(size + count) >= size)
    wide = jnp.pad(log_weight, [*same * (log_weight.ndim - 2), (0, count), (0, count)], constant_values=NEVER)
    return jnp.where(alone, 0.0, wide), jnp.pad(real, [*same * (real.ndim - 1), (0, count)], constant_values=1.0)


def draw_segmentation(key: Any, log_weight: Array, real: Array, which: Array) -> Array:
    """One segmentation for each column by one of its tables, 1 for a cut and 0 for none, [D, G - 1]; pure JAX.

    ``log_weight`` [A, D, G, G] are the tables, ``which`` [D] their places, ``real`` [D, G - 1] as in
    ``sum_segmentations``. All that does not depend on the key is computed once for many draws.
    """
    num_columns, size = log_weight.shape[1:3]
    if size == 1:
        return jnp.zeros(real.shape, int)
    log_sum, share = jax.vmap(jax.vmap(_logs_of_draws, (0, 0)), (0, None))(log_weight, real)
    keys, columns = jax.random.split(key), jnp.arange(num_columns)
    node = jax.random.categorical(keys[0], log_sum[which, columns], axis=-1)

    def back(end: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        i, uniform = step
        cut = (i <= end) & (uniform < share[which, columns, node, i, end])
        return jnp.where(cut, i - 1, end), cut.astype(int)

    steps = jnp.arange(1, size), jax.random.uniform(keys[1], (size - 1, num_columns), log_weight.dtype)
    last = varying_as(jnp.full(num_columns, size - 1), share, node, steps)
    _, found = jax.lax.scan(back, last, steps, reverse=True)
    return jnp.moveaxis(found, 0, -1)


def _logs_of_draws(log_weight: Array, real: Array) -> tuple[Array, Array]:
    """By node p: the log of the sum over segmentations [P], and the probability that a segment that ends in bin j
    starts in bin i, given that it does not start behind it, [P, G, G].
    """
    size, before, kind = log_weight.shape[0], edges_before(real), log_weight.dtype
    p, weights = (jnp.asarray(x, kind)[:, None] for x in nodes(size))
    inside = jnp.maximum(before[None, :] - before[:, None], 0)
    upper = jnp.where(jnp.triu(jnp.ones((size, size), bool)), log_weight, NEVER)
    ends = jnp.append(log_of(real), 0.0).astype(kind)[None] + jnp.where(
        jnp.arange(size)[None] < size - 1, jnp.log(p), 0.0
    )
    table = upper[None] + inside[None] * jnp.log1p(-p)[:, :, None]

    def forward(logs: Array, j: Array) -> tuple[Array, None]:
        found = jax.nn.logsumexp(logs[:, :-1] + jnp.take(table, j, axis=2), axis=-1) + jnp.take(ends, j, axis=1)
        return logs.at[:, j + 1].set(found), None

    start = varying_as(jnp.full((len(p), size + 1), NEVER, kind), table).at[:, 0].set(0.0)
    logs, _ = jax.lax.scan(forward, start, jnp.arange(size))
    paths = logs[:, :-1, None] + table
    return logs[:, -1] + jnp.log(weights[:, 0]), jnp.exp(paths - jax.lax.cumlogsumexp(paths, axis=1))


def log_prior_of_count(real: Array, certain: int = 0) -> Array:
    """The log prior of one set of 0, 1, ..., G - 1 cuts, [..., G]: of the number, and of the places given it.

    It is that of p ~ Beta(1 + M, 1), where M edges more are ``certain`` to be cuts.
    """
    most = real.sum(axis=-1, keepdims=True)
    count = jnp.broadcast_to(jnp.arange(real.shape[-1] + 1), (*real.shape[:-1], real.shape[-1] + 1))
    rest = jnp.maximum(most - count, 0)
    logs = gammaln(count + certain + 1.0) + gammaln(rest + 1.0) - gammaln(most + certain + 2.0)
    return jnp.where(count <= most, jnp.log(certain + 1.0) + logs, NEVER)


def _best_on_host(log_weight: Array, real: Array, prior: Array) -> tuple[Array, Array]:
    size = log_weight.shape[-1]
    tables = np.ascontiguousarray(log_weight, np.float64).reshape(-1, size, size)
    allowed = np.ascontiguousarray(real, np.float64).reshape(len(tables), size - 1)
    priors = np.ascontiguousarray(prior, np.float64).reshape(len(tables), size)
    value, cuts = np.empty(len(tables)), np.zeros(allowed.shape)
    _find_best(tables, allowed, priors, value, cuts)
    return value.reshape(log_weight.shape[:-2]), cuts.reshape(real.shape)


@with_host_body(_best_on_host, lambda log_weight, real, _: (log_weight[:-2], real))
def best_segmentation(log_weight: Array, real: Array, prior: Array) -> tuple[Array, Array]:
    """The log of prior times weights of the best segmentation [...], and its cuts, 1 or 0, [..., G - 1].

    On the host a loop takes 1.8 ms for three tables of 100 columns and JAX 136, where a fit of forests is to take 200.
    Arguments as those of ``sum_segmentations``, and the prior of each number of cuts, as ``log_prior_of_count``.
    """
    of_all = jnp.vectorize(_best_of_table, signature="(g,g),(e),(g)->(),(e)")
    found: tuple[Array, Array] = of_all(log_weight, real, prior)
    return found


def _best_of_table(log_weight: Array, real: Array, prior: Array) -> tuple[Array, Array]:
    size, kind = log_weight.shape[0], log_weight.dtype
    ends = jnp.append(log_of(real), 0.0).astype(kind)
    upper = jnp.where(jnp.triu(jnp.ones((size, size), bool)), log_weight, NEVER) + ends[None, :]
    nothing = varying_as(jnp.full((size + 1, size), NEVER, kind), upper)  # by end and number of cuts

    def forward(best: Array, j: Array) -> tuple[Array, tuple[Array, Array]]:
        paths = best[:-1] + upper[:, j, None]
        values = paths.max(axis=0)
        with_cut = jnp.concatenate([jnp.full(1, NEVER, kind), values[:-1]])
        return best.at[j + 1].set(with_cut), (paths.argmax(axis=0), values)

    _, (starts, values) = jax.lax.scan(forward, nothing.at[0, 0].set(0.0), jnp.arange(size))
    whole = values[-1] + prior
    count = whole.argmax()

    def back(state: tuple[Array, Array], j: Array) -> tuple[tuple[Array, Array], Array]:
        end, left = state
        start = jnp.where(j == end, starts[j, left], 0)
        cut = (j == end) & (start > 0)
        return (jnp.where(cut, start - 1, end), jnp.where(cut, left - 1, left)), jnp.where(cut, start, 0)

    _, found = jax.lax.scan(back, (varying_as(jnp.asarray(size - 1), count), count), jnp.arange(size), reverse=True)
    return whole[count], jnp.zeros(size, kind).at[found].set(1.0)[1:]


@compiled
def _find_best(log_weight: Array, real: Array, prior: Array, value: Array, cuts: Array) -> None:
    size = log_weight.shape[1]
    best, starts = np.empty((size + 1, size)), np.zeros((size, size), np.int64)
    for b in range(log_weight.shape[0]):
        best[:] = -np.inf
        best[0, 0] = 0.0
        for j in range(size):
            last = j == size - 1
            if not last and real[b, j] <= 0:
                continue
            for count in range(j + 1):
                top, start = -np.inf, 0
                for i in range(j + 1):
                    path = best[i, count] + log_weight[b, i, j]
                    if path > top:
                        top, start = path, i
                starts[j, count] = start
                if not last:
                    best[j + 1, count + 1] = top
                else:
                    best[size, count] = top + prior[b, count]
        count = 0
        for other in range(size):
            if best[size, other] > best[size, count]:
                count = other
        value[b] = best[size, count]
        end = size - 1
        while end >= 0:
            start = starts[end, count]
            if start > 0:
                cuts[b, start - 1] = 1.0
            end = start - 1
            count -= 1
