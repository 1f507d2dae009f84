"""Statistics of the same bins add up, and those of others are refused."""

import numpy as np
import pytest

from bayesnb.core.families.parts._node_statistics import NodeStatistics


def make(start=0.0):
    weights = np.random.default_rng(0).normal(size=(2, 3, 512))
    return NodeStatistics(weights, np.tile([0.0, 1.0, start, 0.1], (2, 3, 1)))


def test_parts_add_up_and_other_bins_are_refused():
    both = make().merge(make())
    assert np.array_equal(both.weights, 2 * make().weights)
    assert np.array_equal(both.minus(make()).weights, make().weights)
    assert both.pool().weights.shape == (1, 3, 512)
    with pytest.raises(ValueError, match="their bins are the same"):
        make().merge(make(start=1.0))


def test_damaged_bins_are_refused():
    good = make()
    good.check("x", 2)
    odd = NodeStatistics(good.weights, np.arange(24.0).reshape(2, 3, 4))
    with pytest.raises(ValueError, match="the same bins"):
        odd.check("x", 2)
