"""Tables that pairs of cells look up, on the host by loops and by JAX; ``places`` [N, I] are those of categories."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.placement import Array, on_host


def look_up_pairs(table: Array, places: Array) -> Array:
    """table[k, places_i, places_j] of a table [K, S, S], as [N, K, I, I]."""
    if on_host(table, places):
        out = np.empty((len(places), len(table), places.shape[1], places.shape[1]))
        _look_up_pairs(table, places, out)
        return out
    found = jnp.asarray(table)[:, places[:, :, None], places[:, None, :]]
    return found.swapaxes(0, 1)


def look_up_rows(table: Array, places: Array) -> Array:
    """table[k, places_i] of a table [K, S, J], as [N, K, I, J]."""
    if on_host(table, places):
        return np.take(table, places, axis=1).swapaxes(0, 1)
    return jnp.take(jnp.asarray(table), places, axis=1, mode="clip").swapaxes(0, 1)


@compiled
def _look_up_pairs(table: Array, places: Array, out: Array) -> None:
    for n in range(out.shape[0]):
        for k in range(out.shape[1]):
            for i in range(out.shape[2]):
                a = places[n, i]
                for j in range(out.shape[3]):
                    out[n, k, i, j] = table[k, a, places[n, j]]
