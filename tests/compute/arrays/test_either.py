"""Functions of arrays of either kind answer in the kind of what they are given, and known values are numpy's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import at_once_unless_traced, known

X = np.array([[0.0, np.nan], [3.0, 1.0]])


@pytest.mark.parametrize("of", [np.asarray, jnp.asarray])
def test_the_answer_is_of_the_kind_of_the_arguments(of):
    x = of(X)
    found = [
        either.where(either.isnan(x), 0, x),
        either.concatenate([x, x], axis=1),
        either.floats(x),
        *either.split(x, 2),
        either.run_sums(x.repeat(2, 1), (1, 3)),
    ]
    assert all(isinstance(part, type(x)) for part in found)
    assert_array_equal(found[0], [[0, 0], [3, 1]])
    assert_array_equal(found[-1][1], [3, 5])


def test_one_array_of_jax_or_a_tracer_among_numpy_s_makes_the_answer_jax_s():
    assert isinstance(either.where(X > 0, jnp.asarray(X), 0), jax.Array)
    assert isinstance(either.concatenate([X, jnp.asarray(X)]), jax.Array)
    assert jax.eval_shape(lambda x: either.maximum(X, x), X).shape == X.shape


def test_values_are_known_unless_traced():
    assert known([1, 2]).tolist() == [1, 2]
    assert type(known(jnp.ones(2))) is np.ndarray
    assert jax.eval_shape(lambda x: jnp.zeros(3 if known(x) is None else 4), X).shape == (3,)


def test_known_arrays_are_computed_with_at_once_inside_a_jit():
    given = jnp.ones(2)

    @jax.jit
    def inside(x):
        with at_once_unless_traced(given):
            assert known(given + 1).tolist() == [2, 2]
        with at_once_unless_traced(given, x):
            assert known(given + 1) is None
        return x

    inside(1.0)
