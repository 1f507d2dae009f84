"""Simulation-based calibration: Talts et al., Validating Bayesian inference algorithms (2018), algorithm 1.

Parameters from the prior, rows from the parameters, draws from the posterior: the rank of the first among the last is
uniform, whatever the model.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import MCMC, NUTS, init_to_value
from scipy import stats

import bayesnb as nb
from bayesnb.core.fits import _nuts as nuts

DRAWS, FEW, BINS, ROWS = 127, 31, 16, 12


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [
        nb.Bernoulli(1.5, 0.7),
        nb.Categorical(3, 0.8),
        nb.Poisson(2.0, 0.5),
        nb.Normal(loc=0.5, strength=0.7, shape=2.0, rate=1.5),
        nb.Normal(loc=0.5, strength=0.7, shape=2.0, rate=1.5, variance="shared"),
        nb.MultivariateNormal(loc=np.zeros(2), strength=1.0, df=4.0, scale=np.eye(2) + 0.3),
    ],
    ids=["bernoulli", "categorical", "poisson", "normal", "shared", "covariance"],
)
def test_ranks_are_uniform(family, key):
    blank = np.zeros((2, 2)) if not isinstance(family, nb.MultivariateNormal) else np.eye(2)
    model = nb.NaiveBayes(family, class_concentration=[1.0, 2.0], num_classes=2).resolve(blank, [0, 1])

    def ranks(key):
        simulate, sample = jax.random.split(key)
        with jax.numpy_rank_promotion("allow"), handlers.seed(rng_seed=simulate), handlers.trace() as trace:
            rows, y = model(num_rows=ROWS)
        draws = nb.fit_posterior(model, rows, y).sample(sample, DRAWS)
        return {site: (value < trace[site]["value"][None]).sum(axis=0) for site, value in draws.items()}

    uniform(jax.jit(jax.vmap(ranks))(jax.random.split(key, 640)), DRAWS)


@pytest.mark.parametrize(
    "priors",
    [
        pytest.param(None, id="conjugate", marks=pytest.mark.fuzz),
        pytest.param(
            {"x_probs": dist.Uniform(0.1, 0.6), "z_loc": dist.Laplace(0.0, 2.0)}, id="own", marks=pytest.mark.slow
        ),
    ],
)
def test_ranks_of_nuts_are_uniform(priors, key):
    """On the program and in the coordinates of ``fit_nuts``; draws are thinned, for neighbours resemble each other."""
    families = {"x": nb.Bernoulli(1.5, 0.7), "z": nb.Normal(loc=0.5, strength=0.7, shape=3.0, rate=1.5)}
    blank = {"x": np.zeros((2, 1)), "z": np.eye(2)}
    model = nb.NaiveBayes(families, class_concentration=2.0, num_classes=2, priors=priors).resolve(blank, [0, 1])

    def ranks(key):
        simulate, sample = jax.random.split(key)
        with handlers.seed(rng_seed=simulate), handlers.trace() as trace:
            rows, y = model(num_rows=ROWS)
        statistics = nb.sufficient_statistics(model, rows, y)
        centred, standard, reference = nuts._centre(model, statistics)
        kernel = NUTS(nuts.TARGET, init_strategy=init_to_value(values={} if priors else reference))
        sampler = MCMC(kernel, num_warmup=200, num_samples=8 * FEW, thinning=8, progress_bar=False)
        sampler.run(sample, centred, standard, reference, None)
        draws = nuts._restore(model, statistics, sampler.get_samples())
        return {site: (value < trace[site]["value"][None]).sum(axis=0) for site, value in draws.items()}

    with jax.numpy_rank_promotion("allow"), jax.enable_x64(True):
        uniform(jax.jit(jax.vmap(ranks))(jax.random.split(key, 320)), FEW)


def uniform(ranks, num_draws):
    """Chi-square of a histogram of ranks 0..num_draws, for every parameter."""
    assert {jnp.ndim(rank) for rank in ranks.values()} <= {2, 3, 4}
    for site, rank in ranks.items():
        columns = np.asarray(rank).reshape(len(rank), -1)
        for column in range(columns.shape[1]):
            counts = np.bincount(columns[:, column] * BINS // (num_draws + 1), minlength=BINS)
            # one in a million by chance, for each of a few dozen histograms
            assert stats.chisquare(counts).pvalue > 1e-6, (site, column, counts)
