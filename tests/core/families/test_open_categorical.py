"""Codes of which nobody said how many there are: counted in one pass, as if it had been known."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import naive_bayes

import bayesnb as nb
from bayesnb.compute.arrays import _cells as cells
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays import _loops as loops
from bayesnb.core.families._categorical import CategoricalStatistics
from bayesnb.core.families._open_categorical import OpenCategorical
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._sufficient_statistics import class_sizes
from bayesnb.sklearn import CategoricalNB
from tests import cases

N, D, K = 6 * limits.SIZED_ROWS, 5, 3


def rows_of(rng, dtype=np.int64):
    """Rows whose largest codes are rare, and not among those that are looked at first: every seventh is."""
    x = rng.integers(0, 4, (N, D))
    x[8, 0], x[3000, 0], x[N - 1, 1], x[11:13, 3] = 9, 40, 5, 100
    return x.astype(dtype), rng.integers(0, K, N)


def counts_of(x, y, weight=None):
    """The counts [K, C] of each column, cell by cell."""
    tables = [np.zeros((K, max(int(np.nanmax(column)), 0) + 1)) for column in x.T]
    weight = np.ones(len(x)) if weight is None else weight
    for n, d in zip(*np.nonzero(x >= 0), strict=True):
        tables[d][y[n], int(x[n, d])] += weight[n]
    return tables


def assert_counted(statistics, expected):
    assert statistics.sizes == tuple(table.shape[1] for table in expected)
    assert_array_equal(statistics.counts, np.concatenate(expected, axis=1))


@pytest.fixture(params=[1 << 12, 8 << 20])
def blocks(request, monkeypatch):
    """One block of rows, or many."""
    monkeypatch.setattr(limits, "BLOCK_BYTES", request.param)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize(
    "dtype", cases.by_default([np.int8, np.uint8, np.int64, np.float32, np.float64], np.int8, np.float32)
)
@pytest.mark.parametrize("weighted", [False, True])
def test_rare_codes_have_their_place(rng, dtype, weighted):
    x, y = rows_of(rng, dtype)
    weight = rng.choice([0.5, 1.0, 2.0], N) if weighted else None
    expected = counts_of(x, y, weight)
    estimator = nb.NaiveBayesClassifier("categorical").fit(x, y, sample_weight=weight)
    assert_counted(estimator.statistics_.blocks["x"], expected)
    assert estimator.fit_.model.families["x"].num_categories == (41, 6, 4, 101, 4)
    dropin = CategoricalNB().fit(x, y, sample_weight=weight)
    for found, table in zip(dropin.category_count_, expected, strict=True):
        assert_array_equal(found, table)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("missing", [-1.0, np.nan])
def test_missing_cells_do_not_hide_rare_codes(rng, missing):
    x, y = rows_of(rng, float)
    x[rng.random(x.shape) < 0.2] = missing
    x[:, 4] = missing
    x[8, 0], x[3000, 0], x[N - 1, 1], x[11:13, 3] = 9, 40, 5, 100
    with np.errstate(all="ignore"):
        expected = counts_of(np.where(np.isnan(x), -1, x), y)
    assert_counted(nb.NaiveBayesClassifier("categorical").fit(x, y).statistics_.blocks["x"], expected)


def test_a_faint_row_shows_its_code(rng):
    x, y, weight = rng.integers(0, 4, (N, D)), rng.integers(0, K, N), np.ones(N)
    x[20, 2], weight[20] = 60, 1e-300
    fit = nb.NaiveBayesClassifier("categorical").fit(x, y, sample_weight=weight)
    assert fit.schema_.sizes == (4, 4, 61, 4, 4)


def test_any_split_gives_the_whole(rng):
    x, y = rows_of(rng)
    whole = nb.NaiveBayesClassifier("categorical").fit(x, y)
    parts, dropin = nb.NaiveBayesClassifier("categorical"), CategoricalNB()
    for rows in (slice(0, 9), slice(9, 10), slice(10, 2500), slice(2500, N)):
        parts.partial_fit(x[rows], y[rows], classes=range(K))
        dropin.partial_fit(x[rows], y[rows], classes=range(K))
    assert_counted(parts.statistics_.blocks["x"], counts_of(x, y))
    assert_array_equal(parts.predict_proba(x), whole.predict_proba(x))
    assert_array_equal(dropin.predict_proba(x), CategoricalNB().fit(x, y).predict_proba(x))


@pytest.mark.slow
def test_columns_of_codes_among_others(rng):
    x, y = rows_of(rng, float)
    kinds = ["categorical", "normal", "bernoulli", "categorical", "poisson"]
    x[:, 2] = x[:, 2] > 1
    fit = nb.NaiveBayesClassifier(kinds).fit(x, y)
    expected = counts_of(x[:, [0, 3]], y)
    assert_counted(fit.statistics_.blocks["categorical"], expected)
    x[8, 3] = limits.MOST_CODES
    with pytest.raises(ValueError, match="column 3 of X would have 1048577 categories, which are too many"):
        fit.partial_fit(x, y)
    assert_counted(fit.statistics_.blocks["categorical"], expected)


@pytest.mark.parametrize("row", [0, 8])  # among the few that are looked at first, and not
def test_a_code_without_a_table_is_refused(rng, row):
    x, y = rows_of(rng)
    x[row, 2] = limits.MOST_CODES - 1
    assert nb.NaiveBayesClassifier("categorical").fit(x, y).schema_.sizes[2] == limits.MOST_CODES
    x[row, 2] += 1
    with pytest.raises(ValueError, match="column 2 of X would have"):
        nb.NaiveBayesClassifier("categorical").fit(x, y)
    x[row, 2] = 1 << 40
    with pytest.raises(ValueError, match="column 2 of X would have"):
        CategoricalNB().fit(x, y)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.float32])
@pytest.mark.parametrize("row", [0, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_negative_code_is_refused_by_the_dropin_class(rng, dtype, row, weighted):
    x, y = rows_of(rng, dtype)
    x[row, 2] = -1
    with pytest.raises(ValueError, match="Negative values in data"):
        CategoricalNB().fit(x, y, sample_weight=np.ones(N) if weighted else None)


@pytest.mark.parametrize("dtype", cases.by_default([">i4", ">f8", np.float16], ">i4"))
def test_codes_in_any_order_of_bytes(rng, dtype):
    x, y = rows_of(rng)
    for make in (lambda: nb.NaiveBayesClassifier("categorical"), CategoricalNB):
        assert_array_equal(make().fit(x.astype(dtype), y).predict_proba(x), make().fit(x, y).predict_proba(x))


def test_the_whole_part_of_a_fraction_is_the_code_of_the_dropin_class(rng):
    x, y = rows_of(rng)
    fit = CategoricalNB().fit(x + rng.choice([0.0, 0.5, 0.9], x.shape), y)
    assert_array_equal(fit.n_categories_, [41, 6, 4, 101, 4])
    assert_array_equal(fit.predict_proba(x), CategoricalNB().fit(x, y).predict_proba(x))


def test_categories_that_are_asked_for_are_kept(rng):
    x, y = rows_of(rng)
    least = [2, 50, 4, 7, 9]
    fit, rival = CategoricalNB(min_categories=least).fit(x, y), naive_bayes.CategoricalNB(min_categories=least)
    assert_array_equal(fit.n_categories_, [41, 50, 4, 101, 9])
    assert_allclose(fit.predict_log_proba(x), rival.fit(x, y).predict_log_proba(x), rtol=1e-12)
    with pytest.raises(ValueError, match="column 1 of X would have 1099511627776 categories"):
        CategoricalNB(min_categories=[2, 1 << 40, 4, 7, 9]).fit(x, y)


def test_rows_are_looked_at_once(rng, monkeypatch):
    looks = []
    monkeypatch.setattr(
        "bayesnb.core.families._open_categorical.largest_codes", lambda x: looks.append(x) or cells.largest_codes(x)
    )
    x, y = rng.integers(0, 4, (N, D)), rng.integers(0, K, N)
    fit = nb.NaiveBayesClassifier("categorical").fit(x, y)
    assert [len(rows) for rows in looks] == [limits.SIZED_ROWS - limits.SIZED_ROWS // 7]  # one in seven
    assert_counted(fit.statistics_.blocks["x"], counts_of(x, y))
    fit.fit(x, y, sample_weight=rng.random(N) + 0.1)  # whose sums do not tell that all are counted
    assert len(looks[-1]) == N


def test_rows_of_another_sort_are_refused(rng):
    x, y = rng.integers(0, 4, (N, D)), rng.integers(0, K, N)
    fit = nb.NaiveBayesClassifier("categorical").fit(x, y)
    words = "the rows before were an array, and these are a data frame"
    with pytest.warns(UserWarning, match="fitted without feature names"), pytest.raises(ValueError, match=words):
        fit.partial_fit(pd.DataFrame(x, columns=list("abcde")), y)


def test_blocks_outweigh_their_tables():
    rows = label_rows(nb.NaiveBayes(nb.Categorical((3, 1000))), [[0, 0], [1, 999]], [0, 1])
    assert class_sizes(rows) == {"x": 8 * 1003}


def test_room_is_counted_in_int32(monkeypatch):
    monkeypatch.setattr(limits, "MOST_CATEGORIES", 100)
    x = np.array([[48, 48]])
    assert OpenCategorical((1, 1)).prepare(x, lambda: None).num_categories == (49, 49)
    assert OpenCategorical((1, 1)).prepare(x // 2, lambda: None).num_categories == (32, 32)
    with pytest.raises(ValueError, match="column 7 of X would have 53 categories"):
        OpenCategorical((1, 53), positions=(4, 7)).prepare(x, lambda: None)


def test_counts_of_other_sizes_merge():
    a = CategoricalStatistics(np.array([[1.0, 2, 3], [4, 5, 6]]), (1, 2))
    b = CategoricalStatistics(np.array([[1.0, 1, 1], [0, 0, 1]]), (2, 1))
    merged = a.merge(b)
    assert merged.sizes == (2, 2)
    assert_array_equal(merged.counts, [[2, 1, 3, 3], [4, 0, 6, 6]])
    assert b.without_room((1, 1)).sizes == (2, 1)
    assert CategoricalStatistics(np.array([[0.0, 2, 0, 0, 0], [1, 0, 0, 0, 0]]), (3, 2)).without_room((1, 1)).sizes == (
        2,
        1,
    )
    assert CategoricalStatistics(np.array([[0.0, 0, 0, 0, 2]]), (3, 2)).without_room((1, 1)).sizes == (1, 2)
    assert_array_equal(merged.resize((3, 1)).counts, [[2, 1, 0, 3], [4, 0, 0, 6]])
    spread = a.spread([np.array([2]), np.array([1, 0])], (3, 2))
    assert_array_equal(spread.counts, [[0, 0, 1, 3, 2], [0, 0, 4, 6, 5]])


def test_results_are_merged_in_order():
    words = [str(number) for number in range(50)]
    assert loops.merge_in_threads(str.__add__, lambda word: word, words) == "".join(words)
    assert loops.merge_in_threads(str.__add__, lambda word: word, ["one"]) == "one"
