"""The segmentation of largest prior times weights."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.own_primitives import Shape, with_host_body
from bayesnb.arrays.placement import Array
from bayesnb.numerics.stable import NEVER
from bayesnb.primitives.segmentations.sums import log_of


def log_prior_of_count(real: Array) -> Array:
    """The log prior of one set of 0, 1, ..., G - 1 cuts, [..., G]: of the number, and of the places given it."""
    most = real.sum(axis=-1, keepdims=True)
    count = jnp.broadcast_to(jnp.arange(real.shape[-1] + 1), (*real.shape[:-1], real.shape[-1] + 1))
    rest = jnp.maximum(most - count, 0)
    places = gammaln(most + 1.0) - gammaln(count + 1.0) - gammaln(rest + 1.0)
    return jnp.where(count <= most, -jnp.log(most + 1.0) - places, NEVER)


def _on_host(log_weight: Array, real: Array, prior: Array) -> tuple[Array, Array]:
    num_cells = log_weight.shape[-1]
    tables = np.ascontiguousarray(log_weight, np.float64).reshape(-1, num_cells, num_cells)
    allowed = np.ascontiguousarray(real, np.float64).reshape(len(tables), num_cells - 1)
    priors = np.ascontiguousarray(prior, np.float64).reshape(len(tables), num_cells)
    value, cuts = np.empty(len(tables)), np.zeros(allowed.shape)
    _find_best(tables, allowed, priors, value, cuts)
    return value.reshape(log_weight.shape[:-2]), cuts.reshape(real.shape)


def _shapes(log_weight: Shape, real: Shape, _: Shape) -> tuple[Shape, Shape]:
    return log_weight[:-2], real


@with_host_body(_on_host, _shapes)
def best_segmentation(log_weight: Array, real: Array, prior: Array) -> tuple[Array, Array]:
    """The log of prior times weights of the best segmentation [...], and its cuts, 1 or 0, [..., G - 1].

    On the host a loop takes 1.8 ms for three tables of 100 columns and JAX 136, where a fit of forests is to take 200.
    Arguments as those of ``sum_segmentations``, and the prior of each number of cuts, as ``log_prior_of_count``.
    """
    size, front = log_weight.shape[-1], log_weight.shape[:-2]
    count = int(np.prod(front))
    value, cuts = jax.vmap(_of_table)(
        log_weight.reshape(count, size, size), real.reshape(count, size - 1), prior.reshape(count, size)
    )
    return value.reshape(front), cuts.reshape(real.shape)


def _of_table(log_weight: Array, real: Array, prior: Array) -> tuple[Array, Array]:
    size, kind = log_weight.shape[0], log_weight.dtype
    ends = jnp.append(log_of(real), 0.0).astype(kind)
    upper = jnp.where(jnp.triu(jnp.ones((size, size), bool)), log_weight, NEVER) + ends[None, :]
    nothing = jnp.full((size + 1, size), NEVER, kind)  # by end and number of cuts

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

    _, found = jax.lax.scan(back, (jnp.asarray(size - 1), count), jnp.arange(size), reverse=True)
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
