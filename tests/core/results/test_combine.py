"""Powers and mixtures of predictives, scored from changed tables, against their terms cell by cell."""

import jax
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays._compute import compute
from bayesnb.core.results._combine import mix_block, mixture_terms, raise_block

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


def words_and_flags(rng):
    """A fit of words and flags, and rows of which one is missing, one empty and one long."""
    y = np.arange(40) % K
    X = {"words": rng.poisson(0.8, (40, 6)) + (np.arange(6) == y[:, None]), "flags": rng.integers(0, 2, (40, 2))}
    X = {name: x.astype(float) for name, x in X.items()}
    X["words"][3], X["words"][4], X["words"][5] = np.nan, 0.0, 50.0
    return nb.fit_posterior(nb.NaiveBayes({"words": nb.Multinomial(), "flags": nb.Bernoulli()}), X, y), X


POWERS = {"length_exponents": 0.6, "class_power": 0.3}


def test_the_powers_of_words_and_of_the_class_prior_by_hand(rng):
    fit, X = words_and_flags(rng)
    powers = [1.4, 0.5, 0.0]
    raised = fit.with_powers(powers, **POWERS)
    plain = {b: nb.explain(fit, X).contributions[:, :, places] for b, places in nb.explain(fit, X).blocks.items()}
    words = np.minimum(1.0, 1.4 * (1.0 + np.nan_to_num(X["words"]).sum(axis=1)) ** -0.6)
    assert words.max() == 1.0
    assert words.min() < 0.2
    prior = 0.3 * np.log(fit.model.class_mean() / fit.model.class_mean()[0])
    expected = prior + words[:, None] * plain["words"].sum(axis=2) + plain["flags"] @ powers[1:]
    found = raised.predict_log_proba(X)
    assert_allclose(found - found[:, :1], expected, atol=1e-10)
    assert_allclose(raised.log_density(X), fit.log_density(X), rtol=1e-12)
    assert_allclose(np.logaddexp.reduce(raised.log_joint(X), axis=1), fit.log_density(X), rtol=1e-12)
    rows = jax.tree.map(jax.numpy.asarray, X)
    assert_allclose(jax.jit(lambda fit, X: fit.predict_log_proba(X))(raised, rows), found, atol=1e-5)
    each = jax.vmap(lambda row: raised.predict_log_proba(jax.tree.map(lambda x: x[None], row))[0])(rows)
    assert_allclose(each, found, atol=1e-5)
    some = {**X, "words": np.nan_to_num(X["words"])}
    sparse = {**some, "words": scipy.sparse.csr_matrix(some["words"])}
    assert_allclose(raised.predict_log_proba(sparse), raised.predict_log_proba(some), rtol=1e-12)


def test_without_an_exponent_it_is_one_power(rng):
    fit, X = words_and_flags(rng)
    one = fit.with_powers(0.7)
    assert (one.length_exponents, one.class_power) == (None, None)
    same = fit.with_powers(0.7, length_exponents=0.0, class_power=1.0)
    assert_allclose(same.predict_log_proba(X), one.predict_log_proba(X), rtol=1e-12)
    assert repr(same).endswith("length_exponents={'words': array[1]}, class_power=1)")


def test_the_odds_of_another_population_do_not_ask_for_the_power_of_the_prior(rng):
    fit, X = words_and_flags(rng)
    raised, probs = fit.with_powers(0.8, **POWERS), np.array([0.1, 0.2, 0.7])
    change = raised.with_class_probs(probs).predict_log_proba(X) - raised.predict_log_proba(X)
    odds = np.log(probs / fit.model.class_mean())
    assert_allclose(change - change[:, :1], np.broadcast_to(odds - odds[0], change.shape), atol=1e-12)
    again = raised.with_class_probs(probs).with_class_probs(fit.model.class_mean())
    assert_allclose(again.predict_log_proba(X), raised.predict_log_proba(X), rtol=1e-10)
    found = nb.estimate_class_probs(raised, X)
    mean = found.fit.predict_proba(X).sum(axis=0)  # the mode under a flat prior is where they agree
    assert_allclose(mean / mean.sum(), found.class_probs, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"length_exponents": 1.5},
            r"length_exponents\['words'\] must be finite and not negative and at most 1, got \[1.5",
        ),
        ({"length_exponents": {"flags": 0.5}}, r"length_exponents must have the blocks \['words'\], got \['flags'\]"),
        ({"class_power": -1.0}, r"class_power\['label'\] must be finite and not negative, got \[-1.0\]"),
        ({"class_power": np.inf}, "must be finite and not negative"),
    ],
)
def test_other_powers_of_words_are_refused(given, words, rng):
    with pytest.raises(ValueError, match=words):
        words_and_flags(rng)[0].with_powers(1.0, **given)
