"""Exact draws of numpy posteriors: their laws at extreme hyperparameters, against scipy, and what a key fixes."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb

NUM_DRAWS = 3000
K, D = 2, 2
NO_ROWS = np.zeros((0, D)), np.zeros(0, int)


def drawn(family, key, num_draws=NUM_DRAWS):
    return nb.fit_posterior(nb.NaiveBayes(family, num_classes=K), *NO_ROWS).sample(key, num_draws)


@pytest.mark.parametrize("concentration", [1e-3, 0.4, 1e8])
def test_a_dirichlet(concentration, key):
    probs = drawn(nb.Categorical(3, concentration), key)["x_probs"]
    assert (probs.dtype, probs.shape) == (np.float64, (NUM_DRAWS, K, D, 3))
    assert (probs > 0).all()
    assert_allclose(probs.sum(axis=-1), 1.0, rtol=1e-12)
    law = stats.beta(concentration, 2 * concentration)
    assert (np.abs(probs.mean(axis=0) - 1 / 3) < 5 * law.std() / np.sqrt(NUM_DRAWS)).all()
    assert_allclose(probs.std(axis=0), law.std(), rtol=0.1)


@pytest.mark.parametrize(
    ("family", "laws"),
    [
        (nb.Bernoulli(a=0.3, b=1e3), {"x_probs": stats.beta(0.3, 1e3)}),
        (nb.Poisson(shape=1e6, rate=7.0), {"x_rate": stats.gamma(1e6, scale=1 / 7)}),
        (
            nb.Normal(loc=3.0, strength=0.5, shape=2.5, rate=4.0),
            {"x_variance": stats.invgamma(2.5, scale=4.0), "x_loc": stats.t(5.0, 3.0, np.sqrt(4.0 / (2.5 * 0.5)))},
        ),
    ],
)
def test_a_column_has_the_distribution_of_its_prior(family, laws, key):
    params = drawn(family, key)
    for site, law in laws.items():
        for column in params[site].reshape(NUM_DRAWS, -1).T:
            assert stats.kstest(column, law.cdf).pvalue > 1e-4
        assert np.abs(np.corrcoef(params[site].reshape(NUM_DRAWS, -1).T) - np.eye(K * D)).max() < 0.1


def test_covariances_have_their_mean(key):
    family = nb.MultivariateNormal(loc=0.0, strength=2.0, df=12.0, scale=np.array([[2.0, 0.6], [0.6, 1.0]]))
    params = drawn(family, key)
    mean = family.scale / (12.0 - D - 1)
    assert_allclose(params["x_covariance"].mean(axis=0), np.stack([mean] * K), atol=0.02)
    spread = np.einsum("ski,skj->kij", params["x_loc"], params["x_loc"]) / NUM_DRAWS
    assert_allclose(spread, np.stack([mean / 2] * K), atol=0.02)


def test_a_key_fixes_its_draws_and_more_draws_begin_with_the_same(key):
    few, many = (drawn(nb.Normal(loc=0.0, rate=1.0), key, size) for size in (1000, 1500))
    for site, value in few.items():
        assert_array_equal(value, many[site][:1000])
        assert len(np.unique(many[site])) == many[site].size
    other = drawn(nb.Normal(loc=0.0, rate=1.0), jax.random.key(1), 1000)
    assert not (other["x_loc"] == few["x_loc"]).any()


@pytest.mark.slow
def test_keys_of_another_generator_are_left_to_jax():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a=3.0), class_probs=[0.5, 0.5]), *NO_ROWS)
    probs = post.sample(jax.random.key(0, impl="rbg"), 400)["x_probs"]
    assert stats.kstest(np.ravel(probs), stats.beta(3.0, 1.0).cdf).pvalue > 1e-4
