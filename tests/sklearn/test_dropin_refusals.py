"""Invalid rows, labels, weights and parameters of the drop-in classes; each error message says what was wrong."""

import numpy as np
import pytest
import scipy.sparse

from bayesnb.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

ALL = [GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB, ComplementNB]
COUNTED = [MultinomialNB, ComplementNB]
X, Y = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])


def with_cell(value):
    rows = X.copy()
    rows[2, 1] = value
    return rows


@pytest.mark.parametrize("NB", ALL)
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (X[:, 0], "Expected 2D array"),
        (X[:0], "0 sample"),
        (X[:, :0], "0 feature"),
        (X[:3], "inconsistent numbers of samples"),
        (X + 1j, "Complex data not supported"),
        (X.astype(str), "bytes/strings"),
        (np.array([["a", 1], ["b", 2], ["c", 1], ["a", 1]], object), "could not convert string to float"),
        (with_cell(np.inf), "Input X contains infinity"),
        (with_cell(-np.inf), "Input X contains infinity"),
    ],
)
def test_invalid_rows_to_fit(NB, rows, words):
    with pytest.raises(ValueError, match=words):
        NB().fit(rows, Y)


@pytest.mark.parametrize("NB", ALL)
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.ones((2, 3)), "X has 3 features, but .* is expecting 2 features"),
        (X[:0], "0 sample"),
        (with_cell(np.inf), "Input X contains infinity"),
        (X.astype(str), "bytes/strings"),
    ],
)
def test_invalid_rows_to_predict(NB, rows, words):
    fit = NB().fit(X, Y)
    with pytest.raises(ValueError, match=words):
        fit.predict_proba(rows)


@pytest.mark.parametrize("NB", [*COUNTED, CategoricalNB])
@pytest.mark.parametrize("rows", [with_cell(-1), with_cell(-1).astype(int), with_cell(-1).astype(np.float32)])
def test_negative_counts_and_codes(NB, rows):
    words = rf"Negative values in data passed to {NB.__name__} \(input X\)"
    with pytest.raises(ValueError, match=words):
        NB().fit(rows, Y)
    fit = NB().fit(X, Y)
    with pytest.raises(ValueError, match=words):
        fit.predict(rows)
    with pytest.raises(ValueError, match=words):
        fit.partial_fit(rows, Y)


@pytest.mark.parametrize("NB", COUNTED)
def test_counts_partly_missing(NB):
    with pytest.raises(ValueError, match="NaN beside counts has an unknown total"):
        NB().fit(with_cell(np.nan), Y)


@pytest.mark.parametrize("NB", [*COUNTED, BernoulliNB])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_sparse_cells_that_are_not_finite(NB, value):
    rows, fit = scipy.sparse.csr_array(with_cell(value)), NB().fit(X, Y)
    for method in (lambda: fit.fit(rows, Y), lambda: fit.predict(rows)):
        with pytest.raises(ValueError, match=r"Input X contains (infinity|NaN)"):
            method()


@pytest.mark.parametrize("NB", [GaussianNB, CategoricalNB])
def test_sparse_rows_of_measurements_and_codes(NB):
    with pytest.raises(TypeError, match=r"[Ss]parse data was passed"):
        NB().fit(scipy.sparse.csr_array(X), Y)


@pytest.mark.parametrize("NB", ALL)
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, 1, 1], "sample_weight"),
        ([1, -1, 1, 1], "Negative values in data passed to `sample_weight`"),
        ([0, 0, 0, 0], "zero"),
        ([1, np.nan, 1, 1], "NaN"),
    ],
)
def test_invalid_weights(NB, weight, words):
    with pytest.raises(ValueError, match=words):
        NB().fit(X, Y, weight)


@pytest.mark.parametrize("NB", ALL)
def test_invalid_labels(NB):
    with pytest.raises(ValueError, match="Unknown label type"):
        NB().fit(X, [0.5, 1.5, 2.5, 3.5])
    with pytest.raises(ValueError, match="y contains NaN"):
        NB().fit(X, [0.0, np.nan, 1.0, 1.0])
    with pytest.raises(ValueError, match="requires y to be passed"):
        NB().fit(X, None)
    for y in (["a", "b", "a", "b"], [0, 0, 1, 2]):
        with pytest.raises(ValueError, match=r"The target label.* in y do not exist in the initial classes \[0, 1\]"):
            NB().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="classes holds labels of several types, 'int', 'str'"):
        NB().partial_fit(X, Y, classes=[0, 1, "a"])


@pytest.mark.parametrize("NB", ALL[1:])
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"alpha": np.inf}, "'alpha' parameter"),
        ({"class_prior": [0.5, 0.25, 0.25]}, "Number of priors must match number of classes"),
        ({"class_prior": [-0.5, 1.5]}, "Priors must be non-negative"),
        ({"class_prior": [0.0, 0.0]}, "not all zero"),
    ],
)
def test_invalid_parameters(NB, parameters, words):
    with pytest.raises(ValueError, match=words):
        NB(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("alpha", "words"),
    [([1.0, np.inf], "alpha must be finite"), ([1.0, -1.0], "alpha"), ([1.0] * 3, "Got 3 elements instead of 2")],
)
@pytest.mark.parametrize("NB", [*COUNTED, BernoulliNB])
def test_invalid_pseudo_counts(NB, alpha, words):
    with pytest.raises(ValueError, match=words):
        NB(alpha=alpha).fit(X, Y)


def test_invalid_flags():
    with pytest.raises(ValueError, match="a Bernoulli cell is 0, 1 or NaN"):
        BernoulliNB(binarize=None).fit(X, Y)
    fit = BernoulliNB(binarize=None).fit(X > 0, Y)
    with pytest.raises(ValueError, match="a Bernoulli cell is 0, 1 or NaN"):
        fit.predict(X)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_codes_that_are_too_large(dtype):
    with pytest.raises(ValueError, match="column 1 of X would have 4000000001 categories"):
        CategoricalNB().fit(with_cell(4e9).astype(dtype), Y)
    with pytest.raises(ValueError, match="'min_categories' should have integral type"):
        CategoricalNB(min_categories=[2.5, 3.0]).fit(X, Y)


@pytest.mark.parametrize("NB", ALL)
def test_an_invalid_batch_changes_nothing(NB):
    fit = NB().fit(X, Y)
    before = fit.predict_proba(X)
    with pytest.raises(ValueError, match="infinity"):
        fit.partial_fit(with_cell(np.inf), Y)
    np.testing.assert_array_equal(fit.predict_proba(X), before)
    np.testing.assert_array_equal(fit.class_count_, [2, 2])
