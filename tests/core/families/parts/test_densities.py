"""Which arguments of a distribution are unknown, and their coordinates."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpy.testing import assert_allclose

from bayesnb.core.families.parts._densities import read_arguments


def test_functions_and_two_spellings_of_one_argument_are_read():
    assert read_arguments(dist.Geometric, {})[0].names == ("probs",)
    assert read_arguments(dist.NegativeBinomial, {"total_count": 3})[0].names == ("probs",)
    assert read_arguments(dist.StudentT, {"df": 4})[0].names == ("loc", "scale")


def test_coordinates_are_those_of_numpyro():
    density, numbers = read_arguments(dist.Gamma, {"rate": dist.LogNormal(0.5, 2.0)})
    phi = jnp.array([0.3, -1.2])
    arguments = density.arguments(phi)
    assert_allclose([arguments["concentration"], arguments["rate"]], np.exp(phi), rtol=1e-6)
    assert_allclose(density.coordinates(arguments), phi, rtol=1e-6)
    expected = dist.Normal(0.1, 2.0).log_prob(0.3) + dist.Normal(0.5, 2.0).log_prob(-1.2)
    assert_allclose(density.log_prior(phi, jnp.array([0.1, 9.0]), jnp.array([2.0, 9.0]), numbers), expected, rtol=1e-5)
    assert_allclose(density.log_jacobian(phi), phi.sum(), rtol=1e-6)
