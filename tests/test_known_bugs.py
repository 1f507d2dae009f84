"""Bugs seen in other Naive Bayes systems: zero probabilities, underflow, tails and variances. Each fact holds here."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

import bayesnb as nb
from tests.both_lanes import FAMILIES, FITS, PAIR, both

COLUMNS = {"bernoulli": nb.Bernoulli(), "multinomial": nb.Multinomial(), "categorical": nb.Categorical(2)}


def normal(loc, variance, class_probs):
    params = {"class_probs": class_probs, "x_loc": np.array(loc), "x_variance": np.array(variance)}
    return nb.PointEstimate(nb.NaiveBayes(nb.Normal()), params)


# zero probabilities


@both
@pytest.mark.parametrize("name", COLUMNS)
def test_no_smoothing_and_a_valid_row(lane, name):
    """A zero probability beside a zero count is 0 · log 0 = 0; as a matrix product it is NaN.
    https://github.com/scikit-learn/scikit-learn/issues/5814, https://github.com/scikit-learn/scikit-learn/pull/22269
    """
    model = nb.NaiveBayes(COLUMNS[name], num_classes=2)
    proba = lane(lambda X, y: nb.fit_mle(model, X, y).predict_proba(X), PAIR, np.array([0, 1]))
    assert_array_equal(proba, np.eye(2))


@both
def test_a_row_impossible_under_every_class(lane):
    """The class with the fewest impossible features wins, then the finite part decides; the joint density is zero. NaN
    elsewhere."""
    model = nb.NaiveBayes(nb.Bernoulli())
    params = {"class_probs": np.array([0.5, 0.5]), "x_probs": np.array([[0.0, 0.0, 0.5], [0.0, 0.6, 0.9]])}
    rows = np.array([[1, 1, 1], [1, 0, 0]])

    def predict(X):
        known = nb.PointEstimate(model, params)
        return known.log_joint(X), known.log_density(X), known.predict_proba(X)

    log_joint, log_density, proba = lane(predict, rows)
    assert_array_equal(log_joint, np.full((2, 2), -np.inf))
    assert_array_equal(log_density, [-np.inf, -np.inf])
    # two impossible features against one; then one against one, with 1 · .5 against .4 · .1 for the other two
    assert_allclose(proba, [[0, 1], [0.5 / 0.54, 0.04 / 0.54]], rtol=1e-5)


@both
def test_tiny_smoothing(lane):
    """With smoothing 1e-20 the probability of a zero is not 1 - p, which rounds to 0 and then gives NaN."""
    model = nb.NaiveBayes(nb.Bernoulli(a=1e-20, b=1e-20), num_classes=2)
    for log_proba, other in zip(
        lane(lambda X, y: [fit(model, X, y).predict_log_proba(X) for fit in FITS], PAIR, np.array([0, 1])),
        (-np.inf, -np.inf, 2 * np.log(1e-20)),
        strict=True,
    ):
        assert_allclose(log_proba, [[0, other], [other, 0]], rtol=1e-6)


@both
@pytest.mark.parametrize("family", FAMILIES)
def test_a_declared_class_without_rows(lane, family):
    """It has probability zero for the MLE and its prior predictive for full Bayes, without a warning.
    https://github.com/scikit-learn/scikit-learn/pull/13280"""
    model, y = nb.NaiveBayes(family, num_classes=3), np.array([0, 0, 2, 2])
    X = np.concatenate([PAIR, PAIR])
    mle, full = lane(lambda X, y: [f(model, X, y).predict_proba(X) for f in (nb.fit_mle, nb.fit_posterior)], X, y)
    assert_array_equal(mle[:, 1], 0)
    assert_allclose(mle.sum(axis=1), 1, rtol=1e-6)
    assert (np.asarray(full) > 0).all()


# underflow and tails


@both
@pytest.mark.parametrize("name", ["normal", "categorical"])
def test_hundreds_of_features(lane, name, rng):
    """The product of 800 densities underflows; their logs add up.
    https://github.com/majkamichal/naivebayes/issues/4, https://github.com/mlpack/mlpack/pull/2022,
    https://github.com/online-ml/river/pull/457
    """
    y = np.arange(40) % 2
    if name == "normal":
        X, model = rng.normal(0.2 * y[:, None], 1.0, (40, 800)), nb.NaiveBayes(nb.Normal(), num_classes=2)
        parts = [X[y == k] for k in (0, 1)]
        logs = [stats.norm.logpdf(X, part.mean(axis=0), part.std(axis=0)).sum(axis=1) for part in parts]
    else:
        X, model = rng.integers(0, 3, (40, 400)), nb.NaiveBayes(nb.Categorical(3), num_classes=2)
        counts = np.array([(X[y == k, :, None] == np.arange(3)).sum(axis=0) for k in (0, 1)])
        probs = counts / counts.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            logs = [np.log(probs[k, np.arange(400), X]).sum(axis=1) for k in (0, 1)]
    expected = special.softmax(np.transpose(logs), axis=1)
    proba = lane(lambda X, y: nb.fit_mle(model, X, y).predict_proba(X), X, y)
    assert_allclose(proba, expected, rtol=2e-3, atol=1e-6)


@both
def test_far_in_the_tail(lane):
    """At x = 60 the classes N(0, 1) and N(5, 1) both have density 0 in floating point; the log odds are 287.5."""
    known = normal([[0.0], [5.0]], [[1.0], [1.0]], [0.5, 0.5])
    log_proba = lane(known.predict_log_proba, np.array([[60.0]]))
    assert_allclose(log_proba, [[-287.5, 0]], rtol=1e-6)


