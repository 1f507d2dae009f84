"""Rows in order by loops give what a fit to the rows before each gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.fits._prequential import log_predictive_in_order
from tests import cases


def long_streams():
    """Several blocks of rows, with cells and columns that say nothing."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 500)
    y[400:] = 1  # class 0 and 2 fade
    words = rng.poisson(rng.gamma(1.0, 1.5, (500, 4)))
    words[7] = 40
    reals = rng.normal(y[:, None], 1.0, (500, 3)) * [1.0, 1e-6, 0.0] + [1e3, 0.0, 5.0]
    reals[rng.random(500) < 0.2, 0] = np.nan
    codes = rng.integers(-1, 4, (500, 3))
    return y, {
        "flags": (nb.Bernoulli(0.3, [0.1, 2.0, 3.0]), (rng.random((500, 3)) < 0.3).astype(np.uint8)),
        "categories": (nb.Categorical((2, 4, 3), 0.7), np.where(codes < [2, 4, 3], codes, -1)),
        "words": (nb.Multinomial(0.4), words),
        "shares": (nb.Multinomial(0.4), words / 2.0),
        "events": (nb.Poisson(rate=None), np.where(words == 3, np.nan, words)),
        "reals": (nb.Normal(), reals),
        "complete": (nb.Normal(shape=[1.0, 2.0], strength=0.3), reals[:, 1:]),
    }


WITH_LOOPS = ["flags", "categories", "reals", "complete"]


@pytest.mark.parametrize("name", cases.by_default([*long_streams()[1]], *WITH_LOOPS))
def test_many_rows(name, monkeypatch):
    y, streams = long_streams()
    monkeypatch.setattr(limits, "IN_CACHE", 1 << 11)
    model = nb.NaiveBayes(streams[name][0], num_classes=3)
    X = streams[name][1]
    model = model.resolve(X, y)
    assert (log_predictive_in_order(model.families["x"], X, y, 1.0) is not None) == (name in WITH_LOOPS)
    assert_allclose(nb.prequential(model, X, y).sum(), nb.fit_posterior(model, X, y).log_evidence, rtol=1e-10)
    for factor in (0.97, 1e-60, 0.0):
        found = nb.prequential(model, X, y, factor)
        for n in (1, 2, 250, 399, 450):
            weight = factor ** np.arange(n, 0, -1.0)
            before = nb.sufficient_statistics(model, X[:n], y[:n], sample_weight=weight, num_classes=3)
            expected = nb.fit_posterior(model, statistics=before).log_joint(X[n : n + 1])[0, y[n]]
            assert_allclose(found[n], expected, rtol=1e-9, atol=1e-9)
