"""What Binomial and Poisson columns have in common: types of counts, sums past int32, other blocks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from tests import cases
from tests.families.count_rows import EVENTS, RANDOM, N, Y, class_counts, log_class_mean, rows

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


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_many_documents_of_few_words_are_looked_up(dtype):
    """The predictive of a document is Dirichlet-multinomial; a row that is missing says nothing."""
    x, y = np.minimum(RANDOM.poisson(0.4, (300, 6)), 1 if dtype is bool else 5).astype(dtype), np.arange(300) % 3
    model = nb.NaiveBayes(nb.Multinomial([0.3, 1.0, 2.0, 1.0, 0.5, 4.0]), class_probs=[0.2, 0.3, 0.5])
    fit = nb.fit_posterior(model, x, y)
    counts = x.astype(int)
    concentration = np.stack([model.families["x"].concentration + counts[k == y].sum(axis=0) for k in range(3)])
    law = stats.dirichlet_multinomial(concentration[None], counts.sum(axis=1)[:, None])
    expected = law.logpmf(counts[:, None]) + np.log(model.class_probs)
    assert_allclose(fit.log_joint(x), expected, rtol=1e-10)
    if dtype is np.float32:
        with np.errstate(all="raise"):
            assert np.isfinite(fit.log_joint(x * np.float32(1e20))).all()
        x[7] = np.nan
        assert_allclose(fit.log_joint(x), np.where(np.arange(300)[:, None] == 7, np.log(model.class_probs), expected))


def test_pairs_and_counts_beside_other_blocks():
    """log p(y, x) is the sum over blocks, less the class prior counted more than once."""
    X = {"tries": rows("pair"), "events": EVENTS, "size": RANDOM.normal(size=(N, 3))}
    families = {"tries": nb.Binomial(None), "events": nb.Poisson(), "size": nb.Normal()}
    whole = nb.fit_posterior(nb.NaiveBayes(families), X, Y)
    parts = [nb.fit_posterior(nb.NaiveBayes(families[name]), X[name], Y) for name in X]
    log_joint = sum(part.log_joint(X[name]) for name, part in zip(X, parts, strict=True))
    assert_allclose(whole.log_joint(X), log_joint - 2 * log_class_mean(class_counts()), rtol=1e-10)


@pytest.mark.parametrize("layout", [np.asarray, scipy.sparse.csr_array])
def test_odds_of_enormous_counts_keep_their_digits(layout):
    """Gamma(p + x) / Gamma(q + x) of whole p - q is a product of few factors, which is the oracle."""
    counts, y = np.array([[2, 5, 1], [3, 1, 4], [1, 2, 2], [4, 4, 9]]), np.array([0, 0, 1, 1])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), counts, y)
    a, rows = (
        np.asarray(fit.model.families["x"].concentration),
        np.array([[1e9, 2, 3], [1e9, 1e9, 1e9], [5e9, 1e9, 0.5]]),
    )

    def ratio(p, q, x):  # log of Gamma(p + x) Gamma(q) / (Gamma(q + x) Gamma(p))
        return np.sign(p - q) * sum(np.log1p(x / j) for j in range(int(min(p, q)), int(max(p, q))))

    for row, found in zip(rows, fit.log_joint(layout(rows)), strict=True):
        words = sum(ratio(a[0, d], a[1, d], row[d]) for d in range(3))
        expected = words - ratio(a[0].sum(), a[1].sum(), row.sum())
        assert_allclose(found[0] - found[1], expected, atol=3e-6)
