"""Weights of the classes, which are a prior on them, and decisions under costs."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_sample_weight

import bayesnb as nb

RNG = np.random.default_rng(0)
Y = np.array(["rare", "some", "many"])[RNG.choice(3, 200, p=[0.05, 0.25, 0.7])]
X = RNG.normal(np.array([0.0, 0.7, 1.4])[np.unique(Y, return_inverse=True)[1]][:, None], 1.0, (200, 2))
WEIGHTS = {"rare": 7.0, "many": 0.5}


def classifier(**params):
    return nb.NaiveBayesClassifier("normal", **params)


@pytest.mark.parametrize("weight", ["balanced", WEIGHTS])
def test_decisions_of_the_mle_are_those_of_weighted_rows(weight):
    of_rows = compute_sample_weight(weight, Y)
    weighted = classifier(method="mle").fit(X, Y, sample_weight=of_rows)
    found = classifier(method="mle", class_weight=weight).fit(X, Y)
    assert_allclose(found.predict_proba(X), weighted.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("method", ["posterior", "map", "averaged"])
def test_only_the_class_prior_changes(method):
    plain, found = classifier(method=method).fit(X, Y), classifier(method=method, class_weight=WEIGHTS).fit(X, Y)
    odds = found.predict_proba(X) / plain.predict_proba(X)
    expected = np.array([WEIGHTS.get(label, 1.0) for label in plain.classes_.tolist()])
    assert_allclose(odds / odds[:, :1], np.broadcast_to(expected / expected[0], odds.shape), rtol=1e-9)
    if method == "posterior":
        assert found.fit_.log_evidence == plain.fit_.log_evidence
        assert_array_equal(found.fit_.model.families["x"].strength, plain.fit_.model.families["x"].strength)
        balanced = classifier(method=method, class_weight="balanced").fit(X, Y)
        assert_allclose(balanced.predict_proba(X), plain.predict_proba(X, class_prior="uniform"))


def test_weights_and_probabilities_may_be_a_series_by_label():
    by_label = {"rare": 0.1, "some": 0.2, "many": 0.7}
    for name in ("class_weight", "class_prior"):
        found, expected = (classifier(**{name: of(by_label)}).fit(X, Y) for of in (pd.Series, dict))
        assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    with pytest.raises(ValueError, match="class_weight has a weight for 'few', which is not among the labels"):
        classifier(class_weight=pd.Series({"few": 2.0})).fit(X, Y)


def test_weights_last_while_rows_are_added_and_taken_away():
    whole = classifier(class_weight=WEIGHTS).fit(X, Y)
    parts = classifier(class_weight=WEIGHTS).partial_fit(X[:90], Y[:90], classes=["rare", "some", "many"])
    parts.partial_fit(X[90:], Y[90:])
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    rest = classifier(class_weight=WEIGHTS).fit(X[50:], Y[50:])
    moved = parts.with_class_prior([0.2, 0.3, 0.5])  # known probabilities have no weights
    assert_allclose(moved.partial_fit(X, Y).fit_.model.class_mean(), [0.2, 0.3, 0.5])
    assert_allclose(parts.forget(X[:50], Y[:50]).predict_proba(X), rest.predict_proba(X), rtol=1e-9)


def test_labels_of_least_expected_cost():
    clf = classifier().fit(X, Y)
    costs = np.array([[0.0, 3.0, 1.0], [30.0, 0.0, 1.0], [1.0, 2.0, 0.0]])  # many, rare, some
    expected = clf.classes_[nb.decide(clf.predict_proba(X), costs).labels]
    assert_array_equal(clf.predict(X, costs=costs), expected)
    by_label = {"many": {"rare": 3.0}, "rare": {"many": 30.0}, "some": {"rare": 2.0}}
    assert_array_equal(clf.predict(X, costs=by_label), expected)
    assert (clf.predict(X) != expected).any()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: classifier(class_weight={"never": 2.0}).fit(X, Y), "'never', which is not among the labels"),
        (lambda: classifier(class_weight={"rare": -1.0}).fit(X, Y), "class_weight must be positive"),
        (lambda: classifier(class_weight="equal").fit(X, Y), "None, 'balanced' or a dict"),
        (lambda: classifier().fit(X, Y).predict(X, costs=np.ones((3, 2))), "a column for each of the 3 labels"),
        (lambda: classifier().fit(X, Y).predict(X, costs=np.full((3, 3), np.nan)), "costs must be finite"),
        (lambda: classifier().fit(X, Y).predict(X, costs={"rare": {"never": 1.0}}), "costs name 'rare' and 'never'"),
        (lambda: classifier().fit(X, Y).predict(X, costs={"rare": 3}), "must be a dict of numbers by decision, got 3"),
        (lambda: classifier().fit(X, Y).predict(X, costs={"rare": {"rare": "x"}}), "must be finite numbers, got 'x'"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
