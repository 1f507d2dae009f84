"""Bayes factors of models of the same rows, against evidences by scipy; fits of different rows are refused."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln, softmax

import bayesnb as nb
from bayesnb.inspection.compare_evidence import compare_evidence

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 40)
FLAGS = (RNG.random((40, 2)) < 0.2 + 0.6 * Y[:, None]).astype(int)
X = RNG.normal(size=(40, 2)) * (1 + 2 * Y[:, None])


@cache
def normal(variance="own"):
    return nb.fit_posterior(nb.NaiveBayes(nb.Normal(variance=variance)), X, Y)


def beside(X, y, family=None):
    """A fit of the normal model, and one of these rows."""
    return {"a": normal(), "b": nb.fit_posterior(nb.NaiveBayes(family or nb.Normal()), X, y)}


def beta_bernoulli(a):
    """log p(X, y) under Beta(a, a) and a uniform prior of two classes, by betaln."""
    ones = np.array([FLAGS[k == Y].sum(axis=0) for k in (0, 1)])
    count = np.bincount(Y)
    features = betaln(a + ones, a + count[:, None] - ones) - betaln(a, a)
    return features.sum() + betaln(1 + count[0], 1 + count[1])


def test_bayes_factors_are_ratios_of_evidences():
    models = {str(a): nb.NaiveBayes(nb.Bernoulli(a, a)) for a in (0.5, 1.0, 20.0)}
    found = compare_evidence(models, FLAGS, Y)
    expected = {name: beta_bernoulli(float(name)) for name in models}
    assert list(found.log_evidence) == sorted(expected, key=expected.get, reverse=True)
    for name, value in expected.items():
        assert_allclose(found.log_evidence[name], value, rtol=1e-12)
    assert_allclose(found.log_bayes_factor("1.0", "20.0"), expected["1.0"] - expected["20.0"], rtol=1e-9)
    names = list(expected)
    assert_allclose([found.probability[n] for n in names], softmax([expected[n] for n in names]), rtol=1e-9)
    assert found.from_data == {}
    assert "pooled" not in repr(found)
    with pytest.raises(ValueError, match=r"there is no model 'mle': expected one of '1.0'"):
        found.log_bayes_factor("mle", "1.0")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.learned = ()


def test_the_table_says_which_priors_come_from_the_rows():
    given = nb.fit_posterior(nb.NaiveBayes(nb.Normal(0.0, rate=1.0)), X, Y)
    fits = {"own": normal(), "shared": normal("shared"), "given": given}
    found = compare_evidence(fits)
    assert found.from_data == {"own": ("loc", "rate"), "shared": ("loc", "rate")}
    expected = normal().log_evidence - normal("shared").log_evidence
    assert_allclose(found.log_bayes_factor("own", "shared"), expected, rtol=1e-12)
    lines = repr(found).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == list(found.log_evidence)
    assert "own: loc and rate of its prior come from the pooled rows." in lines
    assert "given: " not in repr(found)
    assert lines[-1] == "prior that is given as numbers its evidence is a little too large."
    both = nb.fit_posterior(nb.NaiveBayes({"a": nb.Normal(), "b": nb.Bernoulli()}), {"a": X, "b": FLAGS}, Y)
    assert compare_evidence({"both": both}).from_data == {"both": ("a.loc", "a.rate")}


def test_given_numbers_are_not_from_the_rows_whatever_their_unit():
    given = nb.fit_posterior(nb.NaiveBayes(nb.Normal(0.0, rate=1e-9)), X * 1e-6, Y)
    assert compare_evidence({"given": given}).from_data == {}


def test_a_classifier_that_is_not_fitted_is_named():
    with pytest.raises(ValueError, match="'new' is a NaiveBayesClassifier that is not fitted: call its fit first"):
        compare_evidence({"new": nb.NaiveBayesClassifier()})


def test_a_classifier_has_the_evidence_of_its_fit():
    clf = nb.NaiveBayesClassifier("bernoulli").fit(FLAGS, Y)
    assert_allclose(compare_evidence({"uniform": clf}).log_evidence["uniform"], beta_bernoulli(1.0), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the evidence rises beyond")
def test_the_table_says_which_prior_was_learned():
    learned = nb.fit_empirical(nb.NaiveBayes(nb.Bernoulli()), FLAGS, Y)
    found = compare_evidence({"uniform": nb.NaiveBayes(nb.Bernoulli()), "learned": learned}, FLAGS, Y)
    assert found.learned == ("learned",)
    assert "learned: its prior was learned from these rows, which favours it." in repr(found)
    assert found.log_bayes_factor("learned", "uniform") >= 0


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (lambda: beside(X[:-1], Y[:-1]), "'a' and 'b' are fits of different"),
        (lambda: beside(X + 1, Y), "fits of different rows"),
        (lambda: beside(X, 1 - Y), "fits of different rows"),
        (lambda: beside(X[:, :1], Y), "fits of different rows"),
        (lambda: beside(X + 1, Y, nb.MultivariateNormal()), "fits of different rows"),
        (lambda: {"a": nb.fit_mle(nb.NaiveBayes(nb.Normal()), X, Y)}, "'a' is a PointEstimate, which has no evidence"),
        (lambda: {"a": nb.NaiveBayes(nb.Normal())}, "'a' is a model that is not fitted: give its rows, X and y"),
        (lambda: [normal(), normal("shared")], "takes a dict of fits or models by name, got list"),
        (dict, "takes a dict"),
    ],
)
def test_what_cannot_be_compared_is_refused(models, words):
    given = models()
    with pytest.raises(ValueError, match=words):
        compare_evidence(given)
