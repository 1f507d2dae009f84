"""Bugs seen in other Naive Bayes systems: each fact holds here; tests/laws.py has weights, batches, missing cells."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

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
def test_a_class_of_one_value(lane):
    """One class repeats a single value, another spreads. https://github.com/mljs/naive-bayes/issues/8"""
    X, y = np.array([[3.0], [3.0], [3.0], [1.0], [2.0], [6.0], [8.0]]), np.array([0, 0, 0, 1, 1, 1, 1])
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    for proba in lane(lambda X, y: [fit(model, X, y).predict_proba(X) for fit in FITS], X, y):
        assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
        assert_array_equal(proba.argmax(axis=1)[np.array([0, 5, 6])], [0, 1, 1])


# counts and weights


def test_counting_past_2_to_the_24_in_batches():
    """float32 stops counting at 2^24 = 16,777,216: single rows that come later would be lost."""
    model, row = nb.NaiveBayes(nb.Bernoulli(), num_classes=2), np.ones((1, 1), np.float32)
    statistics = nb.sufficient_statistics(model, row, [0], sample_weight=[2.0**24])
    for _ in range(50):
        statistics = nb.merge(statistics, nb.sufficient_statistics(model, row, [0]))
    assert_array_equal(statistics.class_counts, [2**24 + 50, 0])
    assert_array_equal(statistics.blocks["x"].successes, [[2**24 + 50], [0]])


def test_counting_past_2_to_the_24_inside_jit():
    model, rows = nb.NaiveBayes(nb.Bernoulli(), num_classes=2), 2**24 + 3
    count = jax.jit(lambda X, y: nb.sufficient_statistics(model, X, y))
    statistics = count(jnp.ones((rows, 1), bool), jnp.zeros(rows, jnp.int8))
    assert_array_equal(statistics.class_counts, [rows, 0])
    assert_array_equal(statistics.blocks["x"].successes, [[rows], [0]])
    assert_array_equal(statistics.blocks["x"].trials, [[rows], [0]])


# classes


@both
def test_rows_of_one_class(lane):
    """y shows a single class, and the class probabilities are given.
    https://github.com/scikit-learn/scikit-learn/issues/17926"""
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.5, 0.5])
    proba = lane(lambda X, y: [fit(model, X, y).predict_proba(X) for fit in FITS], PAIR, np.array([1, 1]))
    assert_allclose(proba, np.full((3, 2, 2), 0.5), rtol=1e-6)  # each column was 1 half of the time


# JAX


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Categorical(2), nb.Multinomial()])
def test_gradients_at_a_zero_probability(family):
    """The gradients of 0 · log p and of xlogy(0, p) at p = 0 are NaN; those of a possible row are finite, and right."""
    model = nb.NaiveBayes(family, num_classes=2)
    params = jax.tree.map(jnp.asarray, nb.fit_mle(model, PAIR, [0, 1]).params)
    rows = jnp.asarray(PAIR[:1])

    def density(params):
        return nb.PointEstimate(model, params).log_density(rows)[0]

    gradient = jax.jit(jax.grad(density))(params)
    for site, value in gradient.items():
        assert np.isfinite(value).all(), site
    # log p(x) = log p(y = 0) + ..., since class 1 is impossible
    assert_allclose(gradient["class_probs"], [2, 0], rtol=1e-5)


@pytest.mark.slow
def test_many_fits_under_vmap(rng):
    """Bootstrap weights: a batch of fits is those fits, one by one."""
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    weights = rng.integers(0, 4, (5, 20))
    model = nb.NaiveBayes({"reals": nb.Normal(), "flags": nb.Bernoulli()}, num_classes=2)
    rows = {"reals": jnp.asarray(X), "flags": jnp.asarray(X > 0)}

    def proba(weight):
        return nb.fit_posterior(model, rows, jnp.asarray(y), sample_weight=weight).predict_proba(rows)

    batch = jax.jit(jax.vmap(proba))(jnp.asarray(weights))
    host = {"reals": X, "flags": X > 0}
    for weight, found in zip(weights, batch, strict=True):
        expected = nb.fit_posterior(model, host, y, sample_weight=weight).predict_proba(host)
        assert_allclose(found, expected, rtol=1e-4)


def test_a_new_number_of_rows_compiles_nothing_new(rng, compilations):
    """Fifty sizes of test set cost a handful of compilations; one each made it 318 times slower."""
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), rng.normal(size=(20, 7)), np.arange(20) % 2)
    del compilations[:]
    for rows in range(1, 51):
        assert fit.predict_proba(np.zeros((rows, 7))).shape == (rows, 2)
    jax.jit(lambda x: 7.0 * x)(1.0)  # is noticed
    assert 1 <= len(compilations) <= 12


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([1, "1", 1, "1"], "several types, 'int', 'str'"),
        (["a", "b", np.nan, "a"], "missing label in row 2"),
        ([True, 2, True, 2], "several types, 'bool', 'int'"),
        ([2**53, 2**53 + 1, 1.0, 1.0], "several types, 'float', 'int'"),
        (["x", "x\0", "y", "y"], "ends in a NUL character"),
    ],
)
def test_labels_of_a_list_do_not_become_each_other(labels, sentence):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match=sentence):
        nb.NaiveBayesClassifier().fit(X, labels)


def test_whole_numbers_among_floats_are_labels():
    X = np.arange(8.0).reshape(4, 2)
    assert nb.NaiveBayesClassifier().fit(X, [1, 2.0, 1.0, 2]).classes_.tolist() == [1.0, 2.0]
