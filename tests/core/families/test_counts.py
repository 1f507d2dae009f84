"""What Binomial and Poisson columns have in common: types of counts, sums past int32, other blocks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases
from tests.core.families.count_rows import RANDOM

SMALL = {"x": RANDOM.integers(0, 2, (600, 3)) * 37 + 60, "y": np.arange(600) % 3}


@pytest.mark.parametrize(
    "dtype", cases.by_default([np.uint8, np.int8, np.int64, np.float16, np.float32], np.uint8, np.float16)
)
@pytest.mark.parametrize("name", ["poisson", "binomial"])
def test_the_type_of_the_counts_makes_no_difference(name, dtype):
    """Sums of small integers must not wrap around in their own type."""
    x, t, y = SMALL["x"], np.full((600, 3), 120), SMALL["y"]
    plain = x if name == "poisson" else (x, t)
    typed = jax.tree.map(lambda a: a.astype(dtype), plain)
    model = nb.NaiveBayes(nb.Poisson() if name == "poisson" else nb.Binomial(None))
    fit = nb.fit_posterior(model, plain, y)
    expected = fit.log_joint(plain)
    assert_allclose(nb.fit_posterior(model, typed, y).log_joint(typed), expected, rtol=1e-6)
    assert_allclose(nb.fit_posterior(model, typed, y).log_evidence, fit.log_evidence, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
@pytest.mark.parametrize("name", ["poisson", "binomial"])
def test_the_type_of_the_counts_makes_no_difference_on_a_device(name, dtype):
    x, t, y = SMALL["x"], np.full((600, 3), 120), SMALL["y"]
    plain = x if name == "poisson" else (x, t)
    typed = jax.tree.map(lambda a: jnp.asarray(a, dtype), plain)
    model = nb.NaiveBayes(nb.Poisson() if name == "poisson" else nb.Binomial(None))
    expected = nb.fit_mle(model, plain, y).log_joint(plain)
    assert_allclose(nb.fit_mle(model, typed, y).log_joint(typed), expected, rtol=1e-4)


@pytest.mark.parametrize("name", ["poisson", "binomial", "multinomial"])
def test_sums_of_integers_on_a_device_do_not_overflow(name):
    """4,000 cells of 2e6 add up to 8e9, beyond int32."""
    x, y = np.full((4000, 2), [1_500_000, 500_000]), np.arange(4000) % 2
    family, site, expected = {
        "poisson": (nb.Poisson(), "x_rate", [1.5e6, 5e5]),
        "binomial": (nb.Binomial(2_000_000), "x_probs", [0.75, 0.25]),
        "multinomial": (nb.Multinomial(), "x_probs", [0.75, 0.25]),
    }[name]
    fit = nb.fit_mle(nb.NaiveBayes(family), jnp.asarray(x, jnp.int32), jnp.asarray(y))
    assert_allclose(fit.params[site], [expected] * 2, rtol=1e-5)
