"""The drop-in classes give scikit-learn's attributes and predictions, and right answers where its own are wrong."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from bayesnb import sklearn as dropin
from bayesnb.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

NAMES = ["GaussianNB", "MultinomialNB", "BernoulliNB", "CategoricalNB", "ComplementNB"]
COUNTED = ["MultinomialNB", "ComplementNB", "BernoulliNB"]
ATTRIBUTES = {
    "GaussianNB": ["epsilon_", "theta_", "var_", "class_prior_"],
    "MultinomialNB": ["feature_count_", "feature_log_prob_", "class_log_prior_"],
    "BernoulliNB": ["feature_count_", "feature_log_prob_", "class_log_prior_"],
    "CategoricalNB": ["category_count_", "feature_log_prob_", "class_log_prior_", "n_categories_"],
    "ComplementNB": ["feature_count_", "feature_log_prob_", "class_log_prior_", "feature_all_"],
}
PARAMETERS = {
    "GaussianNB": [{}, {"priors": [0.2, 0.3, 0.5]}, {"var_smoothing": 0.1}],
    "MultinomialNB": [{}, {"alpha": 0.3, "fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}],
    "BernoulliNB": [{}, {"alpha": 0.3, "fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}, {"binarize": 1.5}],
    "CategoricalNB": [{}, {"alpha": 0.3, "fit_prior": False}, {"min_categories": 9}, {"min_categories": [9, 3, 7, 4]}],
    "ComplementNB": [{}, {"alpha": 0.3, "norm": True}],
}
CASES = [(name, parameters) for name in NAMES for parameters in PARAMETERS[name]]
METHODS = ["predict_joint_log_proba", "predict_log_proba", "predict_proba"]


def both(name, **parameters):
    return getattr(dropin, name)(**parameters), getattr(naive_bayes, name)(**parameters)


def data(name, dtype=np.float64, num_rows=90):
    """Columns of unlike scales, and for the other classes counts."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, num_rows)
    if name == "GaussianNB":
        X = rng.normal(size=(num_rows, 4)) + y[:, None]
        return (X * [0.1, 1.0, 3.0, 20.0] + [0.0, 0.0, 5.0, -30.0]).astype(dtype), y
    return rng.poisson(0.4 + np.outer(y + 1, [0.1, 0.9, 0.4, 0.7])).astype(dtype), y


def assert_same_fit(ours, theirs, X, rtol=1e-9):
    assert_array_equal(ours.classes_, theirs.classes_)
    assert_allclose(ours.class_count_, theirs.class_count_, rtol=rtol)
    for attribute in ATTRIBUTES[type(ours).__name__]:
        one, other = getattr(ours, attribute), getattr(theirs, attribute)
        pairs = zip(one, other, strict=True) if isinstance(other, list) else [(one, other)]
        for a, b in pairs:
            assert_allclose(a, b, rtol=rtol, atol=1e-12)
    for method in METHODS:
        assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=rtol, atol=1e-9)
    chosen = np.searchsorted(ours.classes_, ours.predict(X))
    probs = theirs.predict_proba(X)
    # where two classes are equally probable rounding chooses
    assert_allclose(probs[np.arange(len(chosen)), chosen], probs.max(axis=1), rtol=rtol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_attributes_and_predictions_are_scikit_learns(name, parameters, weighted):
    ours, theirs = both(name, **parameters)
    X, y = data(name)
    weight = np.random.default_rng(1).random(len(y)) + 0.1 if weighted else None
    if weighted and name == "GaussianNB":  # scikit-learn smooths by the unweighted variance
        ours.var_smoothing = theirs.var_smoothing = 0.0
    assert_same_fit(ours.fit(X, y, weight), theirs.fit(X, y, weight), X)


@pytest.mark.parametrize("var_smoothing", [1e-9, 0.1])
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_digits])
def test_measurements_of_any_scale_are_scikit_learns(load, var_smoothing):
    X, y = load(return_X_y=True)
    varies = X.std(axis=0) > 0  # three of digits' columns are constant
    ours, theirs = both("GaussianNB", var_smoothing=var_smoothing)
    ours.fit(X[::2], y[::2])
    theirs.fit(X[::2], y[::2])
    assert_allclose(ours.epsilon_, theirs.epsilon_, rtol=1e-12)
    assert_allclose(ours.var_[:, varies], theirs.var_[:, varies], rtol=1e-9)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-6, atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("name", NAMES)
