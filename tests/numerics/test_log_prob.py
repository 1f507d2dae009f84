"""Products and sums of probabilities in which exact zeros are counted."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.numerics.log_prob import LogProb

FINITE = np.log([[0.5, 0.2], [0.1, 0.7]])


@pytest.mark.parametrize("xp", [np, jnp])
def test_sums_with_and_without_known_zeros(xp):
    some, none = LogProb(xp.asarray(FINITE), xp.asarray([[0.0, 1.0], [2.0, 0.0]])), LogProb(xp.asarray(FINITE), None)
    both = none.plus(none)
    assert both.zeros is None
    assert_allclose(both.finite, FINITE + np.log(2), rtol=1e-6)
    for total in (some.plus(none), none.plus(some)):
        assert_array_equal(total.zeros, 0.0)  # possible in one of them
        assert_allclose(total.finite, FINITE + np.log([[2, 1], [1, 2]]), rtol=1e-6)
    again = some.plus(some)
    assert_array_equal(again.zeros, some.zeros)
    assert_allclose(again.finite, FINITE + np.log(2), rtol=1e-6)
