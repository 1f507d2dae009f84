"""Loops that look at cells once: they leave out what is missing, and what they do not know is looked at again."""

import multiprocessing
import threading
import time

import jax
import numpy as np
import pytest
import scipy.sparse
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import naive_bayes

import bayesnb as nb
from bayesnb.compute.arrays import _cells as cells
from bayesnb.compute.arrays import _loops as loops
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives import _log_factorials as log_factorials
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives._codes import Codes
from bayesnb.compute.primitives.sums import Labels, class_sums
from bayesnb.core.rows._checks import check_fit
from bayesnb.sklearn import BernoulliNB


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "cells", [[np.inf], [-np.inf], [np.inf, -np.inf], [1e200], [1e200, -1e200], [-1e150, 1e150, 1e150]]
)
def test_a_normal_fit_finds_what_is_no_measurement(rng, dtype, cells):
    x, y = rng.normal(size=(300, 3)), np.arange(300) % 2
    x[: 2 * len(cells) : 2, 1] = cells  # the first values of a class, which are its origin
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    with pytest.raises(ValueError, match="column 1: a Normal cell is a finite number"):
        nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), x, y)


@pytest.mark.parametrize("scale", [1e35, 1e120, 1e-120])
def test_large_measurements_are_fitted(rng, scale):
    x, y = scale * rng.normal(size=(300, 3)), np.arange(300) % 2
    found = nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), x, y).blocks["x"]
    assert_allclose(found.mean, [x[y == k].mean(0) for k in range(2)], rtol=1e-10)
    assert_allclose(found.variance, [x[y == k].var(0) for k in range(2)], rtol=1e-10)


@pytest.mark.parametrize("family", [nb.Normal, nb.Bernoulli])
def test_a_family_of_ones_own_is_asked_about_its_cells(family):
    class Positive(family):
        def check(self, x, block):
            if (x <= 0).any():
                raise ValueError(f"block {block!r}: give positive numbers")

    with pytest.raises(ValueError, match="block 'x': give positive numbers"):
        nb.sufficient_statistics(nb.NaiveBayes(Positive()), [[1.0], [0.0]], [0, 0])


@pytest.mark.parametrize("cell", [np.inf, 1e200])
def test_sums_of_other_cells_prove_nothing(cell):
    class Clipped(nb.Normal):
        def statistics(self, x, z):
            return super().statistics(np.clip(x, -1.0, 1.0), z)

    with pytest.raises(ValueError, match="column 0: a Clipped cell is a finite number"):
        nb.sufficient_statistics(nb.NaiveBayes(Clipped()), [[0.5], [cell], [0.2]], [0, 1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.uint64, np.int64, bool])
@pytest.mark.parametrize("missing", [False, True])
def test_codes_are_added_and_looked_up_at_their_places(rng, dtype, missing):
    x, y = rng.integers(0, 2, (50, 3)).astype(dtype), rng.integers(0, 4, 50).astype(np.int32)
    x[:7] = 4 * missing * x[:7]  # no code of any column
    if missing and x.dtype.kind == "f":
        x[:5] = np.array([np.nan, -1.0, np.inf, 1e30, -0.5])[:, None]
    starts = np.array([0, 2, 5, 7], np.int32)
    sizes = np.diff(starts)
    mask = (x >= 0) & (x < sizes)
    coded, places = Codes(x, starts, lambda x: (x >= 0) & (x < sizes)), np.where(mask, x, 0).astype(int) + starts[:-1]
    expected = np.zeros((4, 7))
    np.add.at(expected, (np.broadcast_to(y[:, None], (50, 3))[mask], places[mask]), 1)
    assert_array_equal(class_sums(Labels(y, None), 4).table(coded, 7), expected)
    table = rng.normal(size=(4, 7))
    score = products.lookup(lambda _: coded, LogProb(table, None))
    assert_allclose(score(x).finite, np.where(mask, table[:, places], 0.0).sum(axis=2).T, rtol=1e-12)
    assert_allclose(score(jax.numpy.asarray(x)).finite, score(x).finite, rtol=1e-5, atol=1e-6)


