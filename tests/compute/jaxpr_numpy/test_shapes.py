"""Parts, joins and copies of arrays, and slices at computed places, are numpy's own."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numpy.testing import assert_array_equal

from bayesnb.compute.jaxpr_numpy import evaluate

X = np.arange(24, dtype=np.float32).reshape(4, 6)
I, J = np.array([3, 0, 0, 2]), np.array([5, 1, 1, 0])
V = np.array([7.0, -1.0, 2.0, 30.0], np.float32)


def changed(how):
    """The array after numpy's unbuffered operation at these places."""
    x = X.copy()
    how.at(x, (I, J), V)
    return x


def set_at(x, places, values):
    x = x.copy()
    x[places] = values
    return x


CASES = {
    "cells": (lambda x: x[I, J], X[I, J]),
    "rows": (lambda x: x[jnp.asarray(I)], X[I]),
    "columns": (lambda x: jnp.take(x, jnp.asarray(J), axis=1), np.take(X, J, axis=1)),
    "along": (lambda x: jnp.take_along_axis(x, jnp.asarray(J)[:, None], axis=1), np.take_along_axis(X, J[:, None], 1)),
    "from the end": (lambda x: x[:, ::-1][1:, ::2], X[:, ::-1][1:, ::2]),
    "beyond": (lambda x: jnp.take(x, jnp.array([0, 9]), axis=0, mode="clip"), X[[0, 3]]),
    "set": (lambda x: x.at[:, 2].set(-1.0), set_at(X, np.s_[:, 2], -1.0)),
    "add": (lambda x: x.at[I, J].add(V), changed(np.add)),
    "multiply": (lambda x: x.at[I, J].multiply(V), changed(np.multiply)),
    "min": (lambda x: x.at[I, J].min(V), changed(np.minimum)),
    "max": (lambda x: x.at[I, J].max(V), changed(np.maximum)),
    "slice": (lambda x: lax.dynamic_slice(x, (jnp.int32(2), jnp.int32(9)), (2, 3)), X[2:, 3:]),
    "update": (lambda x: lax.dynamic_update_slice(x, -x[:2, :2], (1, 3)), set_at(X, np.s_[1:3, 3:5], -X[:2, :2])),
    "pad": (
        lambda x: jnp.pad(x, ((1, 0), (0, 2)), constant_values=5.0),
        np.pad(X, ((1, 0), (0, 2)), constant_values=5),
    ),
    "pad inside": (lambda x: lax.pad(x[0], jnp.float32(0), [(-1, 1, 1)]), np.r_[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]),
    "join": (lambda x: jnp.concatenate([x, x.T.reshape(4, 6)]), np.concatenate([X, X.T.reshape(4, 6)])),
    "stack": (lambda x: jnp.stack([x[0], x[2]], axis=1), np.stack([X[0], X[2]], axis=1)),
    "split": (lambda x: jnp.split(x, [1, 4], axis=1)[1], np.split(X, [1, 4], axis=1)[1]),
    "places": (lambda x: lax.broadcasted_iota(jnp.int32, x.shape, 1), np.indices(X.shape)[1]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_arrays_are_numpys(name):
    function, expected = CASES[name]
    assert_array_equal(evaluate(function, X), expected)
