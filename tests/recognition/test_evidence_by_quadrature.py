"""The evidence of a recognised program is the integral of its density, by quadrature over its own parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import bayesnb as nb
from tests.recognition import oracle

Y = np.array([0, 1, 1, 0, 1])
FLAGS = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
COUNTS = np.array([2.0, 0.0, 5.0, 1.0, 3.0])
Law = Callable[..., dist.Distribution]


def of_rows(site: str, prior: Law, law: Law) -> Callable[..., None]:
    def program(x: Any, y: Any) -> None:
        latent = numpyro.sample(site, prior(), sample_shape=(2,))
        rho = numpyro.sample("rho", dist.Beta(2.0, 3.0))
        with numpyro.plate("rows", len(Y)):
            y = numpyro.sample("y", dist.Bernoulli(rho), obs=y)
            numpyro.sample("x", law(latent[y]), obs=x)

    return program


def counted(x: float) -> Law:
    return lambda t: dist.Poisson(x * t)


PROGRAMS = {
    "bernoulli": (of_rows("theta", lambda: dist.Beta(3.0, 2.5), dist.Bernoulli), FLAGS),
    "flipped": (of_rows("absent", lambda: dist.Beta(2.5, 3.0), lambda p: dist.Bernoulli(1.0 - p)), FLAGS),
    "poisson": (of_rows("rate", lambda: dist.Gamma(2.0, 0.5), dist.Poisson), COUNTS),
    "ten times a rate": (of_rows("rate", lambda: dist.Gamma(2.0, 5.0), counted(10.0)), COUNTS),
    "a non-centred mean": (
        of_rows("z", lambda: dist.Normal(0.0, 1.0), lambda z: dist.Normal(1.5 - 0.5 * z, 1.25)),
        COUNTS,
    ),
    "waiting": (of_rows("waiting", lambda: dist.InverseGamma(2.0, 0.5), lambda t: dist.Poisson(1.0 / t)), COUNTS),
}


def integral(call: Any, points: int = 81) -> float:
    """log of the integral of the density over a probability rho and two latents, on a grid of the real line."""
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        grid = jnp.linspace(-10.0, 10.0, points)
        supports = oracle.latent_supports(call, "y")
        maps = {site: dist.biject_to(support) for site, support in supports.items()}
        (latent,) = supports.keys() - {"rho"}

        @jax.jit
        @jax.vmap
        def log_density(u: jax.Array) -> jax.Array:
            reals = {"rho": u[0], latent: u[1:]}
            values = {site: maps[site](r) for site, r in reals.items()}
            change = sum(maps[site].log_abs_det_jacobian(r, values[site]).sum() for site, r in reals.items())
            return oracle.log_density(call, values) + change

        axes = jnp.stack(jnp.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
        return logsumexp(log_density(axes)) + 3.0 * np.log(grid[1] - grid[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_evidence_is_an_integral(name):
    program, x = PROGRAMS[name]
    model = nb.from_numpyro(program, model_args=(x, Y), label="y")
    evidence = nb.fit_posterior(model, x[:, None], Y).log_evidence
    assert_allclose(evidence, integral((program, (x, Y), {})), rtol=1e-8)
