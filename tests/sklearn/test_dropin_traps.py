"""Cases in which scikit-learn's classes give wrong answers and the drop-in classes do not."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

NAN = np.nan


@pytest.mark.parametrize("alpha", [0, 1e-20])
@pytest.mark.parametrize("NB", [MultinomialNB, BernoulliNB, CategoricalNB, ComplementNB])
def test_without_smoothing_a_seen_row_is_certain(NB, alpha):
    # https://github.com/scikit-learn/scikit-learn/issues/5814
    fit = NB(alpha=alpha).fit([[1, 0], [0, 1]], [0, 1])
    assert_allclose(fit.predict_proba([[1, 0], [0, 1]]), np.eye(2), atol=1e-19)


@pytest.mark.parametrize("NB", [MultinomialNB, BernoulliNB, ComplementNB])
def test_each_column_may_have_its_own_smoothing(NB):
    X, y = [[1, 0, 2], [0, 1, 1]], [0, 1]
    fit, plain, smooth = (NB(alpha=a).fit(X, y) for a in ([0.0, 1.0, 1.0], 0, 1))
    assert_allclose(fit.predict_proba([[1, 0, 1], [2, 0, 0]]), [[1, 0]] * 2)
    if NB is BernoulliNB:
        assert_allclose(fit.feature_log_prob_[:, 0], plain.feature_log_prob_[:, 0])
        assert_allclose(fit.feature_log_prob_[:, 1:], smooth.feature_log_prob_[:, 1:])


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_tiny_smoothing_is_exact_for_ones_and_for_zeros(make):
    # column 0 is always 1 in class 0: a zero there has probability 1e-20 / (2 + 2e-20), and half as much in class 1
    fit = BernoulliNB(alpha=1e-20).fit(make([[1], [1], [1], [1], [1], [1]]), [0, 0, 1, 1, 1, 1])
    assert_allclose(fit.predict_joint_log_proba(make([[0]])), np.log([[1e-20 / 6, 1e-20 / 6]]), rtol=1e-12)
    counts = MultinomialNB(alpha=1e-20).fit(make([[3, 0], [6, 0]]), [0, 1])
    assert_allclose(counts.predict_proba(make([[0, 1]])), [[2 / 3, 1 / 3]], rtol=1e-12)


def test_rows_impossible_under_every_class_have_a_best_class():
    # no column of class 1 is impossible but one; class 0 has two
    fit = BernoulliNB(alpha=0).fit([[1, 1, 1], [0, 0, 1], [1, 0, 1], [0, 0, 1]], [0, 1, 1, 1])
    assert_array_equal(fit.predict_joint_log_proba([[0, 1, 0]]), [[-np.inf, -np.inf]])
    assert_array_equal(fit.predict_proba([[0, 0, 0]]), [[0, 1]])


@pytest.mark.parametrize("norm", [False, True])
def test_complement_without_smoothing_is_the_limit_of_little_smoothing(norm):
    X, y = [[3, 1, 0, 0], [0, 2, 1, 0], [0, 1, 2, 0]], [0, 1, 2]
    exact, near = (ComplementNB(alpha=a, norm=norm).fit(X, y) for a in (0, 1e-300))
    rows = [[1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 3, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    # norm approaches its limit as 1 / log alpha
    assert_allclose(exact.predict_proba(rows), near.predict_proba(rows), atol=0.02 if norm else 1e-12)


@pytest.mark.parametrize("NB", [GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB])
@pytest.mark.parametrize("alpha", [0, 1])
def test_declared_classes_without_rows_are_impossible(NB, alpha):
    parameters = {} if NB is GaussianNB else {"alpha": alpha}
    X = [[0, 1], [1, 2], [2, 1], [1, 0]]
    fit = NB(**parameters).partial_fit(X, [0, 0, 1, 1], classes=[0, 1, 2])
    known = NB(**parameters).fit(X, [0, 0, 1, 1])
    assert_array_equal(fit.predict_log_proba(X)[:, 2], -np.inf)
    assert_allclose(fit.predict_proba(X)[:, :2], known.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("NB", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_without_smoothing_a_class_without_rows_is_like_all_rows(NB):
    X, y = [[0, 1], [1, 1], [1, 0], [1, 1]], [0, 0, 1, 1]
    fit = NB(alpha=0, fit_prior=False).partial_fit(X, y, classes=[0, 1, 2])
    pooled = NB(alpha=0, fit_prior=False).fit(X, np.zeros(4))
    got = fit.predict_joint_log_proba(X)[:, 2]
    assert_allclose(got, pooled.predict_joint_log_proba(X)[:, 0] - np.log(3), rtol=1e-12)


def test_a_class_without_cells_in_a_column_has_the_moments_of_all_rows():
    X, y = np.array([[1.0, 3.0], [2.0, 5.0], [NAN, 1.0], [NAN, 2.0], [6.0, 2.0]]), [0, 0, 1, 1, 2]
    fit = GaussianNB(var_smoothing=0.1).partial_fit(X, y, classes=[0, 1, 2, 3])
    assert_allclose(fit.theta_[1:, 0], [3.0, 6.0, 3.0])
    assert_allclose(fit.var_[[1, 3], 0], 1.1 * np.var([1.0, 2.0, 6.0]))


def test_batches_of_different_scale_are_smoothed_by_all_rows():
    # https://github.com/scikit-learn/scikit-learn/issues/14054
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)) * np.geomspace(1, 1e4, 200)[:, None], rng.integers(0, 2, 200)
    whole, split = GaussianNB(var_smoothing=0.5).fit(X, y), GaussianNB(var_smoothing=0.5)
    for rows in np.array_split(np.arange(200), 5):
        split.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert_allclose(split.var_, whole.var_, rtol=1e-12)
    assert_allclose(split.epsilon_, 0.5 * X.var(axis=0).max(), rtol=1e-12)


def test_constant_columns_change_no_prediction():
    X, y = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 5.0], [0.1, 6.0]]), [0, 0, 1, 1]
    fit, without = GaussianNB().fit(X, y), GaussianNB().fit(X[:, 1:], y)
    assert_array_equal(fit.var_[:, 0], 0)
    rows = np.array([[0.1, 3.0], [9.0, 3.0]])
    assert_allclose(fit.predict_joint_log_proba(rows), without.predict_joint_log_proba(rows[:, 1:]), rtol=1e-12)
    assert_allclose(GaussianNB().fit(X[:, :1], [0, 1, 1, 1]).predict_proba(rows[:, :1]), [[0.25, 0.75]] * 2)
    split = GaussianNB().partial_fit(X[:1], y[:1], classes=[0, 1]).partial_fit(X[1:], y[1:])
    assert_array_equal(split.var_[:, 0], 0)
    for num_rows in range(3, 40):
        rows = np.full((num_rows, 1), 0.1)
        assert_array_equal(GaussianNB().fit(rows, np.arange(num_rows) % 3, np.linspace(1, 2, num_rows)).var_, 0)


def test_without_smoothing_a_class_of_one_value_has_a_narrow_variance():
    fit = GaussianNB(var_smoothing=0).fit([[1.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])
    assert_allclose(fit.var_[:, 0], [1e-9 * 1.5, 1.0])
    assert fit.predict([[1.0], [1.5]]).tolist() == [0, 1]


@pytest.mark.parametrize("NB", [GaussianNB, MultinomialNB, BernoulliNB])
def test_counts_of_single_precision_rows_go_on_beyond_2_to_24(NB):
    row = np.ones((1, 2), np.float32)
    fit = NB().partial_fit(row, [0], classes=[0, 1], sample_weight=[2.0**24])
    for _ in range(3):
        fit.partial_fit(row, [0])
    assert fit.class_count_.dtype == np.float64
    assert_array_equal(fit.class_count_, [2**24 + 3, 0])


def test_the_scale_of_all_weights_changes_no_normal_fit():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), rng.random(60)
    fit, small = GaussianNB().fit(X, y, weight), GaussianNB().fit(X, y, weight * 1e-12)
    for attribute in ("theta_", "var_", "class_prior_", "epsilon_"):
        assert_allclose(getattr(small, attribute), getattr(fit, attribute), rtol=1e-12)
    assert_allclose(small.predict_proba(X), fit.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64])
def test_a_category_that_was_not_fitted_drops_its_factor(dtype):
    X, y = np.array([[0, 1], [1, 1], [2, 1], [2, 0]], dtype), [0, 0, 1, 1]
    fit = CategoricalNB().fit(X, y)
    known = CategoricalNB().fit(X[:, :1], y)
    assert fit.n_categories_.tolist() == [3, 2]
    row = np.array([[2, 200]], dtype)
    assert_allclose(fit.predict_joint_log_proba(row), known.predict_joint_log_proba(row[:, :1]), rtol=1e-12)
    assert_allclose(fit.predict_proba(np.array([[3, 2], [200, 200]], dtype)), np.full((2, 2), 0.5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("NB", [GaussianNB, BernoulliNB, CategoricalNB])
def test_missing_cells_drop_their_factors_in_fit_and_in_predictions(NB, dtype):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = np.floor(rng.normal(size=(80, 3)) ** 2 + y[:, None]).astype(dtype)
    X[rng.random(X.shape) < 0.3] = NAN
    make = partial(NB, var_smoothing=0.0) if NB is GaussianNB else NB  # the smoothing is of all columns
    fit = make().fit(X, y)
    # the columns are independent: each is a fit of the rows that show it, with the class prior of all
    expected = np.log(np.bincount(y) / 80) + np.zeros((80, 2))
    for column in X.T:
        seen = ~np.isnan(column)
        alone = make().fit(column[seen, None], y[seen])
        prior = np.log(np.bincount(y[seen]) / seen.sum())
        expected[seen] += alone.predict_joint_log_proba(column[seen, None]) - prior
    assert_allclose(fit.predict_joint_log_proba(X), expected, rtol=1e-5 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("NB", [GaussianNB, BernoulliNB, CategoricalNB])
def test_a_column_without_cells_changes_no_prediction(NB):
    X, y = np.array([[NAN, 1.0], [NAN, 0.0], [NAN, 2.0], [NAN, 2.0]]), [0, 0, 1, 1]
    fit, without = NB().fit(X, y), NB().fit(X[:, 1:], y)
    if NB is CategoricalNB:
        assert fit.n_categories_.tolist() == [1, 3]
    expected = without.predict_proba(X[:, 1:])
    assert_allclose(fit.predict_proba(X), expected, rtol=1e-12)
    assert_allclose(fit.predict_proba(np.nan_to_num(X)), expected, rtol=1e-12)


@pytest.mark.parametrize("NB", [MultinomialNB, ComplementNB])
def test_a_row_of_counts_that_is_all_missing_is_dropped(NB):
    X, y = np.array([[3.0, 1.0], [1.0, 2.0], [NAN, NAN]]), [0, 1, 1]
    fit, without = NB().fit(X, y), NB().fit(X[:2], y[:2])
    assert_allclose(fit.feature_log_prob_, without.feature_log_prob_)
    expected = [[1 / 3, 2 / 3]] if NB is MultinomialNB else [[0.5, 0.5]]
    assert_allclose(fit.predict_proba(X[2:]), expected)


def test_class_priors_are_divided_by_their_sum():
    fit = MultinomialNB(class_prior=[0.2, 0.6]).fit([[1, 0], [0, 1]], [0, 1])
    assert_allclose(np.exp(fit.class_log_prior_), [0.25, 0.75])
