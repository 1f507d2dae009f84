"""Latents that are hyperparameters, and priors that are not one distribution."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import bayesnb as nb
from tests.recognition.agreement import assert_same_model
from tests.recognition.case import COUNTS, PI, Case, D, K, Y
from tests.recognition.programs.parts import by_column, rows, table


def shared_latent(successes, y):
    """NumPyro's ``test_collapse_beta_binomial_plate``, expected to fail there, with a label of one class."""
    c = numpyro.sample("c", dist.Gamma(1.0, 1.0))
    probs = numpyro.sample("probs", dist.Beta(c, 2.0))
    with numpyro.plate("plate", len(successes)):
        numpyro.sample("y", dist.Categorical(jnp.ones(1)), obs=y)
        numpyro.sample("obs", dist.Binomial(10, probs), obs=successes)


@pytest.mark.slow
def test_what_numpyro_does_not_collapse():
    data, y = np.array([0.0, 1.0, 5.0, 5.0]), np.zeros(4, int)
    expected = nb.NaiveBayes(nb.Binomial(10, dist.Gamma(1.0, 1.0), 2.0), class_probs=[1.0])
    model = nb.from_numpyro(shared_latent, (data, y), label="y")
    assert_same_model(model, Case("", None, data, y, "conjugate", expected=expected))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(K, 1), (K, D)])
def test_a_hyperprior_by_class(shape):
    law = dist.Gamma(2.0, 1.0)

    def program(X, y):
        a = numpyro.sample("a", law.expand(shape))
        rate = table("rate", dist.Gamma(a, 0.5))
        rows(X, y, lambda y: dist.Poisson(rate[y]))

    model = nb.from_numpyro(program, (COUNTS, Y), label="y")
    expected = nb.NaiveBayes(nb.Poisson(law.expand(shape), 0.5), class_concentration=PI, num_classes=K)
    assert_same_model(model, Case("", None, COUNTS, Y, "conjugate", expected=expected))


def test_a_hyperprior_with_a_hyperprior_is_refused():
    def program(X, y):
        b = numpyro.sample("b", dist.Gamma(2.0, 1.0))
        a = numpyro.sample("a", dist.Gamma(2.0, b))
        rate = table("rate", dist.Gamma(a, 0.5))
        rows(X, y, lambda y: dist.Poisson(rate[y]))

    with pytest.raises(nb.NotNaiveBayes, match="'x_prior_shape' depends on 'b', 'a': a hyperprior is recognised where"):
        nb.from_numpyro(program, (COUNTS, Y), label="y")


def test_priors_of_different_distributions_are_refused():
    def program(X, y):
        first, second = by_column("first", dist.LogNormal(0.0, 0.5)), by_column("second", dist.Gamma(2.0, 1.0))
        rows(X, y, lambda y: dist.Poisson(jnp.stack([first, second])[y]))

    message = r"'first', 'second', a parameter of site 'x', .* mixes Gamma, LogNormal"
    with pytest.raises(nb.NotNaiveBayes, match=message):
        nb.from_numpyro(program, (COUNTS, Y), label="y")
