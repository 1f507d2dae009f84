"""The weights of segments of cells whose probabilities are Dirichlet.

Numpy evaluates them in blocks of columns. Else a trace with them has so much work that it would be compiled, for each
number of columns, and the sums over segmentations with it: of 57 columns those take 6 ms by numpy and 51 by JAX, and a
fit is to take 50.
"""

from __future__ import annotations

from math import prod

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compute import interpret
from bayesnb.arrays.own_primitives import Shape, with_host_body
from bayesnb.arrays.placement import Array
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.numerics.log_gamma import log_gamma_ratio

BLOCK_BYTES = 1 << 19
"""A block of columns whose logs are taken together stays in cache."""


def segment_sums(cells: Array) -> Array:
    """Sums over the cells from i to j >= i, [..., G, G]; added up from i, not subtracted."""
    size = cells.shape[-1]
    later = jnp.triu(jnp.ones((size, size), bool))
    return jnp.cumsum(jnp.where(later, cells[..., None, :], 0.0), axis=-1)


def _on_host(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    front, (num_columns, size), num_totals = mass.shape[:-2], mass.shape[-2:], totals.shape[-1]
    q, c, a = (np.asarray(x, np.float64).reshape(-1, *x.shape[len(front) :]) for x in (mass, counts, totals))
    weights, rest = np.empty((len(q), num_totals, num_columns, size, size)), np.empty((len(q), num_totals, num_columns))

    def fill(part: tuple[int, slice]) -> None:
        table, some = part
        found = interpret(_of_columns, q[table, some], c[table][:, some], a[table])
        weights[table][:, some], rest[table][:, some] = found

    blocks = row_blocks(num_columns, 8 * num_totals * size * size, block_bytes=BLOCK_BYTES)
    in_threads(fill, [(table, block) for table in range(len(q)) for block in blocks])
    return weights.reshape(*front, *weights.shape[1:]), rest.reshape(*front, *rest.shape[1:])


def _shapes(mass: Shape, _: Shape, totals: Shape) -> tuple[Shape, Shape]:
    rest = (*totals, mass[-2])
    return (*rest, mass[-1], mass[-1]), rest


@with_host_body(_on_host, _shapes)
def segment_weights(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    """log prod_k Gamma(A q + c_k) / (Gamma(A q) (q (A + n_k))^c_k) of segments, [..., A, D, G, G], and the rest,
    log prod_k Gamma(A) (A + n_k)^n_k / Gamma(A + n_k), [..., A, D].

    ``mass`` [..., D, G] and ``counts`` [..., K, D, G] of cells are added up over the cells from i to j, n_k over all;
    ``totals`` A are [..., A]. In units of what all rows are worth, A + n_k, nothing large is left to cancel.
    """
    front = mass.shape[:-2]
    flat = (part.reshape(prod(front), *part.shape[len(front) :]) for part in (mass, counts, totals))
    weights, rest = jax.vmap(_of_columns)(*flat)
    return weights.reshape(*front, *weights.shape[1:]), rest.reshape(*front, *rest.shape[1:])


def _of_columns(mass: Array, counts: Array, totals: Array) -> tuple[Array, Array]:
    size = mass.shape[-1]
    ends = np.triu_indices(size)
    q, total = segment_sums(mass)[None, :, *ends], totals[:, None, None]
    q = jnp.where(q > 0, q, 1.0)

    def add(sums: tuple[Array, Array], of_class: Array) -> tuple[tuple[Array, Array], None]:
        rows = of_class.sum(axis=-1)[None]
        unit = total + rows[..., None]
        segment = log_gamma_ratio(total * q, segment_sums(of_class)[None, :, *ends], q * unit)
        whole = log_gamma_ratio(total[..., 0], rows, unit[..., 0])
        return (sums[0] + segment, sums[1] - whole), None

    shape, kind = (len(totals), len(mass)), jnp.result_type(mass, float)
    start = jnp.zeros((*shape, len(ends[0])), kind), jnp.zeros(shape, kind)
    weights, rest = jax.lax.scan(add, start, jnp.asarray(counts, kind))[0]
    return jnp.zeros((*shape, size, size), kind).at[:, :, *ends].set(weights), rest
