"""A population whose classes have other probabilities: their MAP, their interval and the fit for it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests.core.fits.shifted_rows import KNOWN, SHIFTED, by_em, rows


def test_the_map_has_the_prior_of_the_model():
    model = nb.NaiveBayes(nb.Normal(), class_concentration=[3.0, 1.5, 8.0])
    X = rows(SHIFTED, 40)
    found = nb.estimate_class_probs(nb.PointEstimate(model, KNOWN.params), X)
    assert_allclose(found.class_probs, by_em(X, np.array([2.0, 0.5, 7.0])), atol=1e-5)
    # of a posterior it is the prior before the labelled rows, which are of another population
    labels = np.random.default_rng(1).integers(0, 3, 60)
    post = nb.fit_posterior(model, rows([0.4, 0.3, 0.3], 60), labels)
    same = nb.PointEstimate(post.prior, post.model.reference())
    few = rows(SHIFTED, 1)
    assert_allclose(nb.estimate_class_probs(post, few).class_probs.sum(), 1.0)
    assert_allclose(
        nb.estimate_class_probs(post, few).class_probs, nb.estimate_class_probs(same, few).class_probs, atol=0.05
    )


SAME = pytest.param(np.array([0.4, 0.3, 0.3]), marks=pytest.mark.slow, id="without a shift")


@pytest.mark.parametrize("probs", [pytest.param(SHIFTED, id="shifted"), SAME])
def test_the_interval_covers_as_often_as_it_says(probs):
    inside = np.zeros(3)
    for seed in range(200):
        low, high = nb.estimate_class_probs(KNOWN, rows(probs, 150, seed), level=0.8).interval
        inside += (low <= probs) & (probs <= high)
    assert (abs(inside / 200 - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 200)).all(), inside


def test_a_class_that_is_not_there_and_the_only_class():
    X = rows([0.0, 0.0, 1.0], 500) + np.array([-2.0, 6.0])
    found = nb.estimate_class_probs(KNOWN, X)
    assert_array_equal(found.class_probs[:2], 0.0)
    assert (found.interval.low >= 0).all()
    assert np.isfinite(found.interval).all()
    alone = nb.fit_posterior(nb.NaiveBayes(nb.Normal(), num_classes=1), X, np.zeros(500, int))
    one = nb.estimate_class_probs(alone, X)
    assert_array_equal(one.class_probs, [1.0])
    assert_array_equal(one.interval, np.ones((2, 1)))


def test_the_fit_is_for_the_new_population():
    X = rows(SHIFTED, 50)
    found = nb.estimate_class_probs(KNOWN, X)
    expected = KNOWN.with_class_probs(found.class_probs).predict_proba(X)
    assert_array_equal(found.fit.predict_proba(X), expected)
    on_device = nb.estimate_class_probs(KNOWN, jnp.asarray(X))
    assert isinstance(on_device.class_probs, jax.Array)
    assert_allclose(on_device.class_probs, found.class_probs, atol=1e-4)


def test_an_estimator_has_another_population_too():
    labels = np.array(["a", "b", "c"])
    train = rows([0.4, 0.3, 0.3], 300)
    y = labels[KNOWN.predict(train)]
    clf, X = nb.NaiveBayesClassifier(temper=False).fit(train, y), rows(SHIFTED, 100)
    found = nb.estimate_class_probs(clf, X)
    assert_array_equal(found.class_probs, nb.estimate_class_probs(clf.fit_, X).class_probs)
    moved = found.fit.predict_proba(X)
    assert_array_equal(moved, clf.predict_proba(X, class_prior=found.class_probs))
    by_label = dict(zip(labels, found.class_probs, strict=True))
    assert_array_equal(moved, clf.predict_proba(X, class_prior=by_label))
    uniform = clf.fit_.with_class_probs([1 / 3] * 3).predict_proba(X)
    assert_array_equal(clf.predict_proba(X, class_prior="uniform"), uniform)
    assert clf.class_prior is None  # the estimator itself has not changed
    again = found.fit.partial_fit(train, y)
    assert_allclose(again.fit_.model.class_mean(), found.class_probs)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: nb.estimate_class_probs(KNOWN, rows(SHIFTED, 5), method="em"), "method must be 'map' or 'mle'"),
        (lambda: nb.estimate_class_probs(KNOWN, rows(SHIFTED, 5), level=1.0), "level must be a probability"),
        (lambda: nb.estimate_class_probs(KNOWN, np.zeros((0, 2))), "at least one row"),
        (lambda: nb.estimate_class_probs(KNOWN.model, np.zeros((3, 2))), "takes a fit"),
        (lambda: jax.jit(lambda X: nb.estimate_class_probs(KNOWN, X).class_probs)(jnp.zeros((3, 2))), "transformation"),
        (lambda: nb.NaiveBayesClassifier().fit([[0.0], [1.0]], [0, 1]).with_class_prior(None), "got None"),
        (
            lambda: nb.NaiveBayesClassifier().fit([[0.0], [1.0]], [0, 1]).predict_proba([[0.0]], class_prior={0: 1.0}),
            "a probability for each of the labels",
        ),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
