"""Priors to a power: their densities, and the distance by the finite form that ArviZ computes from draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpyro import handlers
from numpyro.infer.util import log_density
from scipy import stats

import bayesnb as nb
from bayesnb.compute.arrays._compute import interpret
from bayesnb.inspection.sensitivity._power_scaling import (
    beta,
    distances,
    gamma,
    inverse_gamma,
    marginals,
    root_of_gamma,
    scale_prior,
    student,
)
from tests import cases
from tests.inspection.sensitivity.mixed import PRIORS, fitted

SCIPY = {beta: stats.beta, gamma: lambda a, b: stats.gamma(a, scale=1 / b)}
SCIPY[inverse_gamma] = lambda a, b: stats.invgamma(a, scale=b)
SCIPY[student] = stats.t
SCIPY[root_of_gamma(-2.0)] = lambda a, b: stats.gengamma(a, -2.0, scale=b**0.5)


def finite(kind, params, change, draws):
    """The distance at the powers .99 and 1.01, by scipy's distribution functions: as arviz_stats has it."""

    def one_way(P, Q):
        def half(P, Q):
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.trapezoid(np.where(P > 0, P * np.log2(2 * P / (P + Q)), 0.0), x) + np.trapezoid(Q - P, x) / (
                    2 * np.log(2)
                )

        return np.sqrt((half(P, Q) + half(Q, P)) / np.trapezoid(P + Q, x))

    base = SCIPY[kind](*params)
    x = np.linspace(base.ppf(0.5 / draws), base.ppf(1 - 0.5 / draws), 20001)
    found = []
    for alpha in (0.99, 1.01):
        other = SCIPY[kind](*(p + (alpha - 1) * c for p, c in zip(params, change, strict=True)))
        ways = one_way(base.cdf(x), other.cdf(x)), one_way(base.sf(x), other.sf(x))
        found.append(max(ways) / abs(np.log2(alpha)))
    return np.mean(found)


GOLDEN = [
    ((1, 1), (3, 10), 4000, 0.0, 0.1095),
    ((2, 2), (3, 10), 4000, 0.0315, 0.1120),
    ((20, 2), (3, 10), 4000, 0.3533, 0.2723),
    ((2, 2), (30, 100), 4000, 0.0125, 0.0999),
    ((2, 2), (3, 10), 1000, 0.0328, None),
    ((2, 2), (3, 10), 100_000, 0.0296, 0.1087),
    ((20, 2), (3, 10), 100_000, 0.3366, 0.2593),
]


@pytest.mark.parametrize(("prior", "data", "draws", "of_prior", "of_likelihood"), GOLDEN)
def test_golden_numbers(prior, data, draws, of_prior, of_likelihood):
    (a, b), (k, n) = prior, data
    params = np.array([a + k, b + n - k], float)
    for change, expected in (((a - 1, b - 1), of_prior), ((k, n - k), of_likelihood)):
        if expected is not None:
            found = interpret(_distances, params[None], np.array([change], float), kind=beta, draws=draws)
            assert_allclose(found, expected, atol=1.5e-4)


def _distances(params, change, draws, kind):
    return distances(kind, params, change, draws)


@pytest.mark.parametrize(
    ("kind", "params", "change"),
    [
        (beta, (0.4, 30.0), (0.4, 2.0)),
        (gamma, (3.0, 2.0), (1.0, 0.3)),
        (inverse_gamma, (4.0, 2.0), (1.2, 0.5)),
        (inverse_gamma, (400.0, 200.0), (2.5, 1.0)),
        (root_of_gamma(-2.0), (4.0, 2.0), (1.2, 0.5)),
        (student, (5.0, 1.0, 0.5), (2.0, 0.1, 0.03)),
        (student, (500.0, 1.0, 0.01), (3.0, 0.001, 0.0001)),
    ],
)
def test_the_derivative_is_the_limit_of_the_finite_form(kind, params, change):
    found = interpret(_distances, np.array([params]), np.array([change]), draws=4000, kind=kind)
    assert_allclose(found, finite(kind, params, change, 4000), rtol=2e-3)


@pytest.mark.parametrize("name", cases.by_default(PRIORS, "c", "w"))
def test_the_density_is_raised_to_the_power(name):
    """log p_alpha(theta) - alpha log p(theta) is a constant: here at draws of the parameters, one class at a time."""
    family = fitted().prior.families[name]
    alpha = 1.7
    scaled = interpret(scale_prior, family, np.array(alpha))
    draws = fitted().sample(jax.random.key(0), 4)

    def density(of, n):
        data = {site: value[n] for site, value in draws.items() if site.startswith(f"{name}_")}
        with handlers.block():
            return log_density(lambda: of.params(name), (), {}, data)[0]

    rest = [density(scaled, n) - alpha * density(family, n) for n in range(4)]
    assert_allclose(rest, rest[0], rtol=2e-4)


@pytest.mark.parametrize("name", cases.by_default(PRIORS, "b", "n"))
def test_marginals_are_those_of_draws(name):

    post = fitted()
    draws = post.sample(jax.random.key(0), 4000)
    for site, (kind, params) in marginals(post.model.families[name]).items():
        expected = SCIPY[kind](*(np.asarray(table, float) for table in params))
        several = [value for key, value in draws.items() if key.startswith(f"{name}_{site}")]
        found = np.concatenate([value.reshape(4000, 3, -1) for value in several], axis=2).reshape(
            4000, *params[0].shape
        )
        error = expected.std() / np.sqrt(4000)
        assert (abs(found.mean(axis=0) - expected.mean()) < 5 * error).all()


