"""Hyperparameters that are distributions, against sums over a grid and NUTS on the full program."""

from dataclasses import replace

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from numpyro.infer import MCMC, NUTS
from scipy import stats
from scipy.special import betaln

import bayesnb as nb

Y = np.arange(60) % 3
X = (np.random.default_rng(0).random((60, 4)) < 0.3 + 0.2 * Y[:, None]).astype(int)
MODEL = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0), b=dist.Gamma(2.0, 1.0)))
SETTINGS = {"num_samples": 600, "num_warmup": 500, "num_chains": 4, "progress_bar": False}


@pytest.fixture(scope="module")
def draws():
    return nb.fit_nuts(MODEL, X, Y, key=jax.random.key(1), **SETTINGS)


def grid(successes, failures):
    """The posterior of (a, b) on a grid, whose cells are fine beside its spread."""
    points = np.linspace(0.02, 18.0, 450)
    a, b = np.meshgrid(points, points, indexing="ij")
    log_p = stats.gamma.logpdf(a, 2.0) + stats.gamma.logpdf(b, 2.0)
    for s, f in zip(successes.ravel(), failures.ravel(), strict=True):
        log_p = log_p + betaln(a + s, b + f) - betaln(a, b)
    weight = np.exp(log_p - log_p.max())
    return a, b, weight / weight.sum()


def close(draws, samples, expected):
    """Within five Monte Carlo standard errors, with the run's smallest effective sample size."""
    assert_allclose(samples.mean(), expected, atol=5 * samples.std() / np.sqrt(draws.min_ess))


@pytest.mark.slow
def test_the_posterior_is_that_of_a_grid(draws):
    successes = np.array([X[k == Y].sum(axis=0) for k in range(3)])
    failures = 20 - successes
    a, b, weight = grid(successes, failures)
    close(draws, draws.params["x_prior_a"], (weight * a).sum())
    close(draws, draws.params["x_prior_b"], (weight * b).sum())
    for k, d in [(0, 0), (1, 2), (2, 3)]:
        mean = (weight * (a + successes[k, d]) / (a + b + 20)).sum()
        close(draws, draws.params["x_probs"][:, k, d], mean)
    assert {site: value.shape for site, value in draws.params.items()} == {
        "class_probs": (2400, 3),
        "x_probs": (2400, 3, 4),
        "x_prior_a": (2400,),
        "x_prior_b": (2400,),
    }
    # predictions average over the same grid
    counts = np.where(X[0], successes, failures)
    pseudo = np.where(X[0], a[..., None, None], b[..., None, None])
    terms = np.log((pseudo + counts) / (a + b + 20)[..., None, None])
    joint = (weight[..., None] * np.exp(terms.sum(axis=-1))).sum(axis=(0, 1)) / 3
    assert_allclose(draws.predict_proba(X[:1])[0], joint / joint.sum(), atol=0.01)


@pytest.mark.slow
def test_predictions_average_the_exact_predictive(draws):
    """Of each draw of the hyperparameters, also for another population."""
    few = replace(draws, params={site: value[:5] for site, value in draws.params.items()})
    for fit, class_probs in [(few, None), (few.with_class_probs([0.2, 0.3, 0.5]), [0.2, 0.3, 0.5])]:
        pairs = zip(few.params["x_prior_a"], few.params["x_prior_b"], strict=True)
        models = [nb.NaiveBayes(nb.Bernoulli(a=a, b=b), class_probs=class_probs) for a, b in pairs]
        joint = np.mean([np.exp(nb.fit_posterior(model, X, Y).log_joint(X[:8])) for model in models], axis=0)
        assert_allclose(np.exp(fit.log_joint(X[:8])), joint, rtol=1e-9)


