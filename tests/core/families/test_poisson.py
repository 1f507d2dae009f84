"""Poisson columns against scipy's densities and conjugacy worked out on paper."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb
from tests.core.families.count_rows import EVENTS, RANDOM, K, N, Y, both, class_counts, log_class_mean, sums, tolerance


def poisson(**prior):
    return nb.NaiveBayes(nb.Poisson(**prior), num_classes=K)


@both
def test_poisson_predictive_is_scipys_negative_binomial(lane):
    shape, rate = np.array([0.5, 2.0, 1.0]), np.array([[1.0], [0.3], [4.0]])
    fit = nb.fit_posterior(poisson(shape=shape, rate=rate), lane(EVENTS), lane(Y))
    a, r = shape + sums(EVENTS), rate + class_counts()[:, None]
    expected = stats.nbinom.logpmf(EVENTS[:, None], a, r / (r + 1)).sum(axis=2) + log_class_mean(class_counts())
    assert_allclose(fit.log_joint(lane(EVENTS)), expected, **tolerance(lane))


def test_a_rate_of_none_is_in_the_unit_of_each_column():
    """The prior mean shape / rate is the column's pooled mean; a column of zeros has rate one."""
    x = np.c_[EVENTS, np.zeros(N, int)]
    prior = nb.fit_posterior(poisson(shape=[2.0, 1.0, 3.0, 2.0], rate=None), x, Y).prior.families["x"]
    assert_allclose((prior.shape / prior.rate)[:, :3], np.tile(EVENTS.mean(axis=0), (K, 1)), rtol=1e-6)
    assert_array_equal(prior.rate[:, 3], 1)


def test_a_rate_of_none_is_a_prior_however_large_the_counts():
    """shape / mean would be 0 in float64; a pseudo-row of that weight changes nothing beside the rows."""
    fit = nb.fit_posterior(poisson(shape=1e-20, rate=None), np.array([[1e300], [2e300]]), [0, 1])
    assert (fit.prior.families["x"].rate > 0).all()
    assert np.isfinite(fit.log_joint([[1e300]])).all()
    assert np.isfinite(fit.log_evidence)


@both
def test_a_class_that_never_saw_an_event_wins_only_without_one(lane):
    x, y = np.array([[0, 3], [0, 5], [2, 4], [4, 0]]), np.array([0, 0, 1, 1])
    fit = nb.fit_mle(nb.NaiveBayes(nb.Poisson(), num_classes=2), lane(x), lane(y))
    assert_array_equal(fit.params["x_rate"], [[0, 4], [3, 2]])
    proba = np.asarray(fit.predict_proba(lane(np.array([[1, 4], [0, 4]]))))
    assert_array_equal(proba[0], [0, 1])
    weights = stats.poisson.pmf(4, 4), stats.poisson.pmf(0, 3) * stats.poisson.pmf(4, 2)
    assert_allclose(proba[1], np.array(weights) / sum(weights), rtol=1e-6)
    one_event = np.asarray(fit.log_joint(lane(np.array([[1, 4]]))))
    assert one_event[0, 0] == -np.inf


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_a_million_events_a_cell_keep_their_digits(dtype):
    """In numpy arrays of any type, against scipy in float64."""
    x = RANDOM.poisson([[1e6], [1.002e6]], (2, 4))
    x, y = np.concatenate([x, x + 500]), np.array([0, 1, 0, 1])
    rate = np.array([x[y == k].mean(axis=0) for k in (0, 1)])
    known = nb.fit_mle(nb.NaiveBayes(nb.Poisson()), x.astype(dtype), y)
    expected = stats.poisson.logpmf(x[:, None], rate).sum(axis=2) + np.log(0.5)
    assert_allclose(known.log_joint(x.astype(dtype)), expected, rtol=0, atol=1e-3)
    a, r = 1 + 2 * rate, 3.0
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Poisson()), x.astype(dtype), y)
    expected = stats.nbinom.logpmf(x[:, None], a, r / (r + 1)).sum(axis=2) + np.log(0.5)
    assert_allclose(fit.log_joint(x.astype(dtype)), expected, rtol=0, atol=1e-3)


def test_poisson_given_its_total_is_multinomial():
    """prod_d Poisson(x_d | l_d) = Poisson(n | sum l) Multinomial(x | n, l / sum l)."""
    rate, class_probs = np.array([[1.0, 2.0, 0.5], [4.0, 0.2, 3.0]]), [0.3, 0.7]
    counts = nb.PointEstimate(nb.NaiveBayes(nb.Poisson()), {"class_probs": class_probs, "x_rate": rate})
    share = rate / rate.sum(axis=1, keepdims=True)
    words = nb.PointEstimate(nb.NaiveBayes(nb.Multinomial()), {"class_probs": class_probs, "x_probs": share})
    total = stats.poisson.logpmf(EVENTS.sum(axis=1)[:, None], rate.sum(axis=1))
    assert_allclose(counts.log_joint(EVENTS), words.log_joint(EVENTS) + total, rtol=1e-10)