def test_no_rows_and_no_words():
    for shape in ((0, 5), (4, 5)):
        x = scipy.sparse.csr_array(shape)
        assert_array_equal(cells.row_sums(cells.rows_of(x)), np.zeros(shape[0]))
        assert_array_equal(log_factorials.row_log_factorials(cells.rows_of(x)), np.zeros(shape[0]))
        assert_array_equal(log_factorials.row_log_coefficients(cells.rows_of(x)), np.zeros(shape[0]))


def _rows(indices, pointers, columns=6):
    parts = np.ones(len(indices)), np.array(indices, np.int32), np.array(pointers, np.int32)
    return scipy.sparse.csr_array(parts, shape=(len(pointers) - 1, columns))


@pytest.mark.parametrize(
    ("indices", "pointers"),
    [
        ([3, 4, 0, 1], [0, 2, 4]),  # columns fall from one row to the next
        ([2, 5, 5], [0, 2, 3]),  # one row ends where the next begins
        ([1, 2, 0], [0, 2, 2, 3]),  # a row without words between
        ([5, 0], [0, 0, 1, 2]),
        ([4, 3, 0, 1], [0, 2, 4]),  # out of order
    ],
)
def test_rows_without_a_word_twice_stay_where_they_are(indices, pointers):
    x = _rows(indices, pointers)
    assert np.shares_memory(cells.rows_of(x).data, x.data)
    assert_array_equal(cells.rows_of(x).toarray(), x.toarray())


@pytest.mark.parametrize(("indices", "pointers"), [([4, 3, 4, 1], [0, 3, 4]), ([2, 2, 5], [0, 2, 3])])
def test_words_stored_twice_are_added_in_a_copy(indices, pointers):
    x = _rows(indices, pointers)
    kept = x.indices.copy()
    assert cells.rows_of(x).has_canonical_format
    assert_array_equal(cells.rows_of(x).toarray(), x.toarray())
    assert_array_equal(x.indices, kept)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_are_added_to_their_classes(rng, weighted):
    x = scipy.sparse.random_array((2_000, 300), density=0.4, rng=rng, format="csr")
    x.data = np.ceil(9 * x.data)
    y = rng.choice([0, 1, 3, 6], 2_000).astype(np.int32)
    y[:5] = -1  # no class's
    weight = rng.random(2_000) if weighted else None
    w = np.ones(2_000) if weight is None else weight
    expected = [x[y == k].toarray().T @ w[y == k] for k in range(8)]
    assert_allclose(class_sums(Labels(y, weight), 8).sum(x), expected, rtol=1e-12)


def test_threads_start_no_threads():
    def inside(_):
        return {threading.get_ident(), *loops.in_threads(lambda _: threading.get_ident(), range(3))}

    assert all(len(threads) == 1 for threads in loops.in_threads(inside, range(4)))
    assert threading.get_ident() not in loops.in_threads(lambda _: threading.get_ident(), range(4))


def _square_in_threads(numbers, answers):
    answers.put(loops.in_threads(lambda n: n * n, numbers))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:")  # Python and JAX warn of their own threads
def test_a_forked_process_starts_threads_of_its_own():
    assert loops.in_threads(lambda n: n + 1, range(3)) == [1, 2, 3]
    system = multiprocessing.get_context("fork")
    answers = system.SimpleQueue()
    child = system.Process(target=_square_in_threads, args=(range(4), answers), daemon=True)
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert answers.get() == [0, 1, 4, 9]


def test_rows_wider_than_the_categories_are_refused(rng):
    codes, y = rng.integers(0, 3, (50, 2)), np.arange(50) % 2
    model = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(3)), codes, y).model
    for columns in (1, 6, 3_000_000):
        with pytest.raises(ValueError, match=f"rows have {columns} columns, but categories were declared for 2"):
            model.log_predictive({"x": np.zeros((2, columns), int)})
    narrow = {"class_probs": np.full(2, 0.5), "x_probs": np.full((2, 2, 2), 0.5)}
    with pytest.raises(ValueError, match="the columns have 6 categories together, and the table 4"):
        model.log_likelihood(narrow, {"x": codes})


