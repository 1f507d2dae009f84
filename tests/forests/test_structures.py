"""The forest of largest weight, against all forests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.forests._structures import largest_branching
from tests.forests.oracle import forests


def weight(table, parents):
    return sum(table[i, j] for j, i in enumerate(parents) if i >= 0)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_no_forest_is_heavier(size, rng):
    every = list(forests(size))
    for shift in (-1.0, 0.0, 2.0):
        for _ in range(20 if size == 5 else 60):
            table = rng.normal(size=(size, size)) + shift
            found = largest_branching(table)
            assert tuple(found) in every
            assert_allclose(weight(table, found), max(weight(table, parents) for parents in every), rtol=1e-12)


def test_circles_within_circles():
    """0 and 1 choose each other, and as one node they and 2 do; 3 enters the whole."""
    table = np.array([[0, 9, 7, -1], [9, 0, -1, -1], [6, -1, 0, -1], [-1, -1, 5, 0]], float)
    every = list(forests(4))
    best = max(every, key=lambda parents: weight(table, parents))
    assert_array_equal(largest_branching(table), best)


def test_no_edge_is_worth_its_weight():
    assert_array_equal(largest_branching(np.full((3, 3), -0.1)), [-1, -1, -1])
