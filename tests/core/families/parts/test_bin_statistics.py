"""Edges of bins lie between values, points have bins of their own, and weights are repetitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.primitives._codes import find_bins
from bayesnb.core.families.parts._bin_statistics import find_edges


def test_edges_lie_between_values_and_atoms_have_their_own():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=2000), rng.exponential(size=2000), rng.integers(0, 9, 2000), np.full(2000, 3.0)]
    columns[1][rng.random(2000) < 0.6] = 0.0
    X = np.stack(columns, axis=1)
    edges, atoms = find_edges(X, None, 32)
    counts = [np.bincount(find_bins(X[:, [d]], edges[[d]])[:, 0]) for d in range(4)]
    assert len(counts[0]) == 32
    assert np.ptp(counts[0]) <= 1
    assert counts[1][0] == (X[:, 1] == 0).sum()
    assert np.ptp(counts[1][1:]) <= 1
    assert atoms[1, 0] == 0
    assert np.isinf(atoms[1, 1:]).all()
    assert_allclose(edges[2, :8], np.arange(8) + 0.5)
    assert atoms[2, :9].tolist() == [*range(9)]
    assert np.isinf(edges[3]).all()
    assert atoms[3, 0] == 3
    assert not np.isin(edges[:, :8], X).any()


def test_weights_are_repetitions_in_edges():
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(90, 2)).round(1), rng.integers(0, 4, 90)
    for one, other in zip(
        find_edges(X, weight.astype(float), 12), find_edges(np.repeat(X, weight, axis=0), None, 12), strict=True
    ):
        assert_allclose(one, other)


def test_few_rows_have_few_bins():
    """About sqrt(N), N the weight of rows, from 8 to 32, whatever cells they lack; weights are repeated rows."""
    rng = np.random.default_rng(0)
    for num_rows, size in ((0, 8), (20, 8), (64, 8), (65, 9), (300, 18), (1024, 32), (5000, 32)):
        x = rng.normal(size=(num_rows, 2))
        x[::2, 1] = np.nan
        with_others = np.concatenate([x, rng.normal(size=(500, 2))])
        weight = np.repeat([1.0, 0.0], [num_rows, 500])
        for edges, atoms in (find_edges(x, None, None), find_edges(with_others, weight, None)):
            assert (edges.shape, atoms.shape) == ((2, size - 1), (2, size))
        if num_rows < 1000:  # of more, some are taken
            repeated = find_edges(np.repeat(x, 3, axis=0), None, None)
            np.testing.assert_array_equal(repeated[0], find_edges(x, np.full(num_rows, 3.0), None)[0])
    model = nb.NaiveBayes({"a": nb.Histogram(), "b": nb.Views(nb.NormalScores(), nb.Histogram())})
    rows, y = {"a": rng.normal(size=(100, 1)), "b": rng.normal(size=(100, 1))}, np.arange(100) % 2
    first = nb.sufficient_statistics(model, rows, y)
    fit = nb.fit_posterior(model, statistics=first)
    assert (fit.model.families["a"].cells, fit.model.families["b"].generative.cells) == (10, 10)
    again = nb.sufficient_statistics(fit.prior, {name: x[:20] for name, x in rows.items()}, y[:20])
    assert nb.merge(first, again).blocks["a"].counts.shape == (2, 1, 10)


@pytest.mark.parametrize(("num_rows", "num_bins"), [(1, 4), (7, 8), (40, 8), (40, None)])
def test_columns_whose_values_all_differ_are_cut_like_others(rng, num_rows, num_bins):
    """At once, where weights of 1 cut column by column."""
    X = rng.normal(size=(num_rows, 9)) * 1e300
    X[:, 1], X[0, 2], X[-1, 3], X[0, 4] = X[:, 1].round(-300), np.nan, np.inf, -np.inf
    X[:, 5] = np.nextafter(np.full(num_rows, 1.0), 2.0) + np.arange(num_rows) * np.finfo(float).eps
    for found, expected in zip(find_edges(X, None, num_bins), find_edges(X, np.ones(num_rows), num_bins), strict=True):
        np.testing.assert_array_equal(found, expected)
