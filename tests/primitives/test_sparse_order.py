"""Sparse rows as vectorizers give them: cells in any order, stored zeros, empty rows, places of 32 or 64 bits."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn.feature_extraction.text import CountVectorizer

import bayesnb as nb
from bayesnb import sklearn as dropin
from bayesnb.arrays.cells import rows_of
from bayesnb.primitives.products.linear_scores import multiply_stored

FAMILIES = {"multinomial": nb.Multinomial.laplace(0.5), "bernoulli": nb.Bernoulli(a=0.5, b=2.0)}


def shuffled(dense, rng, places=np.int32, zeros=3):
    """The matrix with each row's cells in random order, and some zeros stored."""
    shown = dense != 0
    shown.flat[rng.choice(np.flatnonzero(~shown), zeros, replace=False)] = True
    columns = [rng.permutation(np.flatnonzero(row)) for row in shown]
    pointers = np.cumsum([0, *map(len, columns)])
    cells = np.concatenate([row[order] for row, order in zip(dense, columns, strict=True)])
    made = scipy.sparse.csr_matrix((cells, np.concatenate(columns), pointers), dense.shape)
    made.indices, made.indptr = made.indices.astype(places), pointers.astype(places)
    return made


def rows(name, rng, dtype=np.int64):
    y = rng.integers(0, 3, 60)
    X = rng.poisson(0.4 + 0.5 * (np.arange(7) % 3 == y[:, None])).astype(dtype)
    X[[4, 59]] = 0
    return (np.minimum(X, 1) if name == "bernoulli" else X), y


@pytest.fixture
def never_sorted(monkeypatch):
    def refuse(*_):
        raise AssertionError("the cells are sorted")

    for name in ("sum_duplicates", "sort_indices"):
        monkeypatch.setattr(scipy.sparse.csr_array, name, refuse)


@pytest.mark.parametrize(("dtype", "places"), [(np.int64, np.int32), (np.float32, np.int64)])
@pytest.mark.usefixtures("never_sorted")
@pytest.mark.parametrize("name", FAMILIES)
def test_cells_in_any_order_count_as_the_dense_rows_and_are_not_sorted(name, dtype, places, rng):
    X, y = rows(name, rng, dtype)
    sparse, model = shuffled(X, rng, places), nb.NaiveBayes(FAMILIES[name])
    before = [part.copy() for part in (sparse.data, sparse.indices, sparse.indptr)]
    for fit in (nb.fit_map, nb.fit_posterior):
        found, expected = fit(model, sparse, y), fit(model, X, y)
        for method in ("log_joint", "predict_log_proba"):
            digits = 1e-5 if dtype is np.float32 else 1e-9
            assert_allclose(getattr(found, method)(sparse), getattr(expected, method)(X), rtol=digits)
    assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-12)
    for part, as_given in zip((sparse.data, sparse.indices, sparse.indptr), before, strict=True):
        assert_array_equal(part, as_given)


@pytest.mark.usefixtures("never_sorted")
@pytest.mark.parametrize("name", FAMILIES)
def test_the_estimator_and_the_drop_in_class_do_not_sort_either(name, rng):
    X, y = rows(name, rng)
    sparse = shuffled(X, rng)
    for make in (
        lambda: nb.NaiveBayesClassifier(name, method="map"),
        dropin.MultinomialNB if name == "multinomial" else dropin.BernoulliNB,
    ):
        found = make().fit(sparse, y).predict_log_proba(sparse)
        assert_allclose(found, make().fit(X, y).predict_log_proba(X), rtol=1e-9)


def test_a_vectorizers_own_counts():
    texts = ["win cash now", "see you now now", "cash cash prize", "are you there", ""] * 3
    y, model = [0, 1, 0, 1, 1] * 3, nb.NaiveBayes(nb.Multinomial.laplace(1.0))
    X = CountVectorizer().fit_transform(texts)
    found = nb.fit_map(model, X, y)
    assert_allclose(found.log_joint(X), nb.fit_map(model, X.toarray(), y).log_joint(X.toarray()), rtol=1e-12)


def test_a_multinomial_coefficient_is_that_of_the_whole_counts(rng):
    X, _ = rows("multinomial", rng)
    base = nb.Multinomial().row_base_measure(rows_of(shuffled(X, rng)))
    assert_allclose(base, gammaln(X.sum(axis=1) + 1) - gammaln(X + 1).sum(axis=1), rtol=1e-12)


def test_cells_stored_twice_apart_are_added_in_a_copy():
    columns, cells = np.array([2, 0, 2, 1, 0, 1, 3, 1]), np.array([1, 4, 2, 1, 1, 2, 5, 3])
    X = scipy.sparse.csr_matrix((cells, columns, [0, 4, 4, 8]), shape=(3, 4))
    whole, model, y = X.toarray(), nb.NaiveBayes(nb.Multinomial()), [0, 1, 1]
    found, expected = nb.fit_posterior(model, X, y), nb.fit_posterior(model, whole, y)
    assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-12)
    assert_allclose(found.log_joint(X), expected.log_joint(whole), rtol=1e-12)
    assert_array_equal(X.indices, columns)
    with pytest.raises(ValueError, match=r"column 1: a Bernoulli cell is 0, 1 or NaN \(missing\), got 5"):
        nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X[2], [0])


def test_codes_that_come_one_hot_in_any_order(rng):
    codes, y = rng.integers(0, 3, (40, 2)), rng.integers(0, 2, 40)
    one_hot = (codes[:, :, None] == np.arange(3)).reshape(40, 6).astype(np.int64)
    model = nb.NaiveBayes(nb.Categorical(3))
    found, expected = nb.fit_posterior(model, shuffled(one_hot, rng), y), nb.fit_posterior(model, codes, y)
    assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-12)
    for columns in ([0, 4, 1], [4, 0, 1]):  # two ones of one column, beside each other and apart
        wrong = scipy.sparse.csr_matrix(([1, 1, 1], columns, [0, 3]), shape=(1, 6))
        with pytest.raises(ValueError, match="one-hot and end to end, 6 wide"):
            found.predict(wrong)


@pytest.mark.parametrize(
    ("cells", "columns", "message"),
    [
        ([1.0, -2.0, -3.0], [0, 3, 2], "column 2: a Multinomial cell is a number, 0 or more.*got -3"),
        ([1.0, np.nan, 1.0], [2, 0, 1], "contains NaN, but a sparse matrix has no missing"),
        ([1.0, 2.0, 3.0], [2, 9, 1], "inconsistent sparse matrix"),
        ([1.0, 2.0, 3.0], [2, -1, 1], "inconsistent sparse matrix"),
    ],
)
def test_bad_cells_are_refused_in_the_sentence_of_sorted_rows(cells, columns, message):
    X = scipy.sparse.csr_matrix((np.ones(4), [3, 0, 0, 1], [0, 2, 2, 4]), shape=(3, 4))
    X.data, X.indices, X.indptr = np.array([1.0, *cells]), np.array([3, *columns], np.int32), np.array([0, 1, 1, 4])
    with pytest.raises(ValueError, match=message):
        nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), X, [0, 1, 0])


@pytest.mark.parametrize("num_classes", [1, 4, 7])
def test_rows_of_any_length_are_multiplied(rng, num_classes):
    dense = np.tril(rng.integers(1, 5, (6, 6)), -1)  # 0, 1, ... 5 cells
    table = rng.normal(size=(6, num_classes))
    assert_allclose(multiply_stored(rows_of(shuffled(dense, rng)), table), dense @ table, rtol=1e-13)
