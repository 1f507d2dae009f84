"""Simulation-based calibration: Talts et al., Validating Bayesian inference algorithms (2018), algorithm 1.

Parameters from the prior, rows from the parameters, draws from the posterior: the rank of the first among the last is
uniform, whatever the model.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from scipy import stats

import bayesnb as nb

SIMULATIONS, DRAWS, BINS, ROWS = 640, 127, 16, 12


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

    found = jax.jit(jax.vmap(ranks))(jax.random.split(key, SIMULATIONS))
    for site, rank in found.items():
        columns = np.asarray(rank).reshape(SIMULATIONS, -1)
        for column in range(columns.shape[1]):
            counts = np.bincount(columns[:, column] * BINS // (DRAWS + 1), minlength=BINS)
            # one in a million by chance, for each of a few dozen histograms
            assert stats.chisquare(counts).pvalue > 1e-6, (site, column, counts)
    assert jnp.ndim(found["class_probs"]) == 2
