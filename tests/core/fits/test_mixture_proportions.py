"""Mixture proportions: the fixed point of EM, and the quantiles of their posterior."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.core.fits import _mixture_proportions as mixture_proportions
from tests import cases
from tests.core.fits.shifted_rows import KNOWN, SHIFTED, TABLE, by_em, rows


@pytest.mark.parametrize("num_rows", cases.by_default([7, 200, 30_000], 7, 200))
def test_the_estimate_is_the_fixed_point_of_em(num_rows):
    X = rows(SHIFTED, num_rows)
    expected = by_em(X, steps=20_000 if num_rows < 1000 else 500)
    for method in ("mle", "map"):  # the same under Dirichlet(1)
        found = nb.estimate_class_probs(KNOWN, X, method=method).class_probs
        assert_allclose(found, expected, atol=2e-4)
        assert_allclose(found.sum(), 1.0, rtol=1e-12)


def test_each_step_looks_at_the_rows_once(monkeypatch):
    """One pass gives the slopes at a point and says whether it is better than the last; few points are looked at."""
    table, passes, once = TABLE.predict_proba(rows(SHIFTED, 2_000)), [], mixture_proportions.slopes
    monkeypatch.setattr(mixture_proportions, "slopes", lambda *args: passes.append(1) or once(*args))
    found = mixture_proportions.find_proportions(table, np.zeros(3))
    share = table * found.probs / (table @ found.probs)[:, None]
    assert_allclose(share.mean(axis=0), found.probs, atol=1e-6)  # a fixed point of EM
    assert len(passes) <= 5


def certain_rows(counts):
    """Rows without doubt, and a fit that knows it: their posterior is a Dirichlet."""
    codes = np.repeat(np.arange(len(counts)), counts)
    flags = np.eye(len(counts))[codes]
    params = {"class_probs": np.full(len(counts), 1 / len(counts)), "x_probs": np.eye(len(counts))}
    return nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), params), flags


@pytest.mark.parametrize("counts", [(0, 3, 9), (0, 4_000, 8_000)], ids=["by points", "by Laplace"])
def test_rows_without_doubt_have_a_dirichlet_posterior(counts):
    fit, flags = certain_rows(counts)
    found = nb.estimate_class_probs(fit, flags, level=0.9)
    assert_allclose(found.class_probs, np.array(counts) / sum(counts), atol=1e-12)
    after = np.array(counts) + 1.0
    below = scipy.stats.beta(after, after.sum() - after).cdf(np.stack(found.interval))
    assert_allclose(below, np.broadcast_to([[0.05], [0.95]], below.shape), atol=0.01 if sum(counts) < 100 else 1e-3)


def test_the_interval_has_the_quantiles_of_the_posterior():
    """Against a grid over the one free number of two classes."""
    fit = nb.PointEstimate(
        nb.NaiveBayes(nb.Normal(), class_concentration=[2.0, 0.7]),
        {"class_probs": [0.5, 0.5], "x_loc": [[0.0], [1.0]], "x_variance": [[1.0], [1.0]]},
    )
    X = np.random.default_rng(3).normal(0.2, 1.0, (30, 1))
    grid = (np.arange(2000) + 0.5) / 2000
    likelihood = np.exp(fit.log_joint(X))
    log = np.log(np.outer(likelihood[:, 0], grid) + np.outer(likelihood[:, 1], 1 - grid)).sum(axis=0)
    weight = np.exp(log - log.max()) * grid * (1 - grid) ** -0.3
    low, high = nb.estimate_class_probs(fit, X).interval
    mass = np.cumsum(weight) / weight.sum()
    assert_allclose([low[0], high[0]], grid[np.searchsorted(mass, [0.05, 0.95])], atol=0.02)
