"""Gaussians with a covariance against scipy, scikit-learn, sums on paper, and the same model in another way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import bayesnb as nb

K, N, D = 3, 40, 3
Y = np.repeat(np.arange(K), [18, 12, 10])
RANDOM = np.random.default_rng(5)
MIX = np.array([[1.0, 0.9, -0.5], [0.0, 0.4, 0.3], [0.0, 0.0, 0.6]])
X = RANDOM.normal(size=(N, D)) @ MIX * (1 + 0.5 * Y[:, None]) + 0.7 * Y[:, None]
NEW = X[::4] + RANDOM.normal(size=(10, D))
FITS = [nb.fit_mle, nb.fit_map, nb.fit_posterior]
KINDS = ["full", "shared"]
PRIOR = {
    "loc": np.array([0.3, -0.2, 1.0]),
    "strength": 0.7,
    "df": 4.5,
    "scale": np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]]),
}

kinds = pytest.mark.parametrize("kind", KINDS)
fits = pytest.mark.parametrize("fit", FITS)


def model(kind, **options):
    return nb.NaiveBayes(nb.MultivariateNormal(kind, **options), num_classes=K)


def counts(y=Y):
    return np.bincount(y, minlength=K)


def log_class_mean(y=Y):
    return np.log((counts(y) + 1) / (len(y) + K))


def covariances(x=X, y=Y, kind="full"):
    """The maximum of the likelihood, [K, D, D]."""
    own = np.array([np.cov(x[y == k].T, bias=True) for k in range(K)])
    shared = np.tensordot(counts(y) / len(y), own, axes=1)
    return own if kind == "full" else np.stack([shared] * K)


def posterior(x, y, kind, loc, strength, df, scale):
    """loc, strength, df and scale of every class after these rows, by the textbook's sums over rows."""
    scatters, locs, strengths = [], [], []
    for k in range(K):
        rows = x[y == k]
        n = len(rows)
        mean = rows.mean(axis=0) if n else loc
        deviations = rows - mean
        gap = mean - loc
        scatters.append(deviations.T @ deviations + strength * n / (strength + n) * np.outer(gap, gap))
        locs.append((strength * loc + n * mean) / (strength + n))
        strengths.append(strength + n)
    n = counts(y)
    if kind == "shared":
        return locs, strengths, [df + len(y)] * K, [scale + sum(scatters)] * K
    return locs, strengths, df + n, [scale + s for s in scatters]


def student(new, x, y, kind, columns=slice(None), **prior):
    """log p(new | class, rows) by scipy's multivariate t, [N, K]."""
    table = []
    for loc, strength, df, scale in zip(*posterior(x, y, kind, **prior), strict=True):
        free = df - len(loc) + 1
        shape = (scale * (strength + 1) / (strength * free))[columns][:, columns]
        table.append(stats.multivariate_t.logpdf(new[:, columns], loc[columns], shape, free).reshape(len(new)))
    return np.stack(table, axis=1)


def gaussian(new, loc, covariance):
    table = [
        stats.multivariate_normal.logpdf(new, m, s).reshape(len(new)) for m, s in zip(loc, covariance, strict=True)
    ]
    return np.stack(table, axis=1)


def means(x=X, y=Y):
    return np.array([x[y == k].mean(axis=0) for k in range(K)])


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
