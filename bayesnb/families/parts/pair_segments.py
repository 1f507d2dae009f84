"""Columns of many categories in a forest of dependence: neighbouring ones are joined into segments.

``segments`` has for each column the number of categories in each of its segments, (1, 1, ...) if none are joined and
nothing for a real column. Pairs are counted by category, so that their statistics merge, and joined afterwards.
"""

from __future__ import annotations

from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array, namespace
from bayesnb.families.parts.end_to_end import EndToEnd
from bayesnb.families.parts.pair_evidence import at_categories, over_categories
from bayesnb.families.parts.pairs import PairLayout, PairPrior, PairStatistics

Segments = tuple[tuple[int, ...], ...]


def are_joined(segments: Segments) -> bool:
    """True if a segment has more than one category."""
    return any(size != 1 for column in segments for size in column)


def join_pairs(prior: PairPrior, pairs: PairStatistics, segments: Segments) -> tuple[PairPrior, PairStatistics]:
    """The priors of columns, and the statistics of their pairs, by segments in categories' stead. Pure JAX."""
    if not are_joined(segments):
        return prior, pairs
    layout = PairLayout(tuple(chain.from_iterable(segments)))
    counts = over_categories(over_categories(pairs.counts, layout).swapaxes(1, 2), layout)
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
