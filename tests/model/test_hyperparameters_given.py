"""Hyperparameters as they are given: what is no number, and what float32 cannot hold, is refused in a sentence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayesnb as nb

NUMBERS = {
    "a": nb.Bernoulli,
    "b": lambda **given: nb.Binomial(3, **given),
    "concentration": lambda **given: nb.Categorical(3, **given),
    "shape": nb.Poisson,
    "strength": nb.Normal,
    "smoothing": nb.MultivariateNormal,
    "class_concentration": lambda **given: nb.NaiveBayes(nb.Bernoulli(), **given),
}


@pytest.mark.parametrize("value", [None, "1", True, [True], ["1"], [None, 1.0], {}, 1j, [[1.0], [1.0, 2.0]]])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_is_refused(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a number|rows of one length are expected"):
        NUMBERS[name](**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
def test_too_many_axes_are_refused(name):
    with pytest.raises(ValueError, match=r"at most . axes, got shape|must be a number, or one per class"):
        NUMBERS[name](**{name: [[[[1.0]]]]})


def test_hyperparameters_that_data_may_set_are_none_by_default():
    for family in (nb.Normal(loc=None, rate=None), nb.Poisson(rate=None), nb.MultivariateNormal(df=None, scale=None)):
        assert np.isfinite(nb.fit_posterior(nb.NaiveBayes(family), [[1.0], [0.0]], [0, 1]).log_evidence)


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="float32 alone has these bounds")
@pytest.mark.parametrize(
    "family",
    [
        nb.Bernoulli(1e60, 1.0),
        nb.Bernoulli(b=1e-60),
        nb.Categorical(2, 1e60),
        nb.Multinomial(1e-60),
        nb.Poisson(rate=1e60),
        nb.Normal(loc=1e60),
        nb.Normal(loc=1e25),
        nb.Normal(rate=1e-60),
        nb.MultivariateNormal(loc=1e25),
        nb.MultivariateNormal(scale=[[1e60]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("fit", [nb.fit_posterior, nb.fit_map, nb.leave_one_out])
def test_what_float32_cannot_hold_is_refused_beside_jax_rows(family, fit):
    X, y = np.array([[1.0], [0.0], [1.0]]), np.array([0, 1, 1])
    model = nb.NaiveBayes(family, num_classes=2)
    assert np.isfinite(nb.fit_posterior(model, X, y).log_evidence)
    sentence = r"block 'x', .* in float32: .* must be .*most 1e\+(30|18).*JAX_ENABLE_X64"
    with pytest.raises(ValueError, match=sentence):
        fit(model, jnp.asarray(X), jnp.asarray(y))
    with pytest.raises(ValueError, match=sentence):
        jax.jit(lambda X, y: fit(model, X, y))(X, y)


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="float32 alone has these bounds")
def test_the_class_concentration_has_them_too():
    model = nb.NaiveBayes(nb.Bernoulli(), class_concentration=1e60)
    with pytest.raises(ValueError, match=r"in float32, NaiveBayes: class_concentration must be .*JAX_ENABLE_X64"):
        nb.fit_posterior(model, jnp.asarray([[1.0], [0.0]]), jnp.asarray([0, 1]))