def test_cells_of_every_type_are_scikit_learns(name, dtype):
    ours, theirs = both(name)
    X, y = data(name if dtype == np.float32 else "", dtype, num_rows=200)
    assert_same_fit(ours.fit(X, y), theirs.fit(X.astype(np.float64), y), X, rtol=1e-5)


@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array])
@pytest.mark.parametrize("name", COUNTED)
def test_sparse_rows_give_the_fit_of_dense_ones(name, make):
    X, y = data(name)
    ours, dense = getattr(dropin, name)(), getattr(dropin, name)()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    assert_same_fit(ours.fit(make(X), y, weight), dense.fit(X, y, weight), X)
    for method in METHODS:
        assert_allclose(getattr(ours, method)(make(X)), getattr(dense, method)(X), rtol=1e-12)


def test_flags_of_cells_that_are_stored_twice_are_those_of_their_sum():
    twice = scipy.sparse.csr_array((np.ones(4), [0, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    fit = dropin.BernoulliNB(binarize=1.5).fit(twice, [0, 1])
    assert_array_equal(fit.feature_count_, np.eye(2))
    assert_allclose(fit.predict_proba(twice), fit.predict_proba(twice.toarray()), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float32])
def test_a_threshold_above_one_leaves_no_ones_in_flags(dtype):
    X = np.array([[1, 0], [1, 1]], dtype)
    fit = dropin.BernoulliNB(binarize=1.0).fit(X, [0, 1])
    assert_array_equal(fit.feature_count_, 0)
    assert_allclose(fit.predict_proba(X), 0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_any_split_gives_the_fit_of_the_whole(name, dtype):
    X, y = data(name, dtype)
    order = np.argsort(X[:, 0] + y, kind="stable")  # batches that differ in scale, classes and largest code
    X, y = X[order], y[order]
    weight = np.random.default_rng(1).random(len(y))
    whole, split = getattr(dropin, name)().fit(X, y, weight), getattr(dropin, name)()
    for rows in (slice(0, 7), slice(7, 8), slice(8, 60), slice(60, 90)):
        split.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    rtol = 1e-5 if dtype == np.float32 else 1e-12
    assert_same_fit(split, whole, X, rtol)


@pytest.mark.parametrize("name", NAMES)
def test_whole_weights_are_repeated_rows_and_no_weight_is_no_row(name):
    X, y = data(name)
    weight = np.random.default_rng(1).integers(0, 3, len(y)) * (y != 1)
    X[weight == 0] = np.nan if name not in COUNTED[:2] else 7
    weighted = getattr(dropin, name)().fit(X, y, weight)
    repeated = getattr(dropin, name)().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.classes_.tolist() == [0, 2]
    assert_same_fit(weighted, repeated, X[weight > 0])


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_of_any_kind(name):
    X, y = data(name, num_rows=300)
    numbered = getattr(dropin, name)().fit(X, y)
    kinds = ["c0", "c1", "c2"], [10**12, 10**12 + 1, 10**12 + 5], [-128, 0, 127], [-1.0, 2.0, 7.0], [0, 2, 3]
    for labels in (*map(np.array, kinds), np.array(kinds[2], np.int8), np.array(kinds[0], object)):
        fit = getattr(dropin, name)().fit(X, labels[y])
        assert_array_equal(fit.classes_, labels)
        assert fit.classes_.dtype == labels.dtype
        assert_array_equal(fit.predict(X), labels[numbered.predict(X)])


# cases in which scikit-learn's classes give wrong answers and the drop-in classes do not


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
