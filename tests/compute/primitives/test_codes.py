"""Numbers as codes of cells, on the host and by JAX."""

import jax.numpy as jnp
import numpy as np
import pytest

from bayesnb.compute.primitives._codes import MISSING, find_bins


@pytest.mark.parametrize("num_edges", [1, 2, 7, 31, 40])
def test_codes_count_the_edges_that_are_reached(num_edges, rng):
    edges = np.sort(rng.normal(size=(3, num_edges)).astype(np.float32).astype(float), axis=1)
    edges[1, num_edges // 2 :] = np.inf  # a column with fewer cells
    x = rng.normal(size=(400, 3)).astype(np.float32).astype(float)
    x[:num_edges, 0] = edges[0]  # a number on an edge is above it
    x[5, 2] = np.nan
    expected = np.where(np.isnan(x), MISSING, (x[:, :, None] >= edges[None]).sum(axis=2))
    assert (find_bins(x, edges) == expected).all()
    assert all((find_bins(x[[n]], edges) == expected[n]).all() for n in range(60))
    assert (np.asarray(find_bins(jnp.asarray(x), jnp.asarray(edges))) == expected).all()
    assert (find_bins(np.asfortranarray(x)[:40], edges) == expected[:40]).all()


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("bend", [1, 9, 41])
def test_codes_are_right_where_edges_crowd(bend, scale, rng):
    """Powers of numbers leave most edges in one bucket of the search; sizes reach the limits of floats."""
    edges = np.sort(scale * rng.uniform(-1, 1, (4, 31)) ** bend, axis=1)
    edges[2, 1:], edges[3, 12:] = np.inf, np.inf
    x = np.concatenate([scale * rng.uniform(-1.5, 1.5, (300, 4)) ** bend, np.where(edges < np.inf, edges, 0.0).T])
    x[::50] = np.nan
    expected = np.where(np.isnan(x), MISSING, (x[:, :, None] >= edges[None]).sum(axis=2))
    assert (find_bins(x, edges) == expected).all()
    for few in (x[:2], x[:0]):
        assert (find_bins(few, edges) == expected[: len(few)]).all()


def test_whole_numbers_have_cells():
    edges = np.array([[0.5, 1.5, np.inf]])
    assert find_bins(np.arange(-1, 4)[:, None], edges).ravel().tolist() == [0, 0, 1, 2, 2]
