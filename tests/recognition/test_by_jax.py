"""One point of every certificate is computed by JAX itself: an evaluation by numpy that is wrong certifies nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.jaxpr_numpy import RULES, Rule
from tests.recognition.case import FLAGS, Y


def recognise(number):
    """The model of coins whose prior has this number, a function without arguments, computed in the program."""

    def coins(x, y):
        theta = numpyro.sample("theta", dist.Beta(number(), 3.0).expand([2]))
        numpyro.sample("x", dist.Bernoulli(theta[y]), obs=x)

    return nb.from_numpyro(coins, (FLAGS[:, 0], Y), label="y")


def halves():
    return (jnp.bfloat16(5) / jnp.bfloat16(2)).astype(jnp.float32)


def single():
    return jnp.exp(jnp.float32(0.3))


def drawn():
    return 1.0 + jax.random.uniform(jax.random.key(4))


def a_loop():
    return jax.vmap(lambda n: jax.lax.while_loop(lambda s: s < 7.0, lambda s: s + n, n))(jnp.array([1.0, 2.0])).sum()


@pytest.mark.parametrize("number", [halves, single, drawn, a_loop])
def test_a_number_of_the_program_is_the_one_that_jax_computes(number):
    with jax.enable_x64(True):
        expected = float(jax.jit(number)())
    model = recognise(number)
    assert_allclose(model.families["x"].a, expected, rtol=1e-6 if number is single else 1e-12)
    assert model.certificate.difference < 1e-6
    assert "as JAX compiles it" in repr(model.certificate)


def test_halves_are_divided_as_numbers():
    assert_allclose(recognise(halves).families["x"].a, 2.5, rtol=1e-14)


def test_random_numbers_follow_the_setting_of_jax_s_generator():
    with jax.threefry_partitionable(False):
        with jax.enable_x64(True):
            expected = float(drawn())
        assert_allclose(recognise(drawn).families["x"].a, expected, rtol=1e-12)


@pytest.mark.parametrize("number", [lambda: jnp.arctan(0.5), lambda: jnp.arctan(jnp.array([0.5, 1.0])).sum()])
def test_a_wrong_evaluation_is_refused(number, monkeypatch):
    monkeypatch.setitem(RULES, "atan", Rule("d", lambda _: np.tan))
    with pytest.raises(nb.NotNaiveBayes, match=r"site 'theta' .* where JAX computes it and not numpy"):
        recognise(number)


def test_gamma_variates_of_the_program_are_refused():
    """They are numpy's own in the evaluation."""
    with pytest.raises(nb.NotNaiveBayes, match="what depends on random keys"):
        recognise(lambda: jax.random.gamma(jax.random.key(0), 2.0))


def test_a_program_that_needs_numbers_is_compared_too(monkeypatch):
    monkeypatch.setitem(RULES, "atan", Rule("d", lambda _: np.tan))
    with pytest.raises(nb.NotNaiveBayes, match="where JAX computes it and not numpy"):
        recognise(lambda: float(jnp.arctan(0.25)))