@pytest.mark.parametrize("name", cases.ONE_RATE)
def test_a_prior_found_from_a_density(name):
    """Its density to the power, and its marginals, whose distribution functions are uniform at draws."""
    case, alpha = cases.make(name), 1.7
    post = nb.fit_posterior(case.model, case.X, case.y)
    family, draws = post.prior.families["x"], post.sample(jax.random.key(0), 2000)
    scaled, site = interpret(scale_prior, family, np.array(alpha)), f"x_{family.sites[0]}"

    def density(of, n):
        with jax.numpy_rank_promotion("allow"):  # NumPyro's own distribution promotes ranks
            return float(log_density(lambda: of.params("x"), (), {}, {site: draws[site][n]})[0])

    rest = [density(scaled, n) - alpha * density(family, n) for n in range(4)]
    assert_allclose(rest, rest[0], rtol=2e-4)
    ((kind, params),) = marginals(post.model.families["x"]).values()
    shares = SCIPY[kind](*(np.asarray(table, float) for table in params)).cdf(draws[site])
    assert_allclose(shares.mean(axis=0), 0.5, atol=5 * (12 * 2000) ** -0.5)
    assert np.isfinite(nb.prior_sensitivity(post).prior[site]).all()


def test_a_normal_of_known_variance():
    """Its mean has a normal distribution, whose precision is multiplied by the power."""
    x = np.random.default_rng(0).normal(size=(12, 1))
    model = nb.NaiveBayes(nb.NormalKnownVariance(variance=2.0, loc=3.0, scale=0.5))
    post = nb.fit_posterior(model, x, [0] * 12)
    scaled = interpret(scale_prior, post.prior.families["x"], np.array(1.7))
    assert_allclose(scaled.scale**-2, 1.7 * 4.0, rtol=1e-12)
    found = nb.prior_sensitivity(post)
    for table, given in ((found.prior, lambda a: (4.0 * a, 6.0)), (found.likelihood, lambda a: (4.0, 6.0 * a))):

        def after(a, given=given):
            prior, rows = given(a)
            return (3.0 * prior + x.mean() * rows) / (prior + rows), (prior + rows) ** -0.5

        step = np.subtract(after(1 + 1e-6), after(1 - 1e-6)) / 2e-6
        expected = finite(student, (1e9, *after(1.0)), (0.0, *step), 4000)
        assert_allclose(table["x_loc"], expected, rtol=2e-3)


def of_covariance(kind, X):
    return nb.fit_posterior(nb.NaiveBayes(nb.MultivariateNormal(kind, df=6.0)), X, np.arange(len(X)) % 3)


def correlated(columns=3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, columns)) @ rng.normal(size=(columns, columns)) + np.arange(60)[:, None] % 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "shared"])
def test_a_covariance(kind):
    """The density of its scaled prior, and its marginals, whose distribution functions are uniform at draws."""
    post, alpha = of_covariance(kind, correlated()), 1.7
    family, draws = post.prior.families["x"], post.sample(jax.random.key(0), 4000)
    priors = family, interpret(scale_prior, family, np.array(alpha))

    def density(family, n):
        data = {site: value[n] for site, value in draws.items() if site != "class_probs"}
        with jax.numpy_rank_promotion("allow"):  # NumPyro's own distribution promotes ranks
            return float(log_density(lambda: family.params("x"), (), {}, data)[0])

    rest = [density(priors[1], n) - alpha * density(priors[0], n) for n in range(4)]
    assert_allclose(rest, rest[0], rtol=2e-4)
    drawn = {"loc": draws["x_loc"], "covariance": draws["x_covariance"].diagonal(axis1=-2, axis2=-1)}
    for site, (kind_of, params) in marginals(post.model.families["x"]).items():
        expected = SCIPY[kind_of](*(np.asarray(table, float) for table in params))
        found = drawn[site].reshape(4000, *params[0].shape)
        below = expected.cdf(found)  # uniform
        assert (abs(below.mean(axis=0) - 0.5) < 5 / np.sqrt(12 * 4000)).all()
        assert_allclose(below.var(axis=0), 1 / 12, rtol=0.07)  # five standard errors


def test_a_covariance_of_one_column_is_a_variance():
    x, y = correlated(1), np.arange(60) % 3
    normal = nb.Normal(loc=0.3, strength=2.0, shape=1.5, rate=0.7)
    block = nb.MultivariateNormal(loc=[0.3], strength=2.0, df=3.0, scale=[[1.4]])
    one, other = (nb.prior_sensitivity(nb.fit_posterior(nb.NaiveBayes(f), x, y)) for f in (normal, block))
    for way in ("prior", "likelihood"):
        expected, found = getattr(one, way), getattr(other, way)
        assert_allclose(found["x_loc"], expected["x_loc"], rtol=1e-6)
        assert_allclose(found["x_covariance"], expected["x_variance"], rtol=1e-6)


def test_a_constant_column_changes_nothing_for_the_others():
    x = correlated()
    model = nb.NaiveBayes(nb.MultivariateNormal(df=7.0))  # of which a constant column takes one
    wide = nb.fit_posterior(model, np.insert(x, 1, 2.0, axis=1), np.arange(60) % 3)
    found, expected = nb.prior_sensitivity(wide).prior, nb.prior_sensitivity(of_covariance("full", x)).prior
    for site in ("x_loc", "x_covariance"):
        assert_allclose(np.delete(found[site], 1, axis=1), expected[site], rtol=1e-6)


def test_other_families_are_refused_by_name():
    with pytest.raises(ValueError, match="Histogram has no prior whose power"):
        scale_prior(nb.Histogram(), jnp.ones(()))
