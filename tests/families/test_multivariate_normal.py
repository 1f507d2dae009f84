"""Gaussians with a covariance against scipy, scikit-learn, sums on paper, and the same model in another way."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import bayesnb as nb
from tests.families.gaussian_rows import (
    NEW,
    PRIOR,
    RANDOM,
    D,
    K,
    N,
    X,
    Y,
    counts,
    covariances,
    fits,
    gaussian,
    kinds,
    log_class_mean,
    means,
    model,
    posterior,
    student,
)

# scikit-learn and scipy


def test_full_is_quadratic_discriminant_analysis():
    """Theirs divides by n or by n - 1, as the version has it."""
    rival = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, Y)
    fit = nb.fit_mle(model("full"), X, Y)
    assert_allclose(fit.params["x_loc"], rival.means_, rtol=1e-9)
    for k, n in enumerate(counts()):
        ratio = np.asarray(rival.covariance_[k]) / fit.params["x_covariance"][k]
        assert_allclose(ratio, ratio[0, 0], rtol=1e-8)
        assert np.isclose([1.0, n / (n - 1)], ratio[0, 0], rtol=1e-9).any()
    theirs = nb.PointEstimate(fit.model, {**fit.params, "x_covariance": np.array(rival.covariance_)})
    assert_allclose(theirs.predict_proba(NEW), rival.predict_proba(NEW), rtol=1e-7)


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_shared_is_linear_discriminant_analysis(solver):
    fit = nb.fit_mle(model("shared"), X, Y)
    rival = LinearDiscriminantAnalysis(solver=solver).fit(X, Y)
    assert_allclose(fit.params["x_covariance"], rival.covariance_, rtol=1e-9)
    assert_allclose(fit.predict_proba(NEW), rival.predict_proba(NEW), rtol=1e-7)


@kinds
def test_densities_are_scipys(kind):
    expected = gaussian(NEW, means(), covariances(kind=kind)) + np.log(counts() / N)
    assert_allclose(nb.fit_mle(model(kind), X, Y).log_joint(NEW), expected, rtol=1e-9)


@kinds
def test_map_is_the_joint_mode(kind):
    loc, _, df, scale = posterior(X, Y, kind, **PRIOR)
    fit = nb.fit_map(model(kind, **PRIOR), X, Y)
    more = D + 2 if kind == "full" else D + 1 + K
    mode = np.array([s / (f + more) for s, f in zip(scale, df, strict=True)])
    assert_allclose(fit.params["x_loc"], loc, rtol=1e-9)
    assert_allclose(np.broadcast_to(fit.params["x_covariance"], mode.shape), mode, rtol=1e-9)


@kinds
def test_predictive_is_scipys_multivariate_t(kind):
    expected = student(NEW, X, Y, kind, **PRIOR) + log_class_mean()
    assert_allclose(nb.fit_posterior(model(kind, **PRIOR), X, Y).log_joint(NEW), expected, rtol=1e-9)


@kinds
def test_evidence_is_a_product_of_scipys_predictions(kind):
    order = RANDOM.permutation(N)
    x, y = X[order], Y[order]
    total = 0.0
    for n in range(N):
        row = student(x[n : n + 1], x[:n], y[:n], kind, **PRIOR) + log_class_mean(y[:n])
        total += row[0, y[n]]
    assert_allclose(nb.fit_posterior(model(kind, **PRIOR), X, Y).log_evidence, total, rtol=1e-10)


@kinds
def test_more_columns_than_rows(kind):
    wide = RANDOM.normal(size=(6, 10))
    y = np.array([0, 0, 0, 1, 1, 2])
    prior = {"loc": np.zeros(10), "strength": 1.0, "df": 11.0, "scale": 2.0 * np.eye(10)}
    fit = nb.fit_posterior(model(kind, **prior), wide, y)
    assert_allclose(fit.log_joint(wide), student(wide, wide, y, kind, **prior) + log_class_mean(y), rtol=1e-9)
    vague = nb.fit_posterior(model(kind), wide, y)
    assert np.isfinite(vague.log_evidence)
    assert_allclose(vague.predict_proba(wide).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match=r"singular.*smoothing"):
        nb.fit_mle(model(kind), wide, y)


# the same model in another way


@kinds
@fits
def test_one_column_is_a_normal(kind, fit):
    x, y = np.where(np.arange(N) % 9 == 4, np.nan, X[:, 0])[:, None] * 50 + 7, Y
    one = fit(nb.NaiveBayes(nb.MultivariateNormal(kind)), x, y)
    plain = fit(nb.NaiveBayes(nb.Normal(variance="own" if kind == "full" else kind)), x, y)
    assert_allclose(one.log_joint(x), plain.log_joint(x), rtol=1e-10)
    if fit is nb.fit_posterior:
        assert_allclose(one.log_evidence, plain.log_evidence, rtol=1e-11)
    else:
        assert_allclose(one.params["x_loc"], plain.params["x_loc"], rtol=1e-10)
        assert_allclose(one.params["x_covariance"][..., 0], plain.params["x_variance"], rtol=1e-10)


@kinds
def test_a_diagonal_covariance_is_independent_columns(kind):
    loc, variance = means(), RANDOM.uniform(0.5, 2.0, (K, D))
    variance = variance if kind == "full" else variance[:1]
    covariance = variance[:, :, None] * np.eye(D)
    shared = kind == "shared"
    one = {"class_probs": [0.2, 0.3, 0.5], "x_loc": loc, "x_covariance": covariance[0] if shared else covariance}
    two = {"class_probs": [0.2, 0.3, 0.5], "x_loc": loc, "x_variance": variance[0] if shared else variance}
    holes = NEW.copy()
    holes[::2, 1] = np.nan
    joint = nb.PointEstimate(nb.NaiveBayes(nb.MultivariateNormal(kind)), one).log_joint(holes)
    family = nb.Normal(variance="shared" if shared else "own")
    assert_allclose(joint, nb.PointEstimate(nb.NaiveBayes(family), two).log_joint(holes), rtol=1e-10)


@kinds
def test_the_default_prior_of_a_column_alone(kind, key):
    """Each variance is InverseGamma(1, V) and each correlation uniform on [-1, 1], whatever the columns' units."""
    x = X * [1.0, 1e3, 1e-3]
    prior = nb.fit_posterior(model(kind), x, Y).prior
    covariance = nb.fit_posterior(prior, x[:0], Y[:0]).sample(key, 1500)["x_covariance"]
    covariance = np.asarray(covariance, float) if kind == "shared" else np.asarray(covariance, float)[:, 0]
    for d in range(D):
        law = stats.invgamma(1.0, scale=x[:, d].var())
        assert stats.kstest(covariance[:, d, d], law.cdf).pvalue > 1e-4
    for d, e in itertools.combinations(range(D), 2):
        correlation = covariance[:, d, e] / np.sqrt(covariance[:, d, d] * covariance[:, e, e])
        assert stats.kstest(correlation, stats.uniform(-1, 2).cdf).pvalue > 1e-4


