"""Both ways a function runs: on numpy arrays and inside jit; and the families and fits of the known bugs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayesnb as nb

PAIR = np.array([[1, 0], [0, 1]])
FITS = [nb.fit_mle, nb.fit_map, nb.fit_posterior]
SLOW = [pytest.param(family, marks=pytest.mark.slow) for family in (nb.Categorical(2), nb.Multinomial())]
FAMILIES = [nb.Bernoulli(), nb.Normal(), nb.Poisson(), nb.Binomial(1), *SLOW]


def on_numpy(function, *arrays):
    return function(*arrays)


def under_jit(function, *arrays):
    return jax.jit(function)(*(jnp.asarray(a) for a in arrays))


both = pytest.mark.parametrize("lane", [on_numpy, pytest.param(under_jit, marks=pytest.mark.slow)])
