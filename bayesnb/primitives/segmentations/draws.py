"""Exact draws of segmentations: p from its posterior, then the cuts from the last to the first."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.primitives.segmentations.nodes import NEVER, boundaries_before, log_of, nodes


def draw_segmentation(key: Any, log_weight: Array, real: Array, which: Array) -> Array:
    """One segmentation for each column by one of its tables, 1 for a cut and 0 for none, [D, G - 1]; pure JAX.

    ``log_weight`` [A, D, G, G] are the tables, ``which`` [D] their places, ``real`` [D, G - 1] as in
    ``sum_segmentations``. All that does not depend on the key is computed once for many draws.
    """
    num_columns, size = log_weight.shape[1:3]
    if size == 1:
        return jnp.zeros(real.shape, int)
    log_sum, share = jax.vmap(jax.vmap(_of_table, (0, 0)), (0, None))(log_weight, real)
    keys, columns = jax.random.split(key), jnp.arange(num_columns)
    node = jax.random.categorical(keys[0], log_sum[which, columns], axis=-1)

    def back(end: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        i, uniform = step
        cut = (i <= end) & (uniform < share[which, columns, node, i, end])
        return jnp.where(cut, i - 1, end), cut.astype(int)

    last = jnp.full(num_columns, size - 1)
    steps = jnp.arange(1, size), jax.random.uniform(keys[1], (size - 1, num_columns), log_weight.dtype)
    _, found = jax.lax.scan(back, last, steps, reverse=True)
    return jnp.moveaxis(found, 0, -1)


def _of_table(log_weight: Array, real: Array) -> tuple[Array, Array]:
    """By node p: the log of the sum over segmentations [P], and the probability that a segment that ends in cell j
    starts in cell i, given that it does not start behind it, [P, G, G].
    """
    size, before, kind = log_weight.shape[0], boundaries_before(real), log_weight.dtype
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

    start = jnp.full((len(p), size + 1), NEVER, kind).at[:, 0].set(0.0)
    logs, _ = jax.lax.scan(forward, start, jnp.arange(size))
    paths = logs[:, :-1, None] + table
    return logs[:, -1] + jnp.log(weights[:, 0]), jnp.exp(paths - jax.lax.cumlogsumexp(paths, axis=1))
