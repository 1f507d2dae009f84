"""Powers and mixtures of predictives, scored from changed tables, against their terms cell by cell."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.arrays._compute import compute
from bayesnb.results._combine import mix_block, mixture_terms, raise_block

N, K = 4000, 3


@pytest.fixture(scope="module")
def numbers():
    """A fit whose columns depend on the class surely, perhaps and surely not; rows with missing and far cells."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, K, N)
    x = rng.normal(size=(N, 6)) + y[:, None] * [3.0, 1.0, 0.06, 0.05, 0.0, 0.0]
    fit = nb.fit_averaged(nb.NaiveBayes(nb.Normal()), x, y)
    x = x[:300]
    x[::7, 1], x[::11, 4], x[:2, 5] = np.nan, np.nan, (1e3, 1e200)
    return fit, x


@pytest.mark.parametrize("first", [2, 1, 0], ids=["near", "far", "too far to be squared"])
def test_a_mixture_is_the_sum_of_its_cells(numbers, first):
    fit, x = numbers
    arguments = fit.model.families["x"], fit.pooled["x"], fit.log_odds["x"]
    terms = compute(jax.jit(mixture_terms), *arguments, x[first:])
    assert_allclose(mix_block(*arguments)(x[first:]).finite, terms.sum(axis=2), rtol=1e-10)


@pytest.mark.parametrize(
    "family", [nb.Normal(), nb.Normal(variance="shared"), nb.Bernoulli(), nb.Categorical((2, 4, 3))]
)
def test_powers_and_mixtures_of_every_table(family):
    rng = np.random.default_rng(4)
    y = rng.integers(0, K, 60)
    x = (rng.integers(0, 2, (60, 3)) + (y[:, None] > 0) * isinstance(family, nb.Normal)).astype(float)
    x[::9, 1] = np.nan
    fit = nb.fit_averaged(nb.NaiveBayes(family), x, y)
    own, powers = fit.model.families["x"], np.array([0.0, 0.4, 1.6])
    terms = compute(jax.jit(lambda x: own.log_predictive_terms(x)), x)
    assert_allclose(raise_block(own, powers)(x).finite, terms @ powers, rtol=1e-10)
    arguments = own, fit.pooled["x"], fit.log_odds["x"]
    assert_allclose(mix_block(*arguments)(x).finite, compute(jax.jit(mixture_terms), *arguments, x).sum(axis=2))


def test_rows_of_integers_are_those_of_floats(numbers):
    fit, x = numbers
    whole = np.rint(np.nan_to_num(x[2:]))
    assert_allclose(fit.predict_log_proba(whole.astype(np.int16)), fit.predict_log_proba(whole), rtol=1e-12)