@pytest.mark.slow
def test_many_rows_as_statistics():
    """6e7 rows fix every probability, and say no more of a and b than that."""
    one = nb.sufficient_statistics(nb.NaiveBayes(nb.Bernoulli()), X, Y)
    many = jax.tree.map(lambda leaf: leaf * 1e6, one)
    longer = SETTINGS | {"num_samples": 1000}  # with 600 the warning of chains that disagree comes by chance
    fit = nb.fit_nuts(MODEL, statistics=many, key=jax.random.key(2), **longer)
    rates = many.blocks["x"].successes / many.blocks["x"].trials
    assert_allclose(fit.params["x_probs"].mean(axis=0), rates, atol=1e-5)
    assert fit.num_divergences == 0
    # with the probabilities known the posterior of (a, b) is that of 12 draws from a Beta
    points = np.linspace(0.02, 30.0, 600)
    a, b = np.meshgrid(points, points, indexing="ij")
    log_p = stats.gamma.logpdf(a, 2.0) + stats.gamma.logpdf(b, 2.0) - 12 * betaln(a, b)
    log_p = log_p + (a - 1) * np.log(rates).sum() + (b - 1) * np.log1p(-rates).sum()
    weight = np.exp(log_p - log_p.max())
    close(fit, fit.params["x_prior_a"], (weight * a).sum() / weight.sum())


@pytest.mark.slow
def test_nuts_on_the_full_program_agrees(draws):
    sampler = MCMC(
        NUTS(MODEL), num_warmup=500, num_samples=1000, num_chains=2, chain_method="vectorized", progress_bar=False
    )
    with jax.numpy_rank_promotion("allow"):
        sampler.run(jax.random.key(3), X, Y)
    full = sampler.get_samples()
    for site in ("x_prior_a", "x_prior_b"):
        spread = np.std(full[site]) * np.sqrt(1 / draws.min_ess + 1 / 200)
        assert_allclose(np.mean(full[site]), draws.params[site].mean(), atol=5 * spread)
    spread = np.std(full["x_probs"], axis=0) * np.sqrt(1 / draws.min_ess + 1 / 200)
    assert (np.abs(np.mean(full["x_probs"], axis=0) - draws.params["x_probs"].mean(axis=0)) < 5 * spread).all()


@pytest.mark.slow
def test_class_concentration_and_other_families():
    rng = np.random.default_rng(4)
    rows = {"reals": rng.normal(size=(60, 2)) + Y[:, None], "codes": rng.integers(0, 3, (60, 2))}
    model = nb.NaiveBayes(
        {
            "reals": nb.Normal(shape=dist.LogNormal(0.0, 1.0)),
            "codes": nb.Categorical(3, concentration=dist.Gamma(2.0, 1.0)),
        },
        class_concentration=dist.Gamma(3.0, 1.0),
        num_classes=3,
    )
    fit = nb.fit_nuts(model, rows, Y, key=jax.random.key(5), **SETTINGS)
    assert {"class_concentration", "reals_prior_shape", "codes_prior_concentration"} <= set(fit.params)
    assert fit.num_divergences == 0
    assert fit.max_r_hat < 1.05
    assert_allclose(fit.predict_proba(rows).sum(axis=1), 1.0)


def test_closed_forms_name_the_hyperpriors():
    for fit in (nb.fit_posterior, nb.fit_map, nb.fit_mle, nb.leave_one_out):
        with pytest.raises(ValueError, match="has hyperpriors, x_prior_a, x_prior_b, which fit_nuts infers"):
            fit(MODEL, X, Y)


@pytest.mark.parametrize("hyperprior", [dist.Normal(0.0, 1.0), dist.Uniform(-1.0, 1.0), dist.Poisson(3.0)])
def test_a_hyperprior_of_something_positive_is_positive(hyperprior):
    with pytest.raises(ValueError, match="the hyperprior of a must be continuous with positive values"):
        nb.Bernoulli(a=hyperprior)


def test_it_reads_well():
    assert (
        repr(MODEL.families["x"])
        == "Bernoulli(a=Gamma(concentration=2.0, rate=1.0), b=Gamma(concentration=2.0, rate=1.0))"
    )
