"""Columns of many categories in a forest of dependence: neighbouring ones are joined into segments.

``segments`` has for each column the number of categories in each of its segments, (1, 1, ...) if none are joined and
nothing for a real column. Pairs are counted by category, so that their statistics merge, and joined afterwards.
"""

from __future__ import annotations

from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.host_bodies import Shape, with_host_body
from bayesnb.arrays.placement import Array, namespace
from bayesnb.families.parts.end_to_end import EndToEnd
from bayesnb.families.parts.pair_evidence import at_categories, over_categories
from bayesnb.families.parts.pairs import PairLayout, PairPrior, PairStatistics

Segments = tuple[tuple[int, ...], ...]


def are_joined(segments: Segments) -> bool:
    """True if a segment has more than one category."""
    return any(size != 1 for column in segments for size in column)


def _on_host(counts: Array, sizes: Array) -> tuple[Array]:
    front, (num_categories, _), num_segments = counts.shape[:-2], counts.shape[-2:], sizes.shape[-1]
    tables = np.ascontiguousarray(counts).reshape(-1, num_categories, num_categories)
    places = [np.repeat(np.arange(num_segments), one.astype(int)) for one in sizes.reshape(-1, num_segments)]
    out = np.zeros((len(tables), num_segments, num_segments))
    for table, place, joined in zip(tables, places, out, strict=True):
        _add_up(table, place, joined)
    return (out.reshape(*front, num_segments, num_segments),)


def _shapes(counts: Shape, sizes: Shape) -> tuple[Shape]:
    return ((*counts[:-2], sizes[-1], sizes[-1]),)


@with_host_body(_on_host, _shapes)
def _join_counts(counts: Array, sizes: Array) -> tuple[Array]:
    """The sums over segments of so many categories, sizes [..., I], on both axes: [..., S, S] to [..., I, I]."""
    front, (num_categories, _), num_segments = counts.shape[:-2], counts.shape[-2:], sizes.shape[-1]

    def of_table(table: Array, size: Array) -> Array:
        places = jnp.repeat(jnp.arange(num_segments), size.astype(int), total_repeat_length=num_categories)
        rows = jax.ops.segment_sum(table, places, num_segments)
        return jax.ops.segment_sum(rows.T, places, num_segments).T

    flat = counts.reshape(-1, num_categories, num_categories), sizes.reshape(-1, num_segments)
    return (jax.vmap(of_table)(*flat).reshape(*front, num_segments, num_segments),)


@compiled
def _add_up(table: Array, places: Array, joined: Array) -> None:
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            joined[places[a], places[b]] += table[a, b]


def join_pairs(prior: PairPrior, pairs: PairStatistics, segments: Segments) -> tuple[PairPrior, PairStatistics]:
    """The priors of columns, and the statistics of their pairs, by segments in categories' stead. Pure JAX."""
    if not are_joined(segments):
        return prior, pairs
    layout = PairLayout(tuple(chain.from_iterable(segments)))
    sizes = jnp.broadcast_to(jnp.array(layout.categories), (len(pairs.counts), len(layout.categories)))
    (counts,) = _join_counts(pairs.counts, sizes)
    count, alone = over_categories(pairs.count, layout), pairs.alone.mean[:, None]
    shift = over_categories(pairs.count * (pairs.mean - alone), layout) / jnp.where(count > 0, count, 1.0)
    mean = jnp.where(count > 0, alone + shift, 0.0)
    apart = jnp.where(pairs.count > 0, pairs.mean - at_categories(mean, layout), 0.0)
    squares = over_categories(pairs.squares + pairs.count * jnp.square(apart), layout)
    tables = (counts, count, mean, squares, pairs.both, pairs.centre, pairs.spread, pairs.product)
    concentration = EndToEnd(layout.categories).of_columns(prior.concentration)
    return PairPrior(concentration, prior.reals), PairStatistics(*tables, tuple(map(len, segments)))


def join_cells(cells: Array, segments: Segments) -> Array:
    """Cells [N, D], NaN where missing, with the segment of each category in its stead."""
    if not are_joined(segments):
        return cells
    xp, columns = namespace(cells), [d for d, column in enumerate(segments) if column]
    table = np.zeros((len(columns), max(sum(segments[d]) for d in columns)))
    for row, d in enumerate(columns):
        table[row, : sum(segments[d])] = np.repeat(np.arange(len(segments[d])), segments[d])
    codes = cells[:, columns]
    seen = ~xp.isnan(codes)
    found = xp.asarray(table)[np.arange(len(columns))[None], xp.where(seen, codes, 0).astype(int)]
    joined = xp.where(seen, found, np.nan).astype(cells.dtype)
    if isinstance(cells, jax.Array):
        return cells.at[:, np.array(columns)].set(joined)
    out = cells.copy()
    out[:, columns] = joined
    return out
