"""Binomial columns against scipy's densities and conjugacy worked out on paper."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb
from tests.core.families.count_rows import (
    CELLS,
    FITS,
    SUCCESSES,
    K,
    N,
    Y,
    both,
    class_counts,
    device,
    host,
    log_class_mean,
    rows,
    sums,
    tolerance,
)

TOTALS = {
    "number": 7,
    "columns": (4, 9, 1),
    "pair": None,
}
on_a_device_too = pytest.mark.parametrize(
    ("lane", "name"), [(host, "number"), (host, "columns"), (host, "pair"), (device, "pair")]
)


def binomial(name, **prior):
    return nb.NaiveBayes(nb.Binomial(TOTALS[name], **prior), num_classes=K)


@on_a_device_too
def test_binomial_predictive_is_scipys_beta_binomial(lane, name):
    a, b = np.array([0.7, 2.0, 1.0]), np.array([[1.5], [0.5], [3.0]])
    fit = nb.fit_posterior(binomial(name, a=a, b=b), lane(rows(name)), lane(Y))
    wins, losses = a + sums(SUCCESSES[name]), b + sums(CELLS[name] - SUCCESSES[name])
    terms = stats.betabinom.logpmf(SUCCESSES[name][:, None], CELLS[name][:, None], wins, losses)
    expected = terms.sum(axis=2) + log_class_mean(class_counts())
    assert_allclose(fit.log_joint(lane(rows(name))), expected, **tolerance(lane))


@pytest.mark.parametrize("fit", FITS)
def test_totals_may_stand_in_the_model_or_beside_the_rows(fit):
    x, t = SUCCESSES["columns"], CELLS["columns"]
    declared = fit(binomial("columns"), x, Y)
    beside = fit(binomial("pair"), (x, t), Y)
    assert_allclose(beside.log_joint((x, t)), declared.log_joint(x), rtol=1e-12)


WAYS = {"successes": (np.nan, 5.0), "totals": (2.0, np.nan), "both": (np.nan, np.nan), "untried": (0.0, 0.0)}


@pytest.mark.parametrize("way", WAYS)
@both
def test_a_cell_is_missing_where_either_part_is_or_nothing_was_tried(lane, way):
    x, t = SUCCESSES["pair"].astype(float), CELLS["pair"].astype(float)
    x[::2, 1], t[::2, 1] = WAYS[way]
    fit = nb.fit_mle(binomial("pair"), lane((x, t)), lane(Y))
    seen = np.ones((N, 3), bool)
    seen[::2, 1] = False
    wins, tried = sums(np.where(seen, SUCCESSES["pair"], 0)), sums(np.where(seen, CELLS["pair"], 0))
    assert_allclose(fit.params["x_probs"], wins / tried, rtol=1e-6)
    terms = stats.binom.logpmf(SUCCESSES["pair"][:, None], CELLS["pair"][:, None], wins / tried)
    expected = np.where(seen[:, None], terms, 0.0).sum(axis=2) + np.log(class_counts() / N)
    assert_allclose(fit.log_joint(lane((x, t))), expected, **tolerance(lane))


@pytest.mark.parametrize("fit", FITS)
def test_an_untried_row_tells_nothing(fit):
    result = fit(binomial("pair"), rows("pair"), Y).with_class_probs([0.2, 0.3, 0.5])
    assert_allclose(result.predict_proba((np.zeros((1, 3)), np.zeros((1, 3)))), [[0.2, 0.3, 0.5]], rtol=1e-12)


@both
def test_a_class_in_which_an_outcome_is_impossible_never_wins(lane):
    """Class 0 has seen no success, class 2 no failure."""
    x, y = np.array([[0], [0], [2], [3], [5], [5]]), np.repeat([0, 1, 2], 2)
    fit = nb.fit_mle(nb.NaiveBayes(nb.Binomial(5), num_classes=3), lane(x), lane(y))
    assert_array_equal(fit.params["x_probs"], [[0.0], [0.5], [1.0]])
    cells = np.arange(6)
    joint = np.stack([cells == 0, stats.binom.pmf(cells, 5, 0.5), cells == 5], axis=1) / 3
    assert_allclose(np.exp(fit.log_joint(lane(cells[:, None]))), joint, rtol=1e-6)
    proba = fit.predict_proba(lane(cells[:, None]))
    assert_allclose(proba, joint / joint.sum(axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("fit", FITS)
def test_many_trials_keep_their_digits(fit):
    t = np.full((4, 2), 1_000_000)
    x, y = np.array([[300_000, 10], [301_000, 12], [299_000, 8], [303_000, 11]]), np.array([0, 1, 0, 1])
    result = fit(nb.NaiveBayes(nb.Binomial(None)), (x.astype(np.float32), t.astype(np.float32)), y)
    wins = np.array([x[y == k].sum(axis=0) for k in (0, 1)])
    if fit is nb.fit_posterior:
        terms = stats.betabinom.logpmf(x[:, None], t[:, None], 1 + wins, 1 + 2_000_000 - wins)
    else:
        terms = stats.binom.logpmf(x[:, None], t[:, None], wins / 2_000_000)
    expected = terms.sum(axis=2) + np.log(0.5)
    got = result.log_joint((x.astype(np.float32), t.astype(np.float32)))
    assert_allclose(got, expected, rtol=0, atol=1e-3)
