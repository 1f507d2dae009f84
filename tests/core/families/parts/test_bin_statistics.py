"""Edges of bins lie between values, points have bins of their own, and weights are repetitions."""

import numpy as np
from numpy.testing import assert_allclose

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
