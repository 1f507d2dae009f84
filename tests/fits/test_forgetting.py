import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb

MODEL = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
N, D = 512, 4


def stream(seed, jumps=(), num_rows=N):
    """Flags whose probabilities are drawn anew after each jump."""
    rng = np.random.default_rng(seed)
    y, probs = rng.integers(0, 2, num_rows), rng.uniform(0.1, 0.9, (2, D))
    X = np.empty((num_rows, D))
    for n in range(num_rows):
        probs = rng.uniform(0.1, 0.9, (2, D)) if n in jumps else probs
        X[n] = rng.random(D) < probs[y[n]]
    return X, y


def of_a_window(X, y, width):
    """The sum of log p(y, x | the last ``width`` rows)."""
    total = 0.0
    for n in range(N):
        seen = slice(max(n - width, 0), n)
        total += nb.fit_posterior(MODEL, X[seen], y[seen]).log_joint(X[n : n + 1])[0, y[n]]
    return total


def test_on_a_stream_that_jumps_it_beats_all_rows_and_a_window():
    X, y = stream(0, jumps=(170, 340))
    found = nb.fit_forgetting(MODEL, X, y)
    assert 0.9 < found.factor < 0.995
    assert_allclose(nb.prequential(MODEL, X, y, found.factor).sum(), found.log_evidence, rtol=1e-9)
    for factor in (found.factor - 0.003, found.factor + 0.003, 1.0):
        assert nb.prequential(MODEL, X, y, factor).sum() < found.log_evidence
    assert of_a_window(X, y, 50) < found.log_evidence
    assert of_a_window(X, y, 100) < found.log_evidence
    weight = found.factor ** np.arange(N)[::-1]
    faded = nb.fit_posterior(MODEL, X, y, sample_weight=weight)
    assert_allclose(found.fit.predict_proba(X), faded.predict_proba(X), rtol=1e-9)


@pytest.mark.slow
def test_on_a_still_stream_it_keeps_nearly_all_and_costs_nearly_nothing():
    factors, costs = [], []
    for seed in range(40):
        X, y = stream(seed, num_rows=4096)
        factor = nb.fit_forgetting(MODEL, X[:2048], y[:2048]).factor
        factors.append(factor)
        cost = nb.prequential(MODEL, X, y) - nb.prequential(MODEL, X, y, factor)
        costs.append(cost[2048:].mean())
    assert np.mean(np.array(factors) >= 0.99) >= 0.95
    assert np.mean(costs) <= 1e-3


def test_bad_input():
    with pytest.raises(ValueError, match="integer labels"):
        nb.fit_forgetting(MODEL, [[1], [0]], np.eye(2))


def test_one_factor_for_each_block():
    X, y = stream(1, jumps=(170, 340))
    still, _ = stream(2)
    model = nb.NaiveBayes({"moves": nb.Bernoulli(), "still": nb.Bernoulli()}, num_classes=2)
    blocks = {"moves": X, "still": still}
    found = nb.fit_forgetting(model, blocks, y, per_block=True)
    assert found.factor["moves"] < found.factor["still"]
    assert_allclose(nb.prequential(model, blocks, y, found.factor).sum(), found.log_evidence, rtol=1e-9)
    assert found.log_evidence >= nb.fit_forgetting(model, blocks, y).log_evidence - 1e-6


@pytest.mark.slow
def test_a_family_without_a_faster_way():
    y = np.arange(256) % 2
    X = np.random.default_rng(0).normal(np.where(np.arange(256) < 128, y, 3.0 - y)[:, None], 1.0, (256, 2))
    model = nb.NaiveBayes(nb.NormalKnownVariance(), num_classes=2)
    found = nb.fit_forgetting(model, X, y)
    for factor in (found.factor - 0.005, found.factor + 0.005, 1.0):
        assert nb.prequential(model, X, y, factor).sum() < found.log_evidence