@kinds
@fits
def test_units_change_no_prediction(kind, fit):
    unit = np.array([1e6, 1e-5, 3.0])
    plain, scaled = fit(model(kind), X, Y), fit(model(kind), X * unit, Y)
    assert_allclose(scaled.predict_log_proba(NEW * unit), plain.predict_log_proba(NEW), rtol=1e-8, atol=1e-10)
    assert_allclose(scaled.log_joint(NEW * unit), plain.log_joint(NEW) - np.log(unit).sum(), rtol=1e-9)
    if fit is nb.fit_posterior:
        assert_allclose(scaled.log_evidence, plain.log_evidence - N * np.log(unit).sum(), rtol=1e-11)


@kinds
@fits
def test_a_rotation_is_carried_over(kind, fit):
    """Where the prior is round, axes are arbitrary."""
    turn = stats.ortho_group.rvs(D, random_state=1)
    prior = {"loc": 0.0, "scale": 3.0 * np.eye(D)}
    plain, turned = fit(model(kind, **prior), X, Y), fit(model(kind, **prior), X @ turn, Y)
    assert_allclose(turned.log_joint(NEW @ turn), plain.log_joint(NEW), rtol=1e-9)


@fits
def test_a_joint_over_blocks_is_the_sum_of_their_joints(fit):
    """Less the class prior, which every part holds."""
    words = RANDOM.poisson(2.0, (N, 4))
    blocks = {"size": X, "shape": X[:, :2] * 10, "words": words, "spread": X}
    families = {
        "size": nb.MultivariateNormal(),
        "shape": nb.MultivariateNormal("shared"),
        "words": nb.Multinomial(),
        "spread": nb.Normal(variance="shared"),
    }
    whole = fit(nb.NaiveBayes(families), blocks, Y)
    parts = [fit(nb.NaiveBayes(families[name]), blocks[name], Y).log_joint(blocks[name]) for name in blocks]
    log_class = log_class_mean() if fit is nb.fit_posterior else np.log(counts() / N)
    assert_allclose(whole.log_joint(blocks), sum(parts) - 3 * log_class, rtol=1e-10)
