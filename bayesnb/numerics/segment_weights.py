"""The weights of segments of cells whose probabilities are Dirichlet, in float64 by numpy, or by JAX."""

from __future__ import annotations

from math import prod

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.host_bodies import Shape, with_host_body
from bayesnb.arrays.host_calls import without_compiling
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
    num_classes, tables = counts.shape[-3], prod(front)
    # columns of all tables are rows here: [R, 1, 1, G], [R, 1, K, G] and [R, A, 1, 1]
    q = np.asarray(mass, np.float64).reshape(tables * num_columns, 1, 1, size)
    c = np.moveaxis(np.asarray(counts, np.float64), -3, -2).reshape(len(q), 1, num_classes, size)
    a = np.repeat(np.asarray(totals, np.float64).reshape(tables, num_totals, 1, 1), num_columns, axis=0)
    weights, rest = np.zeros((len(q), num_totals, size, size)), np.empty((len(q), num_totals))
    upper = np.triu_indices(size)

    def fill(rows: slice) -> None:
        weights[(rows, slice(None), *upper)], rest[rows] = _logs(q[rows], c[rows], a[rows], upper)

    in_threads(fill, row_blocks(len(q), 8 * num_totals * num_classes * len(upper[0]), block_bytes=BLOCK_BYTES))
    weights = np.moveaxis(weights.reshape(*front, num_columns, num_totals, size, size), -3, -4)
    return weights, np.moveaxis(rest.reshape(*front, num_columns, num_totals), -1, -2)


def _logs(mass: Array, counts: Array, totals: Array, upper: tuple[Array, Array]) -> tuple[Array, Array]:
    """The weights of segments [R, A, S] and the rest [R, A] of numpy columns."""
    start, end = upper
    later = np.tri(mass.shape[-1], dtype=bool).T  # cells from each start on

    def of_segments(cells: Array) -> Array:
        return np.cumsum(np.where(later, cells[..., None, :], 0.0), axis=-1)[..., start, end]

    # the rest is the weight of a segment of mass 1 that holds all rows
    rows, q = counts.sum(axis=-1, keepdims=True), of_segments(mass)
    inside = np.concatenate([np.where(q > 0.0, of_segments(counts), 0.0), rows], axis=-1)
    q = np.concatenate([np.where(q > 0.0, q, 1.0), np.ones_like(q[..., :1])], axis=-1)
    logs = without_compiling(log_gamma_ratio, totals * q, inside, q * (totals + rows)).sum(axis=-2)
    return logs[..., :-1], -logs[..., -1]


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
    q, total = segment_sums(mass)[None], totals[:, None, None, None]
    q = jnp.where(q > 0, q, 1.0)

    def add(sums: tuple[Array, Array], of_class: Array) -> tuple[tuple[Array, Array], None]:
        rows = of_class.sum(axis=-1)[None]
        unit = total + rows[..., None, None]
        segment = log_gamma_ratio(total * q, segment_sums(of_class)[None], q * unit)
        whole = log_gamma_ratio(total[..., 0, 0], rows, unit[..., 0, 0])
        return (sums[0] + segment, sums[1] - whole), None

    shape, kind = (len(totals), *mass.shape), jnp.result_type(mass, float)
    start = jnp.zeros((*shape, shape[-1]), kind), jnp.zeros(shape[:2], kind)
    return jax.lax.scan(add, start, jnp.asarray(counts, kind))[0]
