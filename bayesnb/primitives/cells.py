"""Numbers as codes of the cells between edges: a search by buckets on the host, a sorted search on a device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled_unless_few, for_loops
from bayesnb.arrays.placement import Array, namespace, on_host
from bayesnb.primitives.codes import Codes, Places, starts_of

MISSING = -1
"""The code of a missing cell."""

FEW_ROWS = 4
"""The most rows that are compared with every edge: sorting the edges into buckets would take longer."""

PIECES = 8
"""Between its outermost edges a column has about so many buckets an edge: mostly none holds two edges."""


def find_cells(x: Array, edges: Array) -> Array:
    """How many of its column's edges each number reaches, codes 0..E [N, D]; ``MISSING`` for NaN.

    ``edges`` [D, E] rise; a column with fewer has infinite ones at its end, which no number reaches.
    """
    if namespace(x) is np and namespace(edges) is np:
        num_columns, num_cells = edges.shape[0], edges.shape[1] + 1
        places = find_places(x, edges)
        codes = places - num_cells * np.arange(num_columns, dtype=np.int32)[None]
        return np.where(places == num_columns * num_cells, MISSING, codes).astype(np.int16)
    x = jnp.asarray(x, jnp.result_type(float))
    # NaN is sorted behind all edges
    found = jax.vmap(lambda e, of: jnp.searchsorted(e, of, side="right"), (0, 1), 1)(jnp.asarray(edges, x.dtype), x)
    return jnp.where(jnp.isnan(x), MISSING, jnp.minimum(found, edges.shape[1])).astype(jnp.int32)


def codes_of_cells(x: Array, edges: Array) -> Codes | Places:
    """The cells of numbers, with their places in a table of all columns end to end."""
    num_columns, num_cells = edges.shape[0], edges.shape[1] + 1
    if on_host(x, edges):
        return Places(find_places(x, edges), num_columns * num_cells)
    return Codes(find_cells(x, edges), starts_of((num_cells,) * num_columns), lambda codes: codes >= 0)


def find_places(x: Array, edges: Array) -> Array:
    """The places of the cells of numpy rows in a table of all columns, (E + 1) d + code, int32 [N, D].

    The place of NaN is the one behind them all, (E + 1) D.
    """
    (num_columns, num_edges), num_buckets = edges.shape, PIECES * (edges.shape[1] + 1)
    x, edges = for_loops(x), np.ascontiguousarray(edges, np.float64)
    if len(x) <= FEW_ROWS:
        found = (x[..., None] >= edges).sum(axis=-1) + (num_edges + 1) * np.arange(num_columns)
        return np.where(np.isnan(x), (num_edges + 1) * num_columns, found).astype(np.int32)
    places, lines = np.empty(x.shape, np.int32), np.empty((2, num_columns))
    heads = np.zeros((num_columns, num_buckets + 1), np.int32)
    most = _fill_buckets(edges, lines, heads)
    # the first of the halvings that compare the edges of a bucket, after one edge
    rest = (1 << (most - 1).bit_length()) >> 1
    table = np.full(num_columns * (num_edges + 1 + rest) + rest + 1, np.inf)
    _lay_out(edges, rest, table, heads)
    _search(x, lines, heads, table, rest, places)
    return places


@compiled_unless_few
def _fill_buckets(edges: Array, lines: Array, heads: Array) -> int:
    """The most edges in a bucket; ``lines`` [2, D] get the scale and the shift of numbers, ``heads`` [D, B + 1] counts.

    The first bucket has NaN, the next one what lies below all edges.
    """
    last, most = heads.shape[1] - 2.0, 1
    for d in range(edges.shape[0]):
        low = high = edges[d, 0]
        for e in range(edges.shape[1]):
            high = edges[d, e] if edges[d, e] < np.inf else high
        scale = (last - 1.0) / (high - low) if high > low else 0.0
        lines[0, d] = scale if scale < np.inf else 0.0
        lines[1, d] = 2.0 - low * lines[0, d] if lines[0, d] > 0.0 else 1.0
        for e in range(edges.shape[1]):
            if edges[d, e] < np.inf:
                bucket = edges[d, e] * lines[0, d] + lines[1, d]
                bucket = bucket if bucket > 1.0 else 1.0
                place = int(bucket if bucket < last else last)
                heads[d, place] += 1
                most = max(most, heads[d, place])
    return most


@compiled_unless_few
def _lay_out(edges: Array, rest: int, table: Array, heads: Array) -> None:
    """Columns end to end in ``table``, infinite ones behind each; ``heads`` get the place of a bucket's first edge."""
    num_columns, wide = edges.shape[0], edges.shape[1] + 1 + rest
    for d in range(num_columns):
        below = d * wide
        for e in range(edges.shape[1]):
            table[below + e] = edges[d, e]
        for bucket in range(1, heads.shape[1]):
            inside = heads[d, bucket]
            heads[d, bucket] = below
            below += inside
        heads[d, 0] = num_columns * wide


@compiled_unless_few
def _search(x: Array, lines: Array, heads: Array, table: Array, rest: int, places: Array) -> None:
    """A number's bucket, of equal width, tells how many edges lie below it, so that few are left to be compared.

    Numbers and edges get their buckets by the same operations, which rounding does not bring out of order.
    """
    num_columns = x.shape[1]
    first, last = heads.ravel(), heads.shape[1] - 2.0
    for n in range(x.shape[0]):
        # without a branch it vectorises
        for d in range(num_columns):
            bucket = x[n, d] * lines[0, d] + lines[1, d]
            bucket = bucket if bucket > 1.0 else 1.0
            bucket = bucket if bucket < last else last
            bucket = bucket if x[n, d] == x[n, d] else 0.0
            places[n, d] = d * heads.shape[1] + np.int32(bucket)
        for d in range(num_columns):
            place = np.uintp(first[np.uintp(places[n, d])])
            places[n, d] = place + np.uintp(x[n, d] >= table[place])
        step = rest
        while step > 0:
            for d in range(num_columns):
                place = places[n, d]
                places[n, d] = place + (step if x[n, d] >= table[np.uintp(place + step - 1)] else 0)
            step >>= 1
        if rest > 0:
            for d in range(num_columns):
                places[n, d] -= rest * (d if x[n, d] == x[n, d] else num_columns)


def beyond(x: Array, low: Array, high: Array, fall: Array, rise: Array) -> Array:
    """How far numbers lie below ``low``, times ``fall``, or above ``high``, times ``rise``, [N, D].

    These are [D]. 0 for NaN.
    """
    if namespace(x) is np and namespace(low) is np:
        far = np.empty(x.shape)
        _beyond(for_loops(x), *map(np.ascontiguousarray, (low, high, fall, rise)), far)
        return far
    x, (low, high, fall, rise) = jnp.asarray(x), (jnp.asarray(end)[None] for end in (low, high, fall, rise))
    below, above = low - x, x - high
    return jnp.where(below > 0, below, 0.0) * fall + jnp.where(above > 0, above, 0.0) * rise


@compiled_unless_few
def _beyond(x: Array, low: Array, high: Array, fall: Array, rise: Array, far: Array) -> None:
    for n in range(x.shape[0]):
        for d in range(x.shape[1]):
            below, above = low[d] - x[n, d], x[n, d] - high[d]
            far[n, d] = (below * fall[d] if below > 0.0 else 0.0) + (above * rise[d] if above > 0.0 else 0.0)
