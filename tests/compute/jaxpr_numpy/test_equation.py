"""Keys of one equation: numpy has those of threefry, and JAX keeps the others."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesnb.compute.jaxpr_numpy import by_numpy, evaluate

KEYS = jax.random.split(jax.random.key(3), 5)


def _of_keys(keys):
    return jax.vmap(lambda key: jax.random.gamma(key, 2.0, (3,)))(keys)


def test_a_key_has_one_stream_of_its_own():
    whole = evaluate(_of_keys, KEYS)
    assert_array_equal(whole, evaluate(_of_keys, KEYS))
    assert_array_equal(whole[3:], evaluate(_of_keys, KEYS[3:]))
    assert len(np.unique(whole)) == whole.size


def test_keys_of_another_generator_are_left_to_jax():
    def draw():
        return jax.random.normal(jax.random.key(4, impl="rbg"), (3,))

    with by_numpy():
        found = draw()
    assert_array_equal(found, draw())
    with pytest.raises(NotImplementedError, match="threefry2x32"):
        evaluate(draw)
