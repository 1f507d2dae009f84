"""Numbers as codes of the cells between edges: a compiled search on the host, a sorted search on a device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled_unless_few, for_loops
from bayesnb.arrays.placement import Array, namespace

MISSING = -1
"""The code of a missing cell."""


def find_cells(x: Array, edges: Array) -> Array:
    """How many of its column's edges each number reaches, codes 0..E [N, D]; ``MISSING`` for NaN.

    ``edges`` [D, E] rise; a column with fewer has infinite ones at its end, which no number reaches.
    """
    if namespace(x) is np and namespace(edges) is np:
        codes = np.empty(x.shape, np.int16)
        table = _filled_up(edges)
        part = (table.shape[1] + 1) // 8
        _search(for_loops(x), table, np.ascontiguousarray(table[:, part - 1 :: part].T[:7]), codes)
        return codes
    x = jnp.asarray(x, jnp.result_type(float))
    # NaN is sorted behind all edges
    found = jax.vmap(lambda e, of: jnp.searchsorted(e, of, side="right"), (0, 1), 1)(jnp.asarray(edges, x.dtype), x)
    return jnp.where(jnp.isnan(x), MISSING, jnp.minimum(found, edges.shape[1])).astype(jnp.int32)


def _filled_up(edges: Array) -> Array:
    """The edges with infinite ones up to 7, 15, 31, ..., so that a search takes the same steps everywhere."""
    out = np.full((edges.shape[0], max((1 << edges.shape[1].bit_length()) - 1, 7)), np.inf)
    out[:, : edges.shape[1]] = edges
    return out


@compiled_unless_few
def _search(x: Array, edges: Array, eighths: Array, codes: Array) -> None:
    """Each number against its column's seven ``eighths`` [7, D], and then halvings: without a branch it vectorises."""
    num_columns, size = edges.shape
    table, places, found = edges.ravel(), np.empty(num_columns, np.int32), np.empty(num_columns)
    part = (size + 1) >> 3
    for n in range(x.shape[0]):
        for d in range(num_columns):
            value = x[n, d]
            first = (1.0 if value >= eighths[0, d] else 0.0) + (1.0 if value >= eighths[1, d] else 0.0)
            second = (1.0 if value >= eighths[2, d] else 0.0) + (1.0 if value >= eighths[3, d] else 0.0)
            third = (1.0 if value >= eighths[4, d] else 0.0) + (1.0 if value >= eighths[5, d] else 0.0)
            found[d] = (first + second) + (third + (1.0 if value >= eighths[6, d] else 0.0))
        for d in range(num_columns):
            places[d] = d * size + np.int32(found[d]) * part
        step = part >> 1
        while step > 0:
            for d in range(num_columns):
                places[d] += step if x[n, d] >= table[np.uintp(places[d] + step - 1)] else 0
            step >>= 1
        for d in range(num_columns):
            codes[n, d] = places[d] - d * size if x[n, d] == x[n, d] else MISSING


def beyond(x: Array, low: Array, high: Array, fall: Array, rise: Array) -> Array:
    """How far numbers lie below ``low``, times ``fall``, or above ``high``, times ``rise``, [N, D]; these are [D]."""
    if namespace(x) is np and namespace(low) is np:
        far = np.empty(x.shape)
        _beyond(for_loops(x), low, high, fall, rise, far)
        return far
    x, (low, high, fall, rise) = jnp.asarray(x), (jnp.asarray(end)[None] for end in (low, high, fall, rise))
    return jnp.maximum(low - x, 0.0) * fall + jnp.maximum(x - high, 0.0) * rise


@compiled_unless_few
def _beyond(x: Array, low: Array, high: Array, fall: Array, rise: Array, far: Array) -> None:
    for n in range(x.shape[0]):
        for d in range(x.shape[1]):
            below, above = low[d] - x[n, d], x[n, d] - high[d]
            far[n, d] = (below * fall[d] if below > 0.0 else 0.0) + (above * rise[d] if above > 0.0 else 0.0)
