"""The distribution of numbers in bins: its density, its draws and its mean."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb.compute.primitives._codes import find_bins
from bayesnb.core.families.parts._bin_statistics import find_edges
from bayesnb.core.families.parts._bins import NumbersInBins


@pytest.mark.slow
def test_densities_integrate_to_one_and_draws_have_them():
    rng = np.random.default_rng(2)
    X = np.stack([rng.normal(size=500), rng.exponential(size=500)], axis=1)
    X[rng.random(500) < 0.4, 1] = 0.0
    edges, atoms = find_edges(X, None, 6)
    probs = rng.dirichlet(np.ones(6), 2) * np.isfinite(np.c_[np.zeros(2), edges])
    probs /= probs.sum(axis=1, keepdims=True)
    law = NumbersInBins(probs, edges, atoms)
    grid = np.linspace(-60, 60, 600_001)
    density = np.exp(np.asarray(law.log_prob(np.stack([grid, grid], axis=1))))
    assert_allclose(density[:, 0].sum() * np.diff(grid)[0], 1.0, rtol=1e-3)
    outside = ~(find_bins(grid[:, None], edges[1:])[:, 0] == 0)
    assert_allclose(density[outside, 1].sum() * np.diff(grid)[0] + probs[1, 0], 1.0, rtol=1e-3)
    draws = np.asarray(law.sample(jax.random.key(0), (20_000,)))
    for d in range(2):
        found = np.bincount(find_bins(draws[:, [d]], edges[[d]])[:, 0], minlength=6) / 20_000
        assert (np.abs(found - probs[d]) < 5 * np.sqrt(probs[d] / 20_000) + 1e-12).all()
        error = draws[:, d].std() / np.sqrt(20_000)
        assert abs(draws[:, d].mean() - np.asarray(law.mean)[d]) < 5 * error
    inner = draws[find_bins(draws[:, [0]], edges[:1])[:, 0] == 2, 0]
    assert stats.kstest(inner, stats.uniform(edges[0, 1], edges[0, 2] - edges[0, 1]).cdf).pvalue > 1e-3