@pytest.mark.parametrize("weight", [1e-300, 1e-90, 1.0, 1e30])
@pytest.mark.parametrize("first", [False, True])
def test_no_weight_hides_what_is_no_measurement(rng, weight, first):
    x, w = rng.normal(size=(40, 2)), np.ones(40)
    row = 0 if first else 3
    x[row, 1], w[row] = 1e170, weight
    with pytest.raises(ValueError, match="column 1: a Normal cell is a finite number below"):
        nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), x, np.arange(40) % 2, sample_weight=w)


@pytest.mark.parametrize("family", [nb.Normal, nb.Bernoulli])
def test_a_class_of_ones_own_that_refuses_fits_is_asked(family):
    class Mine(family):
        """One whose fits are refused."""

    @check_fit.register(Mine)
    def _(_, x, block):
        raise ValueError(f"block {block!r} of {x.shape[1]} columns cannot be fitted")

    with pytest.raises(ValueError, match="block 'x' of 1 columns cannot be fitted"):
        nb.sufficient_statistics(nb.NaiveBayes(Mine()), [[0.0], [1.0], [1.0], [0.0]], [0, 0, 1, 1])


def test_a_sparse_vector_is_no_matrix_of_rows():
    x = scipy.sparse.csr_array(np.ones(1))
    with pytest.raises(ValueError, match=r"must be an array \[N, D\], got shape \(1,\)"):
        nb.sufficient_statistics(nb.NaiveBayes(nb.Multinomial()), x, [0])


@pytest.mark.parametrize("weight", [1e-200, 1.0])
def test_measurements_are_no_flags_whatever_the_weights(rng, weight):
    x, y, w = rng.normal(size=(60, 3)), np.arange(60) % 2, np.ones(60)
    w[3] = weight
    ours, theirs = (kind().fit(x, y, sample_weight=w) for kind in (BernoulliNB, naive_bayes.BernoulliNB))
    assert_allclose(ours.feature_count_, theirs.feature_count_, rtol=1e-12)


def test_after_an_error_nothing_goes_on():
    begun, ended = [], []

    def part(n):
        begun.append(n)
        if not n:
            raise ValueError("the first part fails")
        time.sleep(0.1)
        ended.append(n)

    with pytest.raises(ValueError, match="the first part fails"):
        loops.in_threads(part, range(1000))
    count = len(begun)
    assert len(ended) == count - 1
    time.sleep(0.05)
    assert len(begun) == count < 1000


def test_indices_of_the_other_byte_order(rng):
    x = scipy.sparse.csr_matrix(rng.integers(0, 3, (20, 5)))
    y = np.arange(20) % 2
    expected = nb.sufficient_statistics(nb.NaiveBayes(nb.Multinomial()), x, y).blocks["x"].counts
    x.indices = x.indices.astype(x.indices.dtype.newbyteorder())
    assert_array_equal(nb.sufficient_statistics(nb.NaiveBayes(nb.Multinomial()), x, y).blocks["x"].counts, expected)


def test_binomial_cells_beyond_the_whole_numbers_of_float32():
    params = {"class_probs": [0.5, 0.5], "x_probs": [[1e-6], [1 - 1e-6]]}
    fit = nb.PointEstimate(nb.NaiveBayes(nb.Binomial(total_count=None)), params)
    single = np.array([[1.0]], np.float32), np.array([[2.0**25]], np.float32)
    double = tuple(part.astype(np.float64) for part in single)
    odds = [np.diff(fit.log_joint(cells)) for cells in (single, double)]
    assert_allclose(*odds, rtol=0, atol=1e-5)  # of 5e8 nats; a failure less is 14 of them


def test_shares_too_small_for_a_float_raise_nothing():
    table = np.tile([0.0, -800.0, -1.0], (3000, 1))
    with np.errstate(all="raise"):
        assert_allclose(LogProb(table, None).shares()[:, 1], 0.0)
        assert np.isfinite(LogProb(table, None).normalise()).all()
