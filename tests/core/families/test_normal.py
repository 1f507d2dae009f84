"""Normal columns, with a variance of each class or one for all, against scipy, scikit-learn and sums on paper."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb
from tests.core.families.gaussian_rows import NEW, D, K, N, X, Y, counts, fits, log_class_mean, means

variances = pytest.mark.parametrize("variance", ["own", "shared"])
PRIOR = {"loc": 0.3, "strength": 0.7, "shape": 1.7, "rate": 2.2}


def normal(variance, **options):
    return nb.NaiveBayes(nb.Normal(variance=variance, **options), num_classes=K)


def by_class(squares, y, variance):
    """Sums of the squares of each class, or of all of them, and how many rows they have: [K, D] and [K, 1]."""
    one = (y == np.arange(K)[:, None]).astype(float) if variance == "own" else np.ones((K, len(y)))
    return one @ squares, one.sum(axis=1, keepdims=True)


@variances
def test_the_variance_is_that_about_the_class_means(variance):
    fit = nb.fit_mle(normal(variance), X, Y)
    total, rows = by_class(np.square(X - means()[Y]), Y, variance)
    assert_allclose(np.broadcast_to(fit.params["x_variance"], (K, D)), total / rows, rtol=1e-10)
    expected = stats.norm.logpdf(NEW[:, None], means(), np.sqrt(total / rows)).sum(axis=2) + np.log(counts() / N)
    assert_allclose(fit.log_joint(NEW), expected, rtol=1e-10)


def student(new, y, variance, loc, strength, shape, rate):
    """log p(new | class, rows X, y) by scipy's Student's t, [N, K]."""
    n = counts(y)[:, None]
    mean = np.array([X[y == k].mean(axis=0) if (y == k).any() else np.full(D, loc) for k in range(K)])
    gaps = strength * n / (strength + n) * np.square(mean - loc)
    squares, rows = by_class(np.square(X - mean[y]), y, variance)
    a, b = shape + rows / 2, rate + (squares + (gaps if variance == "own" else gaps.sum(axis=0))) / 2
    centre, weight = (strength * loc + n * mean) / (strength + n), strength + n
    return stats.t.logpdf(new[:, None], 2 * a, centre, np.sqrt(b * (weight + 1) / (a * weight))).sum(axis=2)


@variances
def test_it_predicts_by_scipys_t(variance):
    expected = student(NEW, Y, variance, **PRIOR) + log_class_mean()
    assert_allclose(nb.fit_posterior(normal(variance, **PRIOR), X, Y).log_joint(NEW), expected, rtol=1e-10)


@variances
@fits
def test_a_constant_column(fit, variance):
    wide = np.insert(X, 1, 0.1, axis=1)
    with_it, without = fit(normal(variance), wide, Y), fit(normal(variance), X, Y)
    new = np.insert(NEW, 1, 17.0, axis=1)
    assert_allclose(with_it.log_joint(new), without.log_joint(NEW), rtol=1e-10)
    device = fit(normal(variance), jnp.asarray(wide), jnp.asarray(Y)).log_joint(jnp.asarray(new))
    assert_allclose(device, without.log_joint(NEW), rtol=1e-4, atol=1e-4)


@variances
@fits
def test_a_column_constant_in_each_class(fit, variance):
    """It separates the classes; its variance is not zero divided by zero."""
    x = np.c_[X[:, 0], 3.0 * Y]
    result = fit(normal(variance), x, Y)
    assert_array_equal(result.predict(x), Y)
    assert np.isfinite(result.log_joint(x)).all()
