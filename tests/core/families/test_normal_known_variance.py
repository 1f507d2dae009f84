"""Normal columns of known variance: densities of scipy and conjugacy worked out on paper."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from tests import cases
from tests.core.families.gaussian_rows import NEW, D, K, N, X, Y, counts, fits, log_class_mean, means
from tests.replicates import replicates

VARIANCE, LOC, SCALE = np.array([0.5, 2.0, 1.0])[:D], 0.3, np.array([1.5, 0.7, 2.0])[:D]


def known(variance=VARIANCE, loc=LOC, scale=SCALE):
    return nb.NaiveBayes(nb.NormalKnownVariance(variance, loc, scale), num_classes=K)


def posterior():
    """Mean and variance of mu by precisions, [K, D]."""
    n = counts()[:, None]
    total = np.array([X[k == Y].sum(axis=0) for k in range(K)])
    precision = SCALE**-2.0 + n / VARIANCE
    return (LOC / SCALE**2 + total / VARIANCE) / precision, 1.0 / precision


def test_the_mean_has_the_posterior_of_precisions_that_add_up():
    post = nb.fit_posterior(known(), X, Y)
    loc, variance = posterior()
    family = post.model.families["x"]
    assert_allclose(family.loc, loc, rtol=1e-12)
    assert_allclose(family.scale, np.sqrt(variance), rtol=1e-12)
    assert_allclose(nb.fit_map(known(), X, Y).params["x_loc"], loc, rtol=1e-12)
    assert_allclose(nb.fit_mle(known(), X, Y).params["x_loc"], means(), rtol=1e-12, atol=1e-14)
    expected = stats.norm.logpdf(NEW[:, None], loc, np.sqrt(VARIANCE + variance)).sum(axis=2) + log_class_mean()
    assert_allclose(post.log_joint(NEW), expected, rtol=1e-10)


def test_the_defaults_are_one_pseudo_row_at_the_pooled_mean():
    prior = nb.fit_posterior(nb.NaiveBayes(nb.NormalKnownVariance(VARIANCE)), X, Y).prior.families["x"]
    assert_allclose(prior.loc, np.tile(X.mean(axis=0), (K, 1)), rtol=1e-12)
    assert_allclose(prior.scale, np.tile(np.sqrt(VARIANCE), (K, 1)), rtol=1e-12)


@pytest.mark.parametrize("prior", [{"variance": 0.0}, {"variance": None}, {"variance": 1.0, "scale": -1.0}])
def test_a_variance_must_be_given_and_positive(prior):
    with pytest.raises(ValueError, match=r"NormalKnownVariance: (variance|scale) must be"):
        nb.NormalKnownVariance(**prior)


@pytest.mark.slow
@fits
@pytest.mark.parametrize("variance", [2.0, VARIANCE, np.outer([1.0, 2.0, 0.5], VARIANCE)], ids=["one", "D", "K, D"])
def test_a_variance_of_any_shape_in_float32_far_from_zero(fit, variance):
    """JAX rows in float32, against numpy rows in float64."""
    x = (1e4 + X).astype(np.float32)
    new = (1e4 + NEW).astype(np.float32)
    model = known(variance, loc=None)
    device = fit(model, jnp.asarray(x), jnp.asarray(Y)).log_joint(jnp.asarray(new))
    assert_allclose(device, fit(model, x.astype(float), Y).log_joint(new.astype(float)), rtol=1e-3, atol=1e-2)


def test_every_class_has_its_known_variance():
    """At the door of known parameters, before any data are seen, and in rows that are generated."""
    variance = np.array([[1e-4], [1.0], [100.0]])
    loc = np.zeros((K, 2))
    fit = nb.PointEstimate(
        nb.NaiveBayes(nb.NormalKnownVariance(variance)), {"class_probs": np.full(K, 1 / K), "x_loc": loc}
    )
    expected = stats.norm.logpdf(NEW[:, None, :2], 0.0, np.sqrt(variance)).sum(axis=2) - np.log(K)
    assert_allclose(fit.log_joint(NEW[:, :2]), expected, rtol=1e-10)
    rows, y = fit.generate(key=jax.random.key(0), num_rows=3000)
    spread = [rows[y == k].std() for k in range(K)]
    assert_allclose(spread, np.sqrt(variance[:, 0]), rtol=0.1)
    with pytest.raises(ValueError, match="NormalKnownVariance, is not affine in x"):
        nb.linear_form(fit)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize("variance", [1e-100, 1e100])
def test_nothing_at_the_bounds_is_nan(scale, variance):
    fit = nb.fit_posterior(known(variance, scale, scale), X, Y)
    assert not np.isnan(fit.log_evidence)
    assert_allclose(fit.predict_proba(NEW).sum(axis=1), 1.0)
    assert not np.isnan(nb.leave_one_out(fit.prior, X, Y)).any()


def test_a_prior_that_is_sure_leaves_the_likelihood():
    fit = nb.fit_posterior(known(scale=1e-90), X, Y)
    expected = stats.norm.logpdf(X, LOC, np.sqrt(VARIANCE)).sum()
    assert_allclose(fit.evidence_table().features["x"].sum(), expected, rtol=1e-12)


@pytest.fixture(scope="module")
def case():
    return cases.make("known")


def test_pairs_of_its_columns_have_no_closed_form(case):
    with pytest.raises(ValueError, match="is NormalKnownVariance: pairs have a closed form for"):
        nb.dependence(np.nan_to_num(case.X), case.y, model=case.model)


@pytest.mark.slow
def test_the_other_fits_take_it(case, key):
    model, x, y = case
    post = nb.fit_posterior(model, x, y)
    assert np.isfinite(nb.cross_validate(model, x, y, folds=3)).all()
    assert_allclose(nb.temper(post, x, y).predict_proba(x).sum(axis=1), 1.0, rtol=1e-6)
    assert replicates(model, x, y, key=key)["x_loc"].shape == (20, K, 3)
    learned = nb.fit_empirical(model, x, y)
    assert learned.log_evidence > post.log_evidence
    assert_allclose(learned.prior.families["x"].variance, post.prior.families["x"].variance, rtol=0)
    assert nb.fit_em(model, x, np.where(np.arange(len(y)) % 4, y, -1)).predict(x).shape == y.shape


def test_a_feature_depends_on_the_class_if_the_evidence_of_one_mean_is_less():
    model = nb.NaiveBayes(nb.NormalKnownVariance(VARIANCE, LOC, SCALE))
    apart = nb.fit_posterior(model, X, Y).evidence_table().features["x"].sum(axis=0)
    together = nb.fit_posterior(known(), X, np.zeros(N, int)).evidence_table().features["x"][0]
    found = nb.feature_inclusion(model, X, Y)
    assert_allclose(found.log_bayes_factor, apart - together, rtol=1e-9)


@pytest.mark.slow
def test_nuts_takes_it(key):
    """Far from zero, where the sampler needs coordinates of order one."""
    model = known(loc=1e4)
    draws = nb.fit_nuts(model, 1e4 + X, Y, key=key, num_samples=1000, num_chains=2, progress_bar=False)
    exact = nb.fit_posterior(model, 1e4 + X, Y).model.families["x"]
    assert_allclose((draws.params["x_loc"].mean(axis=0) - exact.loc) / exact.scale, 0.0, atol=0.15)
    assert_allclose(draws.params["x_loc"].std(axis=0), exact.scale, rtol=0.1)
