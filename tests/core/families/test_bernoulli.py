"""Bernoulli columns against scipy's densities and conjugacy worked out on paper."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from tests.core.families.count_rows import FITS, RANDOM, K, N, Y, both, class_counts, log_class_mean, sums, tolerance

FLAGS = RANDOM.random((N, 4)) < 0.2 + 0.2 * Y[:, None]
A, B = np.array([0.7, 2.0, 1.0, 3.0]), np.array([[1.5], [0.5], [3.0]])
"""Pseudo-counts of ones by column, and of zeros by class."""


def bernoulli(**prior):
    return nb.NaiveBayes(nb.Bernoulli(**prior), num_classes=K)


@both
def test_the_predictive_is_the_share_of_ones_with_pseudo_counts(lane):
    fit = nb.fit_posterior(bernoulli(a=A, b=B), lane(FLAGS), lane(Y))
    share = (sums(FLAGS) + A) / (class_counts()[:, None] + A + B)
    expected = stats.bernoulli.logpmf(FLAGS[:, None], share).sum(axis=2) + log_class_mean(class_counts())
    assert_allclose(fit.log_joint(lane(FLAGS)), expected, **tolerance(lane))


@pytest.mark.parametrize("fit", FITS)
def test_one_trial_is_a_bernoulli(fit):
    flags = np.where(RANDOM.random((N, 2)) < 0.2, np.nan, RANDOM.integers(0, 2, (N, 2)))
    one, coin = (fit(nb.NaiveBayes(f), flags, Y) for f in (nb.Binomial(1, a=0.5, b=2.0), nb.Bernoulli(a=0.5, b=2.0)))
    assert_allclose(one.log_joint(flags), coin.log_joint(flags), rtol=1e-12)
    if fit is nb.fit_posterior:
        assert_allclose(one.log_evidence, coin.log_evidence, rtol=1e-12)
