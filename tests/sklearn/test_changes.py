"""A fitted classifier that changes: rows that it forgets."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb


def a_frame(num_rows=80, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["no", "yes", "perhaps"])[rng.integers(0, 3, num_rows)]
    frame = pd.DataFrame(
        {
            "smokes": rng.integers(0, 2, num_rows),
            "blood": np.array(["0", "A", "B"])[rng.integers(0, 3, num_rows)],
            "age": rng.normal(50.0 + 5.0 * (y == "yes"), 9.0),
        }
    )
    frame.loc[3, "age"] = np.nan
    return frame, y


FRAME, Y = a_frame()
WEIGHT = np.random.default_rng(5).uniform(0.5, 2.0, 80)
SOME = np.arange(80) % 3 == 0


@pytest.mark.parametrize("method", ["posterior", "map", "mle"])
def test_what_is_forgotten_was_never_there(method):
    clf = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, method=method, temper=False)
    clf.fit(FRAME, Y, sample_weight=WEIGHT).forget(FRAME[SOME], Y[SOME], sample_weight=WEIGHT[SOME])
    rest = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, method=method, temper=False)
    rest.fit(FRAME[~SOME], Y[~SOME], sample_weight=WEIGHT[~SOME])
    assert_allclose(clf.predict_proba(FRAME), rest.predict_proba(FRAME), rtol=1e-9)
    assert_allclose(clf.class_count_, rest.class_count_)
    clf.partial_fit(FRAME[SOME], Y[SOME], sample_weight=WEIGHT[SOME])
    whole = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, method=method, temper=False)
    whole.fit(FRAME, Y, sample_weight=WEIGHT)
    assert_allclose(clf.predict_proba(FRAME), whole.predict_proba(FRAME), rtol=1e-9)


def test_codes_words_and_a_class_that_is_left_without_rows():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (40, 3)), np.repeat([0, 1], 20)
    clf = nb.NaiveBayesClassifier("categorical").fit(X, y).forget(X[20:], y[20:])
    assert_array_equal(clf.class_count_, [20.0, 0.0])
    assert_array_equal(clf.classes_, [0, 1])
    again = clf.partial_fit(X[20:], y[20:])
    assert_allclose(again.predict_proba(X), nb.NaiveBayesClassifier("categorical").fit(X, y).predict_proba(X))
    words = nb.NaiveBayesClassifier("multinomial").fit(X, y).forget(X[:5], y[:5])
    assert_allclose(words.predict_proba(X), nb.NaiveBayesClassifier("multinomial").fit(X[5:], y[5:]).predict_proba(X))


@pytest.mark.parametrize(
    ("rows", "labels", "sentence"),
    [
        (FRAME.assign(blood="AB")[:1], Y[:1], "a category that no fitted row had"),
        (FRAME.assign(age=300.0)[:1], Y[:1], "cannot have been counted"),
        (FRAME[:2], ["no", "never"], "never"),
        (pd.concat([FRAME] * 2), np.tile(Y, 2), "cannot have been counted"),
    ],
)
def test_what_was_not_fitted_is_refused_and_nothing_is_lost(rows, labels, sentence):
    clf = nb.NaiveBayesClassifier(temper=False).fit(FRAME, Y)
    before = clf.predict_proba(FRAME)
    with pytest.raises(ValueError, match=sentence):
        clf.forget(rows, labels)
    assert_array_equal(clf.predict_proba(FRAME), before)


def test_powers_cannot_be_unlearned():
    numbers = FRAME[["age"]].fillna(0.0).to_numpy()
    tempered = nb.temper(nb.NaiveBayesClassifier("normal").fit(numbers, Y), numbers, Y)
    fits = (nb.NaiveBayesClassifier("normal", temper=True), nb.NaiveBayesClassifier())
    for clf in (tempered, *(clf.fit(numbers, Y) for clf in fits)):
        with pytest.raises(ValueError, match="the fit learned powers from the rows that are to be forgotten"):
            clf.forget(numbers[:1], Y[:1])


def test_rows_fade_in_their_order_whatever_the_batches():
    clf = lambda: nb.NaiveBayesClassifier({"smokes": "bernoulli"}, forgetting=0.95, temper=False)  # noqa: E731
    classes = ["no", "perhaps", "yes"]
    whole = clf().partial_fit(FRAME, Y, classes, sample_weight=WEIGHT)
    parts = clf()
    for rows in np.split(np.arange(80), [3, 30, 31]):
        parts.partial_fit(FRAME.iloc[rows], Y[rows], classes, sample_weight=WEIGHT[rows])
    assert_allclose(parts.predict_proba(FRAME), whole.predict_proba(FRAME), rtol=1e-9)
    faded = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, temper=False)
    faded.fit(FRAME, Y, sample_weight=WEIGHT * 0.95 ** np.arange(80)[::-1])
    assert_allclose(whole.predict_proba(FRAME), faded.predict_proba(FRAME), rtol=1e-9)
    # fit counts all rows alike, and a row of weight zero is no step in time
    plain = nb.NaiveBayesClassifier({"smokes": "bernoulli"}, temper=False).fit(FRAME, Y)
    assert_array_equal(clf().fit(FRAME, Y).predict_proba(FRAME), plain.predict_proba(FRAME))
    some = clf().partial_fit(FRAME, Y, classes, sample_weight=WEIGHT * SOME)
    alone = clf().partial_fit(FRAME[SOME], Y[SOME], classes, sample_weight=WEIGHT[SOME])
    assert_allclose(some.predict_proba(FRAME), alone.predict_proba(FRAME), rtol=1e-9)


def test_bad_forgetting():
    with pytest.raises(ValueError, match="forgetting must be a number from 0"):
        nb.NaiveBayesClassifier(forgetting=1.5).partial_fit(FRAME, Y, np.unique(Y))
    with pytest.raises(ValueError, match="forgetting must be a number from 0"):
        nb.NaiveBayesClassifier(forgetting=1.5).fit(FRAME, Y)
    clf = nb.NaiveBayesClassifier(forgetting=0.9).partial_fit(FRAME, Y, np.unique(Y))
    with pytest.raises(ValueError, match="have faded under forgetting"):
        clf.forget(FRAME[:1], Y[:1])


def test_rows_of_blocks_fade():
    rng = np.random.default_rng(0)
    X, y = {"p": rng.normal(size=(60, 2)), "q": rng.poisson(3, (60, 1))}, np.array([*"ab"])[np.arange(60) % 2]
    clf = nb.NaiveBayesClassifier({"p": "normal", "q": "poisson"}, forgetting=0.9)
    whole = clf.partial_fit(X, y, classes=["a", "b"]).predict_proba(X)
    parts = nb.NaiveBayesClassifier({"p": "normal", "q": "poisson"}, forgetting=0.9)
    for some in (slice(0, 7), slice(7, 60)):
        parts.partial_fit({name: x[some] for name, x in X.items()}, y[some], classes=["a", "b"])
    assert_allclose(parts.predict_proba(X), whole, rtol=1e-6)


def test_a_category_that_has_all_but_faded_stays():
    blood, y = np.array(["rare", *["p", "q"] * 800]), np.array([*"ab"])[np.arange(1601) % 2]
    frame, fits = pd.DataFrame({"blood": blood}), []
    for split in (1601, 5):
        clf = nb.NaiveBayesClassifier(forgetting=0.5)
        for some in (slice(0, split), slice(split, 1601)):
            if some.start < 1601:
                clf.partial_fit(frame[some], y[some], classes=["a", "b"])
        fits.append(clf.predict_proba(frame))
    assert_allclose(fits[0], fits[1], rtol=1e-6)


def test_weights_of_rows_that_fade():
    """A batch without weight leaves the fit as it was, and a masked weight is refused, as without forgetting."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    clf = nb.NaiveBayesClassifier(forgetting=0.9).partial_fit(X, y)
    before = clf.predict_log_proba(X)
    assert_array_equal(clf.partial_fit(X[:2], y[:2], sample_weight=[0, 0]).predict_log_proba(X), before)
    with pytest.raises(ValueError, match="sample_weight is a masked array with a masked cell in row 0"):
        clf.partial_fit(X, y, sample_weight=np.ma.array(np.ones(20), mask=[True] + [False] * 19))
