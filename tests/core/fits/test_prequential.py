"""Rows in order: each is predicted from those before it, which fade, and the factor that suits a stream is found."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases


def one_by_one(case, factors):
    """The same by discounting, predicting and counting one row after another."""
    model = case.model.resolve(case.X, case.y)
    statistics, found = nb.sufficient_statistics(model, case.rows(slice(0, 0)), case.y[:0], num_classes=3), []
    for n in range(len(case.y)):
        row, own = case.rows(slice(n, n + 1)), case.y[n : n + 1]
        statistics = nb.discount(statistics, factors)
        found.append(nb.fit_posterior(model, statistics=statistics).log_joint(row)[0, own[0]])
        statistics = nb.merge(statistics, nb.sufficient_statistics(model, row, own, num_classes=3))
    return np.array(found)


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES, "bernoulli"))
def test_without_forgetting_the_sum_is_the_evidence(name):
    case = cases.make(name)
    found = nb.prequential(case.model, case.X, case.y)
    assert found.shape == case.y.shape
    assert_allclose(found.sum(), nb.fit_posterior(case.model, case.X, case.y).log_evidence, rtol=1e-9)


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES, "bernoulli"))
@pytest.mark.parametrize("factor", [0.8, pytest.param(0.0, marks=pytest.mark.slow)])
def test_each_row_is_predicted_from_those_before_it_which_fade(name, factor):
    case = cases.make(name)
    assert_allclose(nb.prequential(case.model, case.X, case.y, factor), one_by_one(case, factor), rtol=1e-9)


@pytest.mark.slow
def test_many_blocks_of_rows_one_factor_for_each_and_fixed_class_probabilities():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)  # not a power of two, in blocks of 64
    X = {"flags": rng.integers(0, 2, (300, 9_000)), "one": rng.integers(0, 2, (300, 1))}
    model = nb.NaiveBayes({"flags": nb.Bernoulli(), "one": nb.Bernoulli(2.0, 0.5)}, class_probs=[0.2, 0.5, 0.3])
    factors = {"label": 0.3, "flags": 0.9, "one": 0.99}
    case = cases.Case(model, X, y)
    assert_allclose(nb.prequential(model, X, y, factors), one_by_one(case, factors), rtol=1e-9)


FLAGS = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: nb.prequential(FLAGS, [[1], [0]], [0, 1], 1.1), "forgetting must be a number from 0"),
        (lambda: nb.prequential(FLAGS, [[1], [0]], [0, 1], {"x": 1.0}), "one for each of"),
        (lambda: nb.prequential(FLAGS, [[1], [0]], np.eye(2)), "integer labels"),
        (lambda: nb.prequential(FLAGS, [[1], [3]], [0, 1]), "block 'x'"),
        (lambda: nb.prequential(FLAGS, [[1], [0]], [0, 2]), "y holds 2"),
        (lambda: jax.jit(lambda X: nb.prequential(FLAGS, X, jnp.zeros(2, int)))(jnp.zeros((2, 1))), "transformation"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_factor_may_be_a_scalar_of_jax():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    model = nb.NaiveBayes(nb.Normal())
    given = nb.prequential(model, X, y, {"x": jnp.asarray(0.5), "label": jnp.asarray(0.5)})
    assert_allclose(given, nb.prequential(model, X, y, 0.5), rtol=1e-12)


COINS = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
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
        total += nb.fit_posterior(COINS, X[seen], y[seen]).log_joint(X[n : n + 1])[0, y[n]]
    return total


def test_on_a_stream_that_jumps_it_beats_all_rows_and_a_window():
    X, y = stream(0, jumps=(170, 340))
    found = nb.fit_forgetting(COINS, X, y)
    assert 0.9 < found.factor < 0.995
    assert_allclose(nb.prequential(COINS, X, y, found.factor).sum(), found.log_evidence, rtol=1e-9)
    for factor in (found.factor - 0.003, found.factor + 0.003, 1.0):
        assert nb.prequential(COINS, X, y, factor).sum() < found.log_evidence
    assert of_a_window(X, y, 50) < found.log_evidence
    assert of_a_window(X, y, 100) < found.log_evidence
    weight = found.factor ** np.arange(N)[::-1]
    faded = nb.fit_posterior(COINS, X, y, sample_weight=weight)
    assert_allclose(found.fit.predict_proba(X), faded.predict_proba(X), rtol=1e-9)


@pytest.mark.slow
def test_on_a_still_stream_it_keeps_nearly_all_and_costs_nearly_nothing():
    factors, costs = [], []
    for seed in range(40):
        X, y = stream(seed, num_rows=4096)
        factor = nb.fit_forgetting(COINS, X[:2048], y[:2048]).factor
        factors.append(factor)
        cost = nb.prequential(COINS, X, y) - nb.prequential(COINS, X, y, factor)
        costs.append(cost[2048:].mean())
    assert np.mean(np.array(factors) >= 0.99) >= 0.95
    assert np.mean(costs) <= 1e-3


def test_soft_labels_are_in_no_order():
    with pytest.raises(ValueError, match="integer labels"):
        nb.fit_forgetting(COINS, [[1], [0]], np.eye(2))


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