@both
@pytest.mark.parametrize("fit", [None, nb.fit_posterior])
def test_so_far_that_squares_overflow(lane, fit):
    """At x = 1e20 a square overflows float32. The class of larger variance is the likelier, and nothing is NaN."""
    X, y = np.array([[0.0], [1], [2], [0], [10], [20]]), np.arange(6) // 3
    known = (
        normal([[1.0], [10.0]], [[1.0], [100.0]], [0.5, 0.5]) if fit is None else fit(nb.NaiveBayes(nb.Normal()), X, y)
    )
    proba = lane(known.predict_proba, np.array([[1e20]], np.float32))
    assert np.isfinite(proba).all()
    assert proba[0, 1] > 0.5


@both
def test_no_floor_reverses_the_order(lane):
    """A floor under small densities lets a class 40 standard deviations away beat one at 6: log odds must grow with
    distance."""
    known = normal([[0.0], [1.0]], [[1.0], [4.0]], [0.9, 0.1])
    x = np.concatenate([[6.0, 40.0], np.logspace(1, 15, 40)])
    log_joint = lane(known.log_joint, np.sort(x)[:, None])
    odds = np.diff(np.asarray(log_joint, float), axis=1)[:, 0]
    assert (np.diff(odds) > 0).all()
    exact = stats.norm.logpdf(6.0, 1, 2) - stats.norm.logpdf(6.0) + np.log(0.1 / 0.9)
    assert_allclose(odds[0], exact, rtol=1e-5)


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Categorical(2), nb.Multinomial(), nb.Normal()])
def test_one_row_is_a_batch_of_one(family):
    """Squeezing an axis away breaks on one row."""
    for fit in FITS:
        fitted = fit(nb.NaiveBayes(family), np.concatenate([PAIR, PAIR]), np.array([0, 1, 1, 1]))
        whole = fitted.predict_proba(PAIR)
        # the MLE's smallest variances leave products of 1e9, which round by the shape of what is multiplied
        assert_allclose(np.concatenate([fitted.predict_proba(row[None]) for row in PAIR]), whole, rtol=1e-6)


# variances


@both
@pytest.mark.parametrize("mean", [1e4, 1e6])
def test_variance_far_from_zero_in_float32(lane, mean, rng):
    """E[x^2] - E[x]^2 cancels: 8 for a variance of 1 at mean 1e4."""
    X = rng.normal(mean, 1.0, (500, 2)).astype(np.float32)
    y = np.arange(500) % 2
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    variance = lane(lambda X, y: nb.fit_mle(model, X, y).params["x_variance"], X, y)
    exact = [X[y == k].astype(np.float64).var(axis=0) for k in (0, 1)]
    assert_allclose(variance, exact, rtol=1e-5)


@both
def test_rescaling_a_column_changes_nothing(lane, rng):
    """Smoothing by a share of the largest variance of all columns drowns the small ones.
    https://github.com/scikit-learn/scikit-learn/issues/5314, https://github.com/scikit-learn/scikit-learn/issues/24732"""
    y = np.arange(60) % 2
    X = rng.normal(y[:, None] * [0.0, 2.0], 1.0, (60, 2))
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)

    def predict(X, y):
        return [fit(model, X, y).predict_proba(X) for fit in FITS]

    plain, scaled = lane(predict, X, y), lane(predict, X * [2.0**24, 2.0**-7], y)
    assert_allclose(scaled, plain, rtol=1e-5)
    assert (np.asarray(plain).argmax(axis=2) == y).mean() > 0.75


@both
def test_batches_equal_the_whole(lane, rng):
    """Batches in any order, some without a class, give the fit of all rows: smoothing is no part of the statistics.
    https://github.com/scikit-learn/scikit-learn/issues/14054, https://github.com/RubixML/ML/pull/450,
    https://github.com/NVIDIA/cuml/pull/8316, https://github.com/NVIDIA/cuml/issues/7203
    """
    y = np.sort(np.arange(50) % 3)
    X = rng.normal(y[:, None], 1.0, (50, 2))
    model = nb.NaiveBayes(nb.Normal(), num_classes=3)
    whole = nb.fit_posterior(model, X, y).predict_proba(X)

    def streamed(X, y, *cuts):
        parts = [nb.sufficient_statistics(model, X[a:b], y[a:b]) for a, b in zip((0, *cuts), (*cuts, 50), strict=True)]
        merged = parts[-1]
        for part in parts[:-1]:
            merged = nb.merge(merged, part)
        return nb.fit_posterior(model, statistics=merged).predict_proba(X)

    for cuts in [(1, 7, 40), (25,)]:
        assert_allclose(lane(lambda X, y, cuts=cuts: streamed(X, y, *cuts), X, y), whole, rtol=2e-5)


@both
def test_constant_columns(lane):
    """A column without spread says nothing: the class prior decides; a variance of 0 gives NaN elsewhere."""
    y = np.array([0, 1, 1, 1])
    model = nb.NaiveBayes(nb.Normal(), class_probs=[0.2, 0.8])

    def predict(X, y, new):
        return [fit(model, X, y).predict_proba(new) for fit in FITS]

    for value in (0.0, 0.1, 1e6):
        for proba in lane(predict, np.full((4, 2), value), y, np.array([[value, value], [7.0, 7.0]])):
            assert_allclose(proba, [[0.2, 0.8]] * 2, rtol=1e-6)


@both
def test_a_class_of_one_value(lane):
    """One class repeats a single value, another spreads. https://github.com/mljs/naive-bayes/issues/8"""
    X, y = np.array([[3.0], [3.0], [3.0], [1.0], [2.0], [6.0], [8.0]]), np.array([0, 0, 0, 1, 1, 1, 1])
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    for proba in lane(lambda X, y: [fit(model, X, y).predict_proba(X) for fit in FITS], X, y):
        assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
        assert_array_equal(proba.argmax(axis=1)[np.array([0, 5, 6])], [0, 1, 1])
