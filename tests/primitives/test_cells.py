"""Numbers as codes of cells, on the host and by JAX."""

import jax.numpy as jnp
import numpy as np
import pytest

from bayesnb.primitives.cells import MISSING, find_cells


@pytest.mark.parametrize("num_edges", [1, 2, 7, 31, 40])
def test_codes_count_the_edges_that_are_reached(num_edges, rng):
    edges = np.sort(rng.normal(size=(3, num_edges)).astype(np.float32).astype(float), axis=1)
    edges[1, num_edges // 2 :] = np.inf  # a column with fewer cells
    x = rng.normal(size=(400, 3)).astype(np.float32).astype(float)
    x[:num_edges, 0] = edges[0]  # a number on an edge is above it
    x[5, 2] = np.nan
    expected = np.where(np.isnan(x), MISSING, (x[:, :, None] >= edges[None]).sum(axis=2))
    assert (find_cells(x, edges) == expected).all()
    assert (np.asarray(find_cells(jnp.asarray(x), jnp.asarray(edges))) == expected).all()
    assert (find_cells(np.asfortranarray(x)[:40], edges) == expected[:40]).all()
