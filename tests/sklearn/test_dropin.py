"""The drop-in classes against scikit-learn's own: attributes and predictions, splits, weights, sparse rows, frames."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from bayesnb import sklearn as dropin

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


@pytest.mark.parametrize("name", NAMES)
def test_frames_lend_their_names(name):
    X, y = data(name)
    frame = pd.DataFrame(X, columns=list("abcd"))
    fit = getattr(dropin, name)().fit(frame, pd.Series(y))
    assert fit.feature_names_in_.tolist() == list("abcd")
    assert_array_equal(fit.predict(frame), getattr(dropin, name)().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        fit.predict(frame[list("dcba")])


def test_codes_in_another_byte_order():
    codes, y = np.array([[0], [1], [2], [1]]), [0, 1, 1, 0]
    plain = dropin.CategoricalNB().fit(codes, y)
    other = dropin.CategoricalNB().fit(codes.astype(">i4"), y)
    assert_array_equal(other.n_categories_, [3])
    assert_array_equal(other.predict_proba(codes.astype(">i2")), plain.predict_proba(codes))
