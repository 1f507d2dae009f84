"""What all results share: normalisation, another population, draws, and the smallest data."""

import pickle
import warnings
from dataclasses import field

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.core.families._base import pytree
from bayesnb.core.fits._nuts import _warn
from tests import cases


def known(loc, variance=1.0, class_probs=(0.5, 0.5)):
    loc = np.array(loc, float)
    params = {"class_probs": class_probs, "x_loc": loc, "x_variance": np.full(loc.shape, variance)}
    return nb.PointEstimate(nb.NaiveBayes(nb.Normal()), params)


@pytest.mark.parametrize("convert", [np.float64, np.float32, jnp.asarray])
@pytest.mark.parametrize("far", [1.0, 3e3, 1e6, 1e12])
def test_rows_sum_to_one_however_small_their_density(convert, far):
    fit = known([[0.0, 0.0], [0.0, 2.0]])
    proba = np.asarray(fit.predict_proba(convert(np.array([[far, 2.5], [-far, 0.1]]))))
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)
    long = nb.PointEstimate(
        nb.NaiveBayes(nb.Multinomial()), {"class_probs": [0.5, 0.5], "x_probs": [[0.5, 0.5], [0.50001, 0.49999]]}
    )
    assert_allclose(np.asarray(long.predict_proba(convert(np.array([[far, far]])))).sum(axis=1), 1.0, rtol=1e-6)


def test_single_precision_rows_lose_nothing_beside_an_outlier():
    """One huge cell in a column that says nothing must not drown the column that does."""
    fit, row = known([[0.0, 0.0], [0.0, 2.0]]), np.array([[1e4, 2.5]])
    assert_allclose(fit.predict_proba(row.astype(np.float32)), fit.predict_proba(row), rtol=1e-6)
    assert_allclose(fit.predict_proba(row)[0, 1], 1 / (1 + np.exp(-3.0)), rtol=1e-6)


@pytest.mark.parametrize("convert", [np.float32, jnp.asarray])
def test_classes_far_apart_keep_their_digits(convert):
    """Expanding the square about the middle of classes 2e4 sd apart would lose several nats of the near one."""
    rows = np.array([[1e4 + 1.0], [-1e4 - 0.5]])
    fit = known([[1e4], [-1e4]])
    own = np.asarray(fit.log_joint(convert(rows)))[[0, 1], [0, 1]]
    assert_allclose(own, np.log(0.5) - 0.5 * np.log(2 * np.pi) - 0.5 * np.array([1.0, 0.25]), rtol=1e-5)


@pytest.mark.parametrize("count", [1e3, 1e6])
def test_single_precision_counts_keep_their_digits(rng, count):
    x = rng.multinomial(int(count), np.full(50, 0.02), 20)
    y = np.arange(20) % 2
    fit = nb.fit_map(nb.NaiveBayes(nb.Multinomial()), x, y)
    assert_allclose(fit.log_joint(x.astype(np.float32)), fit.log_joint(x), atol=2e-3)


@pytest.mark.parametrize("fit", [nb.fit_mle, nb.fit_map, nb.fit_posterior])
def test_another_population(fit):
    """with_class_probs changes log p(y, x) by the ratio of class probabilities alone."""
    case = cases.make("mixed")
    result, probs = fit(case.model, case.X, case.y), np.array([0.7, 0.2, 0.1])
    plain = result.with_class_probs([1 / 3] * 3).log_joint(case.X)
    moved = result.with_class_probs(probs)
    possible = np.isfinite(plain)
    expected = np.where(possible, plain + np.log(3 * probs), -np.inf)
    assert_allclose(moved.log_joint(case.X), expected, rtol=1e-9)
    if fit is nb.fit_posterior:
        assert moved.log_evidence == result.log_evidence
    with pytest.raises(ValueError, match="one probability per class"):
        result.with_class_probs([0.5, 0.5])


def test_draws_of_another_population():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[0], [1], [1]], [0, 1, 1])
    draws = nb.Draws(post.prior, post.sample(jax.random.key(0), 50), {}, 2).with_class_probs([0.9, 0.1])
    assert draws.params["class_probs"].dtype == np.float64
    assert_allclose(draws.params["class_probs"], np.tile([0.9, 0.1], (50, 1)))


