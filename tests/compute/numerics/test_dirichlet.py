"""Modes and maxima of Dirichlet densities on the edge of the simplex."""

import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from bayesnb.compute.numerics import _dirichlet as dirichlet


def test_dirichlet_mode_on_the_edge():
    """Below one the mode is where the counts are; with nothing left it is the mean."""
    mode = dirichlet.dirichlet_mode(jnp.array([[0.5, 3.0, 1.5], [0.2, 0.3, 0.5], [2.0, 3.0, 5.0]]))
    assert_allclose(mode, [[0, 0.8, 0.2], [0.2, 0.3, 0.5], [1 / 7, 2 / 7, 4 / 7]], rtol=1e-6)


def test_dirichlet_mle_leaves_nothing_undefined():
    counts = jnp.array([[2.0, 6.0], [0.0, 0.0]])
    assert_allclose(dirichlet.dirichlet_mle(counts), [[0.25, 0.75], [0.25, 0.75]])
    assert_allclose(dirichlet.dirichlet_mle(jnp.zeros((2, 4))), np.full((2, 4), 0.25))
