"""Gaussians with a covariance against scipy, scikit-learn and sums on paper: rows, missing cells, singular matrices."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import bayesnb as nb
from tests import cases, laws
from tests.core.families.gaussian_rows import (
    FITS,
    KINDS,
    NEW,
    PRIOR,
    RANDOM,
    D,
    K,
    N,
    X,
    Y,
    counts,
    fits,
    gaussian,
    kinds,
    log_class_mean,
    means,
    model,
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
def test_predictive_is_scipys_multivariate_t(kind):
    expected = student(NEW, X, Y, kind, **PRIOR) + log_class_mean()
    assert_allclose(nb.fit_posterior(model(kind, **PRIOR), X, Y).log_joint(NEW), expected, rtol=1e-9)


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


# a Gaussian with a covariance scores a row by its observed cells; a fit takes rows that are whole or empty


def patterns():
    """Rows with every subset of their cells missing, and which cells they are."""
    seen = np.array(list(itertools.product([True, False], repeat=D)))
    return np.where(seen, NEW[: len(seen)], np.nan), seen


def expected_of_patterns(kind, fit):
    rows, seen = patterns()
    table = np.zeros((len(rows), K))
    for row, (x, columns) in enumerate(zip(rows, seen, strict=True)):
        if not columns.any():
            continue
        if fit is nb.fit_posterior:
            table[row] = student(x[None], X, Y, kind, columns=columns, **PRIOR)[0]
            continue
        params = fit(model(kind, **PRIOR), X, Y).params
        covariance = np.broadcast_to(params["x_covariance"], (K, D, D))[:, columns][:, :, columns]
        table[row] = gaussian(x[None, columns], params["x_loc"][:, columns], covariance)[0]
    return table


@kinds
@fits
def test_a_row_is_scored_by_its_observed_cells(kind, fit):
    rows, _ = patterns()
    result = fit(model(kind, **PRIOR), X, Y).with_class_probs([0.2, 0.3, 0.5])
    expected = expected_of_patterns(kind, fit) + np.log([0.2, 0.3, 0.5])
    assert_allclose(result.log_joint(rows), expected, rtol=1e-9)
    assert_allclose(jax.jit(result.log_joint)(rows), expected, rtol=2e-5, atol=2e-5)


def test_many_rows_with_many_patterns(rng):
    """Each of 12 columns missing by chance; row by row, and in any order."""
    x = rng.normal(size=(500, 12)) @ rng.normal(size=(12, 12))
    y = np.arange(500) % 2
    fit = nb.fit_posterior(nb.NaiveBayes(nb.MultivariateNormal()), x, y)
    holes = np.where(rng.random(x.shape) < 0.3, np.nan, x)
    table, order = fit.log_joint(holes), rng.permutation(500)
    assert_allclose(fit.log_joint(holes[order]), table[order], rtol=1e-12)
    params = fit.model.families["x"]
    for row in range(0, 500, 125):
        seen = ~np.isnan(holes[row])
        for k in range(2):
            free = params.df[k] - 11
            shape = params.scale[k] * (params.strength[k] + 1) / (params.strength[k] * free)
            law = stats.multivariate_t(params.loc[k, seen], shape[np.ix_(seen, seen)], free)
            expected = law.logpdf(holes[row, seen]) + np.log(0.5)
            assert_allclose(table[row, k], expected, rtol=1e-9)


@kinds
def test_a_row_without_cells_is_no_row(kind):
    gone = np.arange(N) % 5 == 2
    holes = np.where(gone[:, None], np.nan, X)
    whole = nb.fit_posterior(model(kind, **PRIOR), holes, Y)
    fewer = nb.fit_posterior(model(kind, **PRIOR), X[~gone], Y[~gone])
    probs = [0.2, 0.3, 0.5]
    assert_allclose(
        whole.with_class_probs(probs).log_joint(NEW), fewer.with_class_probs(probs).log_joint(NEW), rtol=1e-11
    )


def test_some_missing_cells_in_a_fit_are_refused():
    holes = X.copy()
    holes[3, 1] = np.nan
    for fit in FITS:
        for x in (holes, jnp.asarray(holes)):
            with pytest.raises(ValueError, match=r"no closed form.*some cells.*missing; leave such rows out"):
                fit(model("full"), x, Y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", cases.by_default(KINDS, "full"))
@pytest.mark.parametrize("x64", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_program_marginalises_missing_cells_too(kind, x64):
    """NumPyro's density of the program at the fitted parameters, in either precision."""
    rows, _ = patterns()
    y = np.arange(len(rows)) % K
    fit = nb.fit_map(model(kind, **PRIOR), X, Y)
    expected = fit.log_joint(rows)[np.arange(len(rows)), y].sum()
    with jax.enable_x64(x64):
        params = {site: jnp.asarray(value) for site, value in fit.params.items()}
        program = laws.program_density(fit.model, rows, y, params) - laws.prior_density(fit.model, params)
    assert_allclose(program, expected, rtol=1e-9 if x64 else 1e-4)