def test_a_class_of_probability_zero_is_the_last_resort():
    """Every class is impossible by its features, and the one with the fewest impossible features has probability 0."""
    model = nb.NaiveBayes(nb.Bernoulli())
    params = {"class_probs": [1.0, 0.0], "x_probs": [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5]]}
    proba = nb.PointEstimate(model, params).predict_proba(np.ones((1, 3)))
    assert_allclose(proba, [[1.0, 0.0]])


def test_rows_of_weight_zero_may_hold_anything():
    """They are dropped before classes, values and labels are looked at."""
    X, y = np.array([[0.0], [1.0], [7.0], [np.nan]]), np.array([0, 1, 5, -1])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y, sample_weight=[1, 2, 0, 0])
    assert_allclose(fit.statistics.class_counts, [1, 2])
    soft = np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, np.nan], [3.0, 3.0]])
    again = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, soft, sample_weight=[1, 2, 0, 0])
    assert_allclose(again.log_evidence, fit.log_evidence)


def draws(chains, diverging=False):
    """Draws of one probability with two classes, chains [C, S]."""
    p = np.asarray(chains, float).reshape(-1)
    params = {"class_probs": np.stack([p, 1 - p], axis=1), "x_probs": np.full((p.size, 2, 1), 0.5)}
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2).resolve([[0], [1]], [0, 1])
    return nb.Draws(model, params, {"diverging": np.full(p.size, diverging)}, len(chains))


@pytest.mark.parametrize(
    ("level", "diverging", "says"),
    [
        (0.2, False, r"the largest R-hat is .*, above 1.01"),
        (0.0, True, r"4000 transitions diverged"),
    ],
)
def test_bad_draws_are_named(rng, level, diverging, says):
    chains = 0.4 + 0.1 * rng.random((4, 1000)) + level * np.arange(4)[:, None] / 4
    with pytest.warns(UserWarning, match=says):
        _warn(draws(chains, diverging), exact=True)


def test_good_draws_are_silent(rng):
    good = draws(0.4 + 0.1 * rng.random((4, 1000)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _warn(good, exact=True)
    assert good.max_r_hat < 1.01
    assert good.min_ess > 400


def test_an_undefined_diagnostic_is_the_worst(rng):
    bad = draws(0.4 + 0.1 * rng.random((4, 1000)))
    bad.params["x_probs"][17, 0] = np.nan
    assert (bad.max_r_hat, bad.min_ess) == (np.inf, 0.0)
    with pytest.warns(UserWarning, match=r"the largest R-hat is inf, .*the smallest effective sample size is 0, "):
        _warn(bad, exact=True)


def test_draws_that_do_not_vary_need_no_diagnosis():
    constant = draws(np.full((4, 10), 0.5))
    assert (constant.max_r_hat, constant.min_ess) == (1.0, 40.0)


@pytest.mark.parametrize("family", [nb.Multinomial(0.5), nb.Bernoulli([0.5, 1, 2], 3), nb.Categorical(4)])
@pytest.mark.parametrize("fit", [nb.fit_map, nb.fit_mle, nb.fit_posterior])
def test_the_resolved_prior_is_the_same_in_jax_and_after_pickling(rng, family, fit):
    X, y = rng.integers(0, 2, (20, 3)), np.arange(20) % 4
    fitted = fit(nb.NaiveBayes(family), X, y)
    prior = fitted.prior if fit is nb.fit_posterior else fitted.model
    assert jax.tree.leaves(prior.families)[0].shape[0] == 4
    of_device = fit(nb.NaiveBayes(family), jnp.asarray(X), jnp.asarray(y))
    of_device = of_device.prior if fit is nb.fit_posterior else of_device.model
    for a, b in zip(jax.tree.leaves(prior), jax.tree.leaves(of_device), strict=True):
        assert_allclose(a, b)
    again = pickle.loads(pickle.dumps(prior))
    for a, b in zip(jax.tree.leaves(prior), jax.tree.leaves(again), strict=True):
        assert_array_equal(a, b)


def test_a_fit_keeps_its_prior_where_the_given_array_changes():
    a, c = np.ones(3), np.ones(2)
    X, y = np.eye(3), [0, 1, 1]
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a, 1.0), class_concentration=c), X, y)
    before = fit.log_evidence
    a[:], c[:] = 50.0, 9.0
    assert fit.log_evidence == before


