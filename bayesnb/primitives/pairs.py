"""Sums over pairs of columns, from numpy rows of one class, and tables that pairs of cells look up.

``places`` [N, I] are the cells of columns of categories in one table of all their categories; in sums -1 where missing;
``reals`` [N, J] are real cells, NaN where missing; ``weight`` [N].
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.placement import Array, on_host

TOGETHER = 200
"""The number of categories whose pairs are counted together: their table stays in the cache."""


def count_pairs(places: Array, weight: Array, counts: Array) -> None:
    """Adds the weight of the rows with each two categories to zeros [S, S]; on the diagonal, with each one."""
    _add_pairs(places, weight, counts, max(TOGETHER * places.shape[1] // max(len(counts), 1), 1))
    _mirror(counts)


def joint_moments(reals: Array, weight: Array) -> tuple[Array, Array, Array, Array]:
    """Moments of column a in the rows where b is observed too, [J, J] each: their weight, the mean, the squared
    deviations from it, and the products of the deviations of a and of b.
    """
    seen = ~np.isnan(reals)
    first = weight @ np.where(seen, reals, 0.0) / np.maximum(weight @ seen, np.finfo(np.float64).tiny)
    z, seen = np.where(seen, reals - first, 0.0), seen.astype(np.float64)
    weighed = weight[:, None] * z
    count = (weight[:, None] * seen).T @ seen
    known = np.where(count > 0, count, 1.0)
    mean = weighed.T @ seen / known
    # about the mean of the column little cancels, and nothing where no cell is missing
    squares = np.maximum((weighed * z).T @ seen - count * mean * mean, 0.0)
    return count, np.where(count > 0, first[:, None] + mean, 0.0), squares, weighed.T @ z - count * mean * mean.T


@compiled
def _add_pairs(places: Array, weight: Array, counts: Array, step: int) -> None:
    """Adds to the upper triangle, for ``step`` columns and as many others at a time."""
    size = places.shape[1]
    for first in range(0, size, step):
        for second in range(first, size, step):
            for n in range(places.shape[0]):
                for i in range(first, min(first + step, size)):
                    a = places[n, i]
                    if a >= 0:
                        for j in range(max(i, second), min(second + step, size)):
                            if places[n, j] >= 0:
                                counts[a, places[n, j]] += weight[n]


@compiled
def _mirror(table: Array) -> None:
    """Copies the upper triangle to the lower one, in squares that stay in the cache."""
    size, step = table.shape[0], 32
    for first in range(0, size, step):
        for second in range(0, first + 1, step):
            for a in range(first, min(first + step, size)):
                for b in range(second, min(second + step, a)):
                    table[a, b] = table[b, a]


def look_up_pairs(table: Array, places: Array) -> Array:
    """table[k, places_i, places_j] of a table [K, S, S], as [N, K, I, I]."""
    if on_host(table, places):
        out = np.empty((len(places), len(table), places.shape[1], places.shape[1]))
        _look_up_pairs(table, places, out)
        return out
    return jnp.asarray(table)[:, places[:, :, None], places[:, None, :]].swapaxes(0, 1)


@compiled
def _look_up_pairs(table: Array, places: Array, out: Array) -> None:
    for n in range(out.shape[0]):
        for k in range(out.shape[1]):
            for i in range(out.shape[2]):
                a = places[n, i]
                for j in range(out.shape[3]):
                    out[n, k, i, j] = table[k, a, places[n, j]]
