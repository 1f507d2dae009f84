"""Normal columns with one variance for all classes against scipy, scikit-learn and sums worked out on paper."""

import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import bayesnb as nb
from tests.families.gaussian_rows import NEW, RANDOM, D, K, N, X, Y, counts, fits, log_class_mean, means


def shared_normal(**options):
    return nb.NaiveBayes(nb.Normal(variance="shared", **options), num_classes=K)


def test_shared_variance_is_that_about_the_class_means():
    fit = nb.fit_mle(shared_normal(), X, Y)
    variance = np.mean(np.square(X - means()[Y]), axis=0)
    assert_allclose(fit.params["x_variance"], variance, rtol=1e-10)
    expected = stats.norm.logpdf(NEW[:, None], means(), np.sqrt(variance)).sum(axis=2) + np.log(counts() / N)
    assert_allclose(fit.log_joint(NEW), expected, rtol=1e-10)


def test_shared_variance_is_a_diagonal_linear_discriminant_analysis():
    """scikit-learn's, column by column: without their covariances its log odds add up."""
    fit = nb.fit_mle(shared_normal(), X, Y)
    log_prior = np.log(counts() / N)
    total = log_prior[None]
    for d in range(D):
        alone = LinearDiscriminantAnalysis(solver="lsqr").fit(X[:, d : d + 1], Y)
        total = total + alone.predict_log_proba(NEW[:, d : d + 1]) - log_prior
    expected = total - np.logaddexp.reduce(total, axis=1, keepdims=True)
    assert_allclose(fit.predict_log_proba(NEW), expected, rtol=1e-8)


def shared_student(new, x, y, loc, strength, shape, rate):
    n = counts(y)[:, None]
    mean = np.array([x[y == k].mean(axis=0) if (y == k).any() else np.full(x.shape[1], loc) for k in range(K)])
    squares = np.square(x - mean[y]).sum(axis=0) + (strength * n / (strength + n) * np.square(mean - loc)).sum(axis=0)
    a, b = shape + len(y) / 2, rate + squares / 2
    centre, weight = (strength * loc + n * mean) / (strength + n), strength + n
    return stats.t.logpdf(new[:, None], 2 * a, centre, np.sqrt(b * (weight + 1) / (a * weight))).sum(axis=2)


SHARED_PRIOR = {"loc": 0.3, "strength": 0.7, "shape": 1.7, "rate": 2.2}


def test_shared_variance_predicts_by_scipys_t():
    expected = shared_student(NEW, X, Y, **SHARED_PRIOR) + log_class_mean()
    assert_allclose(nb.fit_posterior(shared_normal(**SHARED_PRIOR), X, Y).log_joint(NEW), expected, rtol=1e-10)


def test_shared_variance_has_the_evidence_of_its_predictions():
    order = RANDOM.permutation(N)
    x, y = X[order], Y[order]
    rows = (shared_student(x[n : n + 1], x[:n], y[:n], **SHARED_PRIOR) + log_class_mean(y[:n]) for n in range(N))
    total = sum(row[0, k] for row, k in zip(rows, y, strict=True))
    assert_allclose(nb.fit_posterior(shared_normal(**SHARED_PRIOR), X, Y).log_evidence, total, rtol=1e-10)


@fits
def test_shared_variance_of_a_constant_column(fit):
    wide = np.insert(X, 1, 0.1, axis=1)
    with_it, without = fit(shared_normal(), wide, Y), fit(shared_normal(), X, Y)
    new = np.insert(NEW, 1, 17.0, axis=1)
    assert_allclose(with_it.log_joint(new), without.log_joint(NEW), rtol=1e-10)
    device = fit(shared_normal(), jnp.asarray(wide), jnp.asarray(Y)).log_joint(jnp.asarray(new))
    assert_allclose(device, without.log_joint(NEW), rtol=1e-4, atol=1e-4)


@fits
def test_shared_variance_of_a_column_constant_in_each_class(fit):
    """It separates the classes; its variance is not zero divided by zero."""
    x = np.c_[X[:, 0], 3.0 * Y]
    result = fit(shared_normal(), x, Y)
    assert_array_equal(result.predict(x), Y)
    assert np.isfinite(result.log_joint(x)).all()


@fits
def test_shared_variance_with_a_class_without_rows(fit):
    y = np.where(Y == 1, 2, Y)
    result = fit(shared_normal(**SHARED_PRIOR), X, y)
    if fit is nb.fit_mle:
        assert_array_equal(result.predict_proba(NEW)[:, 1], 0)
    if fit is nb.fit_posterior:
        expected = shared_student(NEW, X, y, **SHARED_PRIOR) + log_class_mean(y)
        assert_allclose(result.log_joint(NEW), expected, rtol=1e-10)


@fits
def test_shared_variance_with_missing_cells(fit):
    """Each column has the rows in which it is observed."""
    holes = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)
    result = fit(shared_normal(), holes, Y).with_class_probs([0.2, 0.3, 0.5])
    total = np.log([[0.2, 0.3, 0.5]])
    for d in range(D):
        seen = ~np.isnan(holes[:, d])
        alone = fit(shared_normal(), holes[seen, d : d + 1], Y[seen]).with_class_probs([0.2, 0.3, 0.5])
        part = np.where(seen[:, None], alone.log_joint(np.nan_to_num(holes[:, d : d + 1])), np.log([0.2, 0.3, 0.5]))
        total = total + part - np.log([0.2, 0.3, 0.5])
    assert_allclose(result.log_joint(holes), total, rtol=1e-10)
