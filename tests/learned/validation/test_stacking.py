"""Weights of an average of predictions: those that a search over all weights finds best, by refits without each row."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.learned.validation._stacking import CONCENTRATION, stacking_weights

N = 40
NORMAL = nb.Normal()
VIEWS = nb.Views(nb.NormalScores(), nb.Histogram(cells=6))


def _rows():
    rng, y = np.random.default_rng(5), np.arange(N) % 3
    number = np.exp(rng.normal(size=(N, 2)) + 0.8 * y[:, None])
    number[3, 1] = np.nan
    return {"number": number, "flag": rng.random((N, 2)) < (0.2 + 0.3 * y[:, None])}, y, rng.gamma(2.0, 0.5, N)


X, Y, WEIGHT = _rows()


@cache
def fit(family):
    model = nb.NaiveBayes({"number": family, "flag": nb.Bernoulli()})
    return nb.fit_posterior(model, X, Y, sample_weight=WEIGHT)


@cache
def tempered(family, *, per_feature=True):
    return nb.temper(fit(family), X, Y, per_feature=per_feature, sample_weight=WEIGHT)


def by_refits(one, n):
    """log p(y_n | x_n) under the powers of the fit, from all rows but one copy of this: a weight of w is w rows."""
    weight = np.where(np.arange(N) == n, np.maximum(WEIGHT - 1.0, 0.0), WEIGHT)
    again = nb.fit_posterior(one.prior, X, Y, sample_weight=weight)
    return replace(again, powers=one.powers).predict_log_proba({name: x[n : n + 1] for name, x in X.items()})[0, Y[n]]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: [tempered(NORMAL), tempered(VIEWS)], id="powers"),
        pytest.param(lambda: [fit(NORMAL), tempered(VIEWS, per_feature=False)], id="one power"),
        pytest.param(lambda: [fit(VIEWS), fit(NORMAL)], id="equal shares"),
    ],
)
def test_no_other_weights_are_better(make):
    fits = make()
    logs = np.array([[by_refits(one, n) for one in fits] for n in range(N)])
    first = np.linspace(0.0, 1.0, 100_001)[1:-1, None]
    shares = np.concatenate([first, 1.0 - first], axis=1)
    found = WEIGHT @ np.log(np.exp(logs) @ shares.T) + (CONCENTRATION - 1.0) * np.log(shares).sum(axis=1)
    weights = stacking_weights(fits, X, Y, sample_weight=WEIGHT)
    assert_allclose(weights, shares[found.argmax()], atol=1e-5)
    assert abs(weights[0] - 0.5) > 0.01


def test_powers_of_words_stay():
    """By refits, as above: no word is in one row only."""
    rng, y = np.random.default_rng(3), np.arange(30) % 2
    rows = rng.poisson(2.0 + (np.arange(4) == y[:, None]), (30, 4))
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), rows, y)
    fits = [fit, fit.with_powers(0.6, length_exponents=0.4, class_power=0.7)]
    logs = np.empty((30, 2))
    for n in range(30):
        again = nb.fit_posterior(fit.prior, np.delete(rows, n, axis=0), np.delete(y, n))
        each = [again, again.with_powers(0.6, length_exponents=0.4, class_power=0.7)]
        logs[n] = [one.predict_log_proba(rows[[n]])[0, y[n]] for one in each]
    shares = np.linspace(0.0, 1.0, 100_001)[1:-1]
    shares = np.stack([shares, 1.0 - shares], axis=1)
    found = np.log(np.exp(logs) @ shares.T).sum(axis=0) + (CONCENTRATION - 1.0) * np.log(shares).sum(axis=1)
    assert_allclose(stacking_weights(fits, rows, y), shares[found.argmax()], atol=2e-5)


def test_three_fits_in_any_order():
    fits = [tempered(NORMAL), tempered(VIEWS), fit(NORMAL)]
    weights = stacking_weights(fits, X, Y, sample_weight=WEIGHT)
    assert_allclose(weights.sum(), 1.0)
    assert_allclose(stacking_weights(fits[::-1], X, Y, sample_weight=WEIGHT), weights[::-1], atol=1e-6)


def test_equal_fits_have_equal_weights():
    same = fit(NORMAL)
    assert_allclose(stacking_weights([same, same], X, Y, sample_weight=WEIGHT), 0.5)


@pytest.mark.slow
def test_the_better_model_has_the_larger_weight_as_rows_grow():
    rng, found = np.random.default_rng(2), []
    for size in (30, 300, 3000):
        y = np.arange(size) % 2
        x = rng.normal(size=(size, 1)) + 3.0 * rng.choice([-2, 0, 2], (size, 1)) + 3.0 * y[:, None]  # as teeth of combs
        fits = [nb.fit_posterior(nb.NaiveBayes(family), x, y) for family in (nb.Histogram(), nb.Normal())]
        found.append(stacking_weights(fits, x, y)[0])
    assert found[0] < found[1] < found[2]
    assert found[2] > 0.9


def test_refusals():
    normal = fit(NORMAL)
    with pytest.raises(ValueError, match="two or more fits with the same classes, got 1 fits"):
        stacking_weights([normal], X, Y)
    with pytest.raises(ValueError, match="two or more fits with the same classes, got 1 fits"):
        stacking_weights(normal, X, Y)
    with pytest.raises(ValueError, match="stacking_weights takes Posteriors, as fit_posterior returns, got str"):
        stacking_weights([normal, "views"], X, Y)
    with pytest.raises(ValueError, match="X, y and sample_weight must be the rows that the posterior was fitted to"):
        stacking_weights([normal, normal], X, Y)
    with pytest.raises(ValueError, match="stacking_weights takes integer labels"):
        stacking_weights([normal, normal], X, np.eye(3)[Y], sample_weight=WEIGHT)
    two = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), [[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="with the same classes"):
        stacking_weights([normal, two], X, Y)
