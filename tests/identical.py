"""Saved files, and trees that are equal to the bit."""

import jax
import numpy as np

import bayesnb as nb


def saved(fit, tmp_path):
    nb.save(fit, tmp_path / "fit.bayesnb")
    return tmp_path / "fit.bayesnb"


def assert_identical(a, b):
    assert str(jax.tree.structure(a)) == str(jax.tree.structure(b))
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert isinstance(one, jax.Array) == isinstance(other, jax.Array)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
