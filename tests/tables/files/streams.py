"""Rows in blocks, streams that stop, and what their statistics are held to."""

import jax
import numpy as np
from numpy.testing import assert_allclose


def blocks_of(X, y, size, weight=None):
    """The rows in blocks of this size."""
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        block = (jax.tree.map(lambda x, rows=rows: x[rows], X), y[rows])
        yield block if weight is None else (*block, weight[rows])


def assert_same(streamed, whole, rtol=1e-9):
    assert jax.tree.structure(streamed) == jax.tree.structure(whole)
    for a, b in zip(jax.tree.leaves(streamed), jax.tree.leaves(whole), strict=True):
        assert isinstance(a, np.ndarray)
        assert a.dtype == np.float64
        assert_allclose(a, b, rtol=rtol, atol=1e-12)


class Stop(Exception):
    """What stops a stream."""


def stopping(blocks, after, error=Stop):
    for index, block in enumerate(blocks):
        if index == after:
            raise error
        yield block


def random_blocks(number):
    for index in range(number):
        rng = np.random.default_rng(index)
        yield rng.normal(index, 1.0, (50, 3)), rng.integers(0, 2, 50)