@pytree
class Centred(nb.Bernoulli):
    """a is the share of ones in all rows."""

    def resolve(self, pooled, num_classes):
        share = pooled.successes / pooled.trials
        return super().resolve(pooled, num_classes)._replace(a=jnp.repeat(share, num_classes, axis=0))


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray])
def test_a_family_of_the_user_resolves_from_all_classes(convert):
    X, y = convert(np.array([[0], [0], [1], [1], [1], [1]])), convert(np.array([0, 0, 1, 1, 1, 1]))
    prior = nb.fit_posterior(nb.NaiveBayes(Centred()), X, y).prior
    assert_allclose(prior.families["x"].a, [[2 / 3], [2 / 3]], rtol=1e-6)


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray])
def test_a_tiny_pseudo_count_is_no_nan(convert):
    tiny = 1e-100 if convert is np.asarray else 1e-30
    X = convert(np.array([[0], [1]]))
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(3, tiny)), X, convert(np.array([0, 1])))
    assert_allclose(fit.predict_proba(convert(np.array([[2]]))), [[0.5, 0.5]])


@pytree
class Tagged(nb.Bernoulli):
    """A field that no instance holds, but the class."""

    tag: str = field(default="coin", init=False, metadata={"static": True})


def test_a_family_of_the_user_has_fields_of_its_class():
    X, y = np.array([[0], [1], [1], [0]]), np.array([0, 0, 1, 1])
    fit = nb.fit_map(nb.NaiveBayes(Tagged()), X, y)
    assert fit.model.families["x"].tag == "coin"
    assert_allclose(fit.predict_proba(X), nb.fit_map(nb.NaiveBayes(nb.Bernoulli()), X, y).predict_proba(X))


# the smallest data: no rows to predict, one row to fit, one class; and a class without rows, whatever the family


FAMILIES = {
    "bernoulli": nb.Bernoulli(),
    "trials": nb.Binomial(None),
    "categorical": nb.Categorical(3),
    "multinomial": nb.Multinomial(),
    "poisson": nb.Poisson(),
    "normal": nb.Normal(),
    "shared": nb.Normal(variance="shared"),
    "covariance": nb.MultivariateNormal(),
    "discriminant": nb.MultivariateNormal("shared"),
}

FITS = {"posterior": nb.fit_posterior, "mle": nb.fit_mle}


def rows(name, num_rows):
    cells = np.resize([1.0, 0.0, 1.0], (num_rows, 2))
    return (cells, cells + 1) if name == "trials" else cells


CASES = [
    (name, fit)
    for name in FAMILIES
    for fit in FITS
    if (name, fit) not in {("covariance", "mle"), ("discriminant", "mle")}
]
"""All but the likelihoods that have no maximum."""


@pytest.mark.parametrize(("name", "fit"), CASES)
def test_one_row_is_enough_and_none_is_predicted(name, fit):
    found = FITS[fit](nb.NaiveBayes(FAMILIES[name], num_classes=2), rows(name, 1), [1])
    assert found.predict_proba(rows(name, 0)).shape == (0, 2)
    assert found.predict(rows(name, 0)).shape == (0,)
    assert found.log_density(rows(name, 0)).shape == (0,)
    assert_allclose(found.predict_proba(rows(name, 1)).sum(axis=1), 1.0)


QUICK = [c if c[1] == "posterior" else pytest.param(*c, marks=pytest.mark.slow) for c in CASES]


@pytest.mark.parametrize(("name", "fit"), QUICK)
def test_a_single_class_is_certain(name, fit):
    X = rows(name, 4)
    found = FITS[fit](nb.NaiveBayes(FAMILIES[name]), X, np.zeros(4, int))
    assert_allclose(found.predict_proba(X), 1.0)
    assert_allclose(found.predict_log_proba(X), 0.0)
    assert np.isfinite(found.log_density(X)).all()
    assert nb.explain(found, X).contributions.shape[:2] == (4, 1)
