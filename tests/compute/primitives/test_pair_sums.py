"""Counts, sums and left-out ratios of pairs of categories, against laid-out tables and fits without each row."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.primitives._pair_sums import count_places, sum_edges, sum_parents
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.learned.forests import _left_out_ratios as forests
from bayesnb.learned.forests._left_out_ratios import left_out_ratios
from bayesnb.learned.forests._posterior import prepare

N, K, SIZES = 40, 3, (2, 4, 3, 1, 2)
SIZE, NUM_COLUMNS = sum(SIZES), len(SIZES)
STARTS = np.cumsum((0, *SIZES[:-1]))


@pytest.fixture
def rows(rng):
    """Places of cells, a fifth of them missing, labels and weights; class 2 has no row."""
    codes = np.stack([rng.integers(0, size, N) for size in SIZES], axis=1)
    places = np.where(rng.random(codes.shape) < 0.2, SIZE, STARTS + codes)
    return places, rng.integers(0, K - 1, N), rng.gamma(2.0, 0.5, N)


@pytest.fixture
def tables(rng):
    return np.pad(rng.normal(size=(K, SIZE, SIZE)), [(0, 0), (0, 1), (0, 1)])


def lay_out(tables, places):
    """t_k[x_i, x_j], [N, K, I, I], parents first."""
    return np.moveaxis(tables[:, places[:, :, None], places[:, None, :]], 0, 1)


def test_counts_are_sums_over_rows(rows):
    places, y, weight = rows
    expected = np.zeros((K, SIZE + 1, SIZE + 1))
    for n, row in enumerate(places):
        np.add.at(expected[y[n]], np.ix_(row, row), weight[n])
    assert_allclose(count_places(places, y, weight, K, SIZE), expected[:, :SIZE, :SIZE], rtol=1e-13)


def test_sums_are_those_of_tables_that_are_laid_out(rows, tables, monkeypatch):
    places, parents = rows[0], np.array([1, -1, 0, 2, 2])
    shares = np.log([0.5, 0.0, 0.2, 0.2, 0.1], where=[True, False, True, True, True], out=np.full(5, -np.inf))
    laid_out = lay_out(tables, places)
    edges = sum(laid_out[:, :, i, j] for j, i in enumerate(parents) if i >= 0)
    of_parents = logsumexp(laid_out.sum(axis=3) + shares, axis=2)
    for block_bytes in (limits.IN_CACHE, 8 * NUM_COLUMNS * 7):
        monkeypatch.setattr(limits, "IN_CACHE", block_bytes)
        assert_allclose(sum_edges(tables, places, parents), edges, rtol=1e-12, atol=1e-13)
        assert_allclose(sum_parents(tables, places, shares), of_parents, rtol=1e-12, atol=1e-13)


def test_large_ratios_do_not_overflow(rows, tables):
    places, shares = rows[0], np.full(NUM_COLUMNS, -np.log(NUM_COLUMNS))
    for factor in (400.0, -400.0):
        expected = logsumexp((factor * lay_out(tables, places)).sum(axis=3) + shares, axis=2)
        assert_allclose(sum_parents(factor * tables, places, shares), expected, rtol=1e-12)


def test_no_rows_and_no_columns(tables):
    none = np.zeros((0, NUM_COLUMNS), int)
    assert count_places(none, np.zeros(0, int), np.zeros(0), K, SIZE).sum() == 0
    assert sum_edges(tables, none, np.full(NUM_COLUMNS, -1)).shape == (0, K)
    assert_array_equal(sum_edges(tables, np.zeros((4, 0), int), np.zeros(0, int)), np.zeros((4, K)))


@pytest.mark.parametrize("structure", ["best", "aode"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_leaves_as_if_it_had_never_been(rng, structure, weighted):
    """By fits without it, edges kept."""
    y = np.arange(18) % 2
    sizes = (2, 3, 2, 2, 3, 2, 2, 2, 2, 2, 4)
    x = np.stack([(rng.integers(0, size, 18) + y) % size for size in sizes], axis=1)
    x[:, 1::2] = np.where(rng.random((18, 5)) < 0.7, x[:, 0:-1:2] % 2, x[:, 1::2])
    x = np.where(rng.random(x.shape) < 0.1, -1, x)
    weight = rng.integers(1, 4, 18).astype(float) if weighted else np.ones(18)
    model = nb.NaiveBayes(nb.Categorical(sizes, concentration=0.5))
    fit = nb.fit_forests(model, x, y, sample_weight=weight, structure=structure)
    found = left_out_ratios(fit, label_rows(model, x, y, weight), weight)
    once = left_out_ratios(fit, label_rows(model, x, y, weight), np.ones(18))
    for n in range(18):
        for table, left in ((found, 0.0), (once, weight[n] - 1.0)):
            others = np.where(np.arange(18) == n, left, weight)
            refit = nb.fit_forests(fit.posterior.prior, x, y, sample_weight=others, structure=structure)
            refit = replace(refit, parents=fit.parents)
            ratio = refit.log_joint(x[[n]]) - refit.posterior.log_joint(x[[n]])
            assert_allclose(table[n], ratio[0], rtol=1e-10, atol=1e-12)
    assert np.abs(found).max() > 0.5


@pytest.mark.parametrize("structure", ["best", "aode"])
@pytest.mark.parametrize(("weight", "concentration"), [(1.0, 1e-90), (1e17, 1.0), (0.3, 1e-20)])
def test_only_the_prior_is_left(monkeypatch, structure, weight, concentration):
    """By the same log ratios laid out. Weights drown pseudo-counts, and products of ratios underflow."""
    x, y = np.tile([[0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 2]], 4), np.array([0, 0, 0, 1, 1, 2])
    weights = np.where(y == 0, weight, [1.0, 1.0, 1.0, 40.0, weight, weight])
    model = nb.NaiveBayes(nb.Categorical(3, concentration))
    fit = nb.fit_forests(model, x, y, sample_weight=weights, structure=structure)
    rows = label_rows(model, x, y, weights)
    found = left_out_ratios(fit, rows, weights)
    monkeypatch.setattr(forests, "prepare", lambda fits: prepare(fits)._replace(looked_up=None))
    assert_allclose(found, left_out_ratios(fit, rows, weights), rtol=1e-9, atol=1e-9)