# a Gaussian with a covariance takes rows of any weight, type, unit and distance from zero, on a device too


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
@kinds
@fits
def test_rows_of_another_type(kind, fit, dtype):
    """float32 rows may lose a thousandth of a nat."""
    whole = np.round(X * 20) + 100
    expected = fit(model(kind), whole, Y).log_joint(whole)
    got = fit(model(kind), whole.astype(dtype), Y).log_joint(whole.astype(dtype))
    assert_allclose(got, expected, rtol=1e-9, atol=1e-3 if dtype == np.float32 else 0)


@pytest.mark.slow
@kinds
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_far_from_zero(kind, dtype):
    """At 1e6 the square of a cell has twelve digits before those that matter."""
    far, new = (X + 1e6).astype(dtype), (NEW + 1e6).astype(dtype)
    near, new_near = (a.astype(np.float64) - 1e6 for a in (far, new))
    for fit in FITS:
        expected = fit(model(kind), near, Y).log_joint(new_near)
        got = fit(model(kind), far, Y).log_joint(new)
        assert_allclose(got, expected, rtol=1e-7, atol=1e-3 if dtype == np.float32 else 0)
    if dtype == np.float32:
        device = nb.fit_mle(model(kind), jnp.asarray(far), jnp.asarray(Y)).params["x_covariance"]
        expected = nb.fit_mle(model(kind), near, Y).params["x_covariance"]
        assert_allclose(device, expected, rtol=1e-4, atol=1e-5)


@kinds
def test_parts_far_from_zero_merge(kind):
    far = X + 1e6
    whole = nb.sufficient_statistics(model(kind), far, Y).blocks["x"]
    parts = [nb.sufficient_statistics(model(kind), far[i::3], Y[i::3]) for i in range(3)]
    merged = nb.merge(nb.merge(parts[2], parts[0]), parts[1]).blocks["x"]
    assert_allclose(merged.scatter, whole.scatter, rtol=1e-7, atol=1e-8)
    exact = np.array([(X[k == Y] - X[k == Y].mean(axis=0)).T @ (X[k == Y] - X[k == Y].mean(axis=0)) for k in range(K)])
    assert_allclose(merged.scatter, exact, rtol=1e-7, atol=1e-8)


@kinds
@pytest.mark.parametrize("fit", cases.by_default(FITS, nb.fit_posterior))
def test_so_far_that_squares_overflow(kind, fit):
    """Nothing is NaN, in float32 either; where the covariances differ the class that wins far away wins farther too."""
    rows = np.full((3, D), np.array([[1e17], [1e20], [1e30]]), np.float32)
    result = fit(model(kind), X, Y)
    winner = result.predict(np.full((1, D), 1e8))
    for proba in (result.predict_proba(rows), jax.jit(result.predict_proba)(rows)):
        assert np.isfinite(proba).all()
        assert_allclose(np.sum(proba, axis=1), 1.0, rtol=1e-6)
        if kind == "full":
            assert_array_equal(np.argmax(proba, axis=1), np.repeat(winner, 3))
