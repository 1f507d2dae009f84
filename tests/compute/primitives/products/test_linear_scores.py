"""scipy's sparse matrices as rows: the answers of the dense array, in any format, type and order of cells."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from jax.experimental.sparse import BCOO
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb import sklearn as dropin
from bayesnb.compute.arrays._cells import part_of, rows_of
from bayesnb.compute.primitives.products._linear_scores import multiply_stored
from tests import cases

FORMATS = [scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array]
FAMILIES = {"multinomial": nb.Multinomial.laplace(0.5), "bernoulli": nb.Bernoulli(a=0.5, b=2.0)}


def rows(name, dtype=np.int64):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    X = rng.poisson(0.3 + 0.4 * (np.arange(7) % 3 == y[:, None])).astype(dtype)
    return (np.minimum(X, 1) if name == "bernoulli" else X), y


def labels(kind, y):
    rng = np.random.default_rng(1)
    return {
        "hard": (y, None),
        "weighted": (y, rng.integers(0, 3, len(y)) * 0.5),
        "soft": (rng.dirichlet(np.ones(3), len(y)), rng.random(len(y))),
    }[kind]


def formats_and_types():
    """By default three types in one format, and every format of one type: each pair compiles anew."""
    for make in FORMATS:
        for dtype in (np.int8, np.uint8, np.int32, np.float32, np.float64):
            quick = (make is FORMATS[0] and dtype in (np.int8, np.float32)) or dtype is np.int32
            yield pytest.param(make, dtype, marks=() if quick else pytest.mark.slow)


def assert_same(a, b, rtol=1e-12):
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert_allclose(one, other, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("kind", ["hard", "weighted", "soft"])
@pytest.mark.parametrize("name", FAMILIES)
def test_statistics_and_predictions_are_those_of_the_dense_rows(name, kind):
    X, y = rows(name)
    sparse, model = scipy.sparse.csr_matrix(X), nb.NaiveBayes(FAMILIES[name])
    y, weight = labels(kind, y)
    given = nb.sufficient_statistics(model, sparse, y, sample_weight=weight, num_classes=3)
    assert_same(given, nb.sufficient_statistics(model, X, y, sample_weight=weight, num_classes=3))
    for fit in (nb.fit_mle, nb.fit_map, nb.fit_posterior):
        fitted = fit(model, sparse, y, sample_weight=weight)
        for method in ("log_joint", "predict_log_proba", "predict_proba", "predict", "log_density"):
            assert_allclose(getattr(fitted, method)(sparse), getattr(fitted, method)(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("make", "dtype"), list(formats_and_types()))
def test_every_format_and_type_counts_the_same(make, dtype):
    X, y = rows("multinomial")
    model = nb.NaiveBayes(nb.Multinomial())
    expected = nb.fit_posterior(model, X, y)
    fitted = nb.fit_posterior(model, make(X.astype(dtype)), y)
    assert_same(fitted, expected)
    assert_allclose(fitted.predict_proba(make(X.astype(dtype))), expected.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("in_order", [True, False])
def test_categories_come_one_hot(rng, in_order):
    codes, y = np.stack([rng.integers(0, 2, 50), rng.integers(-1, 4, 50)], axis=1), rng.integers(0, 2, 50)
    one_hot = np.concatenate([codes[:, :1] == np.arange(2), codes[:, 1:] == np.arange(4)], axis=1)
    model = nb.NaiveBayes(nb.Categorical((2, 4)))
    sparse = scipy.sparse.csr_matrix(one_hot.astype(float)) if in_order else shuffled(one_hot.astype(float), rng)
    fitted = nb.fit_posterior(model, sparse, y)
    assert_same(fitted, nb.fit_posterior(model, codes, y))
    assert_allclose(fitted.predict_proba(sparse), fitted.predict_proba(codes), rtol=1e-12)
    two_ones = scipy.sparse.csr_matrix(([1, 1, 1], [5, 0, 2], [0, 3]), shape=(1, 6))  # of one column, apart
    for bad in (sparse[:, :5], scipy.sparse.csr_matrix(np.ones((3, 6))), 2 * sparse, two_ones):
        with pytest.raises(ValueError, match="one-hot and end to end, 6 wide"):
            fitted.predict(bad)


def test_what_follows_from_a_fit_takes_sparse_rows_too():
    X, y = rows("multinomial")
    sparse, model, partly = scipy.sparse.csr_matrix(X), nb.NaiveBayes(nb.Multinomial()), np.where(y == 2, -1, y)
    for follow in (
        lambda X: nb.leave_one_out(model, X, y, joint=True),
        lambda X: nb.cross_validate([model, nb.NaiveBayes(nb.Multinomial(0.1))], X, y, folds=3),
        lambda X: nb.feature_inclusion(model, X, y).probability,
        lambda X: nb.fit_averaged(model, X, y).predict_proba(X),
        lambda X: nb.fit_em(nb.NaiveBayes(nb.Multinomial(), num_classes=3), X, partly).predict_proba(X),
        lambda X: nb.fit_posterior(model, X, y).predict_interval(X[:5], key=jax.random.key(0), num_draws=50).low,
    ):
        assert_allclose(follow(sparse), follow(X), rtol=1e-7)


def test_counts_that_are_no_whole_numbers_and_rare_large_ones():
    X, y = rows("multinomial", np.float64)
    X[3, 2], X[7, 1] = 2.5, 40_000.0
    sparse, model = scipy.sparse.csr_matrix(X), nb.NaiveBayes(nb.Multinomial())
    fitted = nb.fit_posterior(model, sparse, y)
    assert_allclose(fitted.log_joint(sparse), fitted.log_joint(X), rtol=1e-10)
    whole = np.delete(X, 3, axis=0)
    assert_allclose(fitted.log_joint(scipy.sparse.csr_array(whole)), fitted.log_joint(whole), rtol=1e-10)


def test_small_types_do_not_overflow():
    X, y = np.array([[200, 1], [3, 100], [180, 2], [1, 90]], np.uint8), [0, 1, 0, 1]
    weight, model = np.full(4, 3, np.uint8), nb.NaiveBayes(nb.Multinomial())
    given = nb.sufficient_statistics(model, scipy.sparse.csr_matrix(X), y, sample_weight=weight)
    assert_allclose(given.blocks["x"].counts, [[1140, 9], [12, 570]])
    long = scipy.sparse.csr_matrix(np.array([[2**24, 1, 1, 1]], np.float32))
    whole = nb.sufficient_statistics(model, long, [0]).blocks["x"].log_base
    assert_allclose(whole, nb.sufficient_statistics(model, long.toarray(), [0]).blocks["x"].log_base, rtol=1e-12)


@pytest.mark.parametrize("largest", [1e18, 1e19])
def test_a_count_beyond_all_measure_harms_no_other_row(largest):
    X = np.ones((4, 20))
    X[2, 19] = largest
    fitted = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), X, [0, 1, 0, 1])
    one_by_one = np.concatenate([fitted.log_joint(row[None]) for row in X])
    for rows_ in (X, scipy.sparse.csr_matrix(X)):
        assert_allclose(fitted.log_joint(rows_), one_by_one, rtol=1e-9)


def test_half_precision_counts_are_read():
    X, y = rows("multinomial")
    fitted = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), X, y)
    assert_allclose(fitted.predict_proba(X.astype(np.float16)), fitted.predict_proba(X), rtol=1e-9)


def test_inside_jit_a_sparse_matrix_is_refused_in_a_sentence():
    X, y = rows("multinomial")
    sparse, model = scipy.sparse.csr_matrix(X), nb.NaiveBayes(nb.Multinomial(), num_classes=3)
    fitted = nb.fit_posterior(model, sparse, y)
    with pytest.raises(ValueError, match="an array is needed here: give"):
        jax.jit(lambda fit: fit.predict_proba(sparse))(fitted)
    with pytest.raises(ValueError, match="an array is needed here: give"):
        jax.jit(lambda y: nb.fit_posterior(model, sparse, y).log_evidence)(jax.numpy.asarray(y))


def test_words_of_probability_zero_are_counted():
    X, y = np.array([[2, 0, 1], [0, 1, 3]]), [0, 1]
    sparse, fitted = scipy.sparse.csr_matrix(X), nb.fit_mle(nb.NaiveBayes(nb.Multinomial()), X, [0, 1])
    assert_allclose(fitted.predict_proba(sparse), [[1.0, 0.0], [0.0, 1.0]])
    assert fitted.predict(sparse).tolist() == y


@pytest.mark.parametrize("name", cases.by_default(FAMILIES, "multinomial"))
def test_bcoo_counts_as_scipys_matrix(name):
    X, y = rows(name, np.float32)
    given, model = BCOO.fromdense(X, nse=np.count_nonzero(X) + 5), nb.NaiveBayes(FAMILIES[name])
    fitted = nb.fit_posterior(model, given, jnp.asarray(y))
    assert_same(fitted, nb.fit_posterior(model, X, y))
    assert_allclose(fitted.predict_proba(given), fitted.predict_proba(X), rtol=1e-6)
    for table in (nb.leave_one_out, nb.cross_validate):
        assert_allclose(table(model, given, y), table(model, X, y), rtol=1e-6)


@pytest.mark.parametrize("dtype", [pytest.param(np.float16, marks=pytest.mark.slow), jnp.bfloat16])
def test_bcoo_of_half_precision(dtype):
    X, y = rows("multinomial", np.float32)
    model = nb.NaiveBayes(nb.Multinomial())
    assert_same(nb.fit_posterior(model, BCOO.fromdense(jnp.asarray(X, dtype)), y), nb.fit_posterior(model, X, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64, bool])
@pytest.mark.parametrize("coefficients", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])
@pytest.mark.parametrize("num_classes", [1, 2, 3, 20, 100])
def test_stored_cells_are_multiplied_as_the_dense_rows(rng, dtype, coefficients, num_classes):
    dense = (rng.poisson(0.1, (50, 300)) * (rng.random((50, 1)) < 0.8)).astype(dtype)
    table = rng.normal(size=(300, num_classes)).astype(coefficients)
    for x in (scipy.sparse.csr_array(dense), scipy.sparse.csr_array(dense[:0]), scipy.sparse.csr_array(0 * dense)):
        found = multiply_stored(x, table)
        assert found.dtype == np.float64
        assert_allclose(found, x.toarray().astype(float) @ table.astype(float), rtol=1e-13, atol=1e-13)


def test_a_part_of_sparse_rows_shares_their_memory(rng):
    x = scipy.sparse.csr_array(rng.poisson(0.5, (30, 5)))
    for rows in (slice(0, 30), slice(4, 11), slice(29, 30), slice(7, 7)):
        part = part_of(x, rows)
        assert not part.data.size or np.shares_memory(part.data, x.data)
        part.check_format(full_check=True)
        assert (part.shape, part.dtype) == (x[rows].shape, x.dtype)
        assert (part.toarray() == x[rows].toarray()).all()


def test_bcoo_inside_jit_is_refused():
    X, y = rows("multinomial", np.float32)
    fitted = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), X, y)
    with pytest.raises(ValueError, match=r"BCOO .* outside of transformations"):
        jax.jit(fitted.predict_proba)(BCOO.fromdense(X))


@pytest.mark.parametrize(
    ("family", "X", "message"),
    [
        (nb.Normal(), scipy.sparse.eye_array(3), "which Normal does not support: give x.toarray"),
        (
            nb.Multinomial(),
            scipy.sparse.csr_array([[1.0, np.nan]] * 3),
            "contains NaN, but a sparse matrix has no missing",
        ),
        (
            nb.Multinomial(),
            scipy.sparse.csr_array([[1, 0, -2]] * 3),
            "column 2: a Multinomial cell is a number, 0 or more",
        ),
        (nb.Bernoulli(), scipy.sparse.csr_array([[1.0, 0.5]] * 3), "column 1: a Bernoulli cell is 0, 1 or NaN"),
        (
            nb.Multinomial(),  # cells in no order
            scipy.sparse.csr_matrix(([1.0, 1.0, -2.0, -3.0], [3, 0, 3, 2], [0, 1, 1, 4]), shape=(3, 4)),
            "column 2: a Multinomial cell is a number, 0 or more.*got -3",
        ),
    ],
)
def test_bad_sparse_rows_are_refused_in_a_sentence(family, X, message):
    with pytest.raises(ValueError, match=message):
        nb.fit_posterior(nb.NaiveBayes(family), X, [0, 1, 0])


def test_bcoo_with_a_batch_or_for_another_family_is_refused():
    batch, plain = BCOO.fromdense(np.eye(3), n_batch=1), BCOO.fromdense(np.eye(3))
    with pytest.raises(ValueError, match=r"is a BCOO: give a scipy\.sparse matrix"):
        nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), batch, [0, 1, 0])
    with pytest.raises(ValueError, match="which Normal does not support"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), plain, [0, 1, 0])


def test_where_an_array_is_needed_a_sparse_matrix_is_refused():
    X, y = rows("multinomial")
    model = nb.NaiveBayes(nb.Multinomial(), num_classes=3)
    with pytest.raises(ValueError, match="an array is needed here: give"):
        nb.fit_nuts(model, scipy.sparse.csr_matrix(X), np.where(y == 2, -1, y), key=jax.random.key(0))


# sparse rows as vectorizers give them: cells in any order, stored zeros, empty rows, places of 32 or 64 bits


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


def unsorted(name, rng, dtype=np.int64):
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
    X, y = unsorted(name, rng, dtype)
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
    X, y = unsorted(name, rng)
    sparse = shuffled(X, rng)
    for make in (
        lambda: nb.NaiveBayesClassifier(name, method="map"),
        dropin.MultinomialNB if name == "multinomial" else dropin.BernoulliNB,
    ):
        found = make().fit(sparse, y).predict_log_proba(sparse)
        assert_allclose(found, make().fit(X, y).predict_log_proba(X), rtol=1e-9)


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


@pytest.mark.parametrize("num_classes", [1, 4, 7])
def test_rows_of_any_length_are_multiplied(rng, num_classes):
    dense = np.tril(rng.integers(1, 5, (6, 6)), -1)  # 0, 1, ... 5 cells
    table = rng.normal(size=(6, num_classes))
    assert_allclose(multiply_stored(rows_of(shuffled(dense, rng)), table), dense @ table, rtol=1e-13)
