"""Blocks of an unknown likelihood whose classes and columns share latents: NUTS on sums has the program's posterior."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from numpyro import handlers
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS
from scipy import stats

import bayesnb as nb
from tests.recognition.agreement import refusal

ROWS, SETTINGS = 60, {"num_samples": 500, "num_warmup": 500, "progress_bar": False}
RANDOM = np.random.default_rng(3)
Y = np.arange(ROWS) % 2
FLAGS = (RANDOM.random((ROWS, 3)) < 0.3 + 0.4 * Y[:, None]).astype(int)
WAITS = RANDOM.gamma(2.5, np.array([[1.0, 2.0], [3.0, 0.5]])[Y])


def shares():
    return numpyro.sample("pi", dist.Dirichlet(jnp.ones(2)))


def labels(pi, y):
    return numpyro.sample("y", dist.Categorical(pi), obs=y)


def hierarchical(flags, waits, y=None):
    """One shape for all, and a hyperprior of all scales."""
    pi = shares()
    theta = numpyro.sample("theta", dist.Beta(2.0, 2.0).expand([2, 3]).to_event(2))
    shape = numpyro.sample("shape", dist.LogNormal(0.0, 1.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(2.0))
    with numpyro.plate("classes", 2, dim=-2), numpyro.plate("columns", 2, dim=-1):
        scale = numpyro.sample("scale", dist.HalfNormal(tau))
    with numpyro.plate("rows", len(flags)):
        y = labels(pi, y)
        numpyro.sample("flags", dist.Bernoulli(theta[y]).to_event(1), obs=flags)
        numpyro.sample("waits", dist.Gamma(shape, 1.0 / scale[y]).to_event(1), obs=waits)


LATENTS = ("shape", "tau", "scale")


@pytest.fixture(scope="module")
def model():
    return nb.from_numpyro(hierarchical, (FLAGS, WAITS, Y), label="y")


@pytest.fixture(scope="module")
def draws(model):
    return nb.fit_nuts(model, model.rows(FLAGS, WAITS), Y, key=jax.random.key(0), **SETTINGS)


def mean_and_error(chains):
    """Of draws [chains, draws, ...], with the standard error of the mean."""
    flat = chains.reshape(-1, *chains.shape[2:])
    return flat.mean(axis=0), flat.std(axis=0) / np.sqrt(effective_sample_size(chains))


@pytest.mark.slow
def test_sums_have_the_posterior_of_the_rows(draws):
    mcmc = MCMC(NUTS(hierarchical), num_chains=4, num_samples=500, num_warmup=500, progress_bar=False,
                chain_method="sequential")  # fmt: skip
    mcmc.run(jax.random.key(1), FLAGS, WAITS, Y)
    rows = mcmc.get_samples(group_by_chain=True)
    for site in LATENTS:
        for change in (np.log, lambda value: np.log(value) ** 2):  # mean and spread
            pairs = (np.asarray(rows[site], float), draws.params[site].reshape(4, 500, *rows[site].shape[2:]))
            (mean, error), (other, error_of_other) = (mean_and_error(change(chains)) for chains in pairs)
            assert (np.abs(mean - other) < 5.0 * np.hypot(error, error_of_other)).all(), site


@pytest.mark.slow
def test_the_other_blocks_have_their_exact_posterior(draws):
    """Independent draws: of each number, the test of Kolmogorov and Smirnov."""
    for k in range(2):
        n, ones = (k == Y).sum(), FLAGS[k == Y].sum(axis=0)
        for d in range(3):
            exact = stats.beta(2.0 + ones[d], 2.0 + n - ones[d])
            assert stats.kstest(draws.params["theta"][:, k, d], exact.cdf).pvalue > 1e-4
    assert stats.kstest(draws.params["pi"][:, 0], stats.beta(31.0, 31.0).cdf).pvalue > 1e-4


@pytest.mark.slow
def test_the_parameters_by_class_are_those_of_the_program(draws):
    assert draws.params["waits_concentration"].shape == draws.params["waits_rate"].shape == (2000, 2, 2)
    assert_allclose(draws.params["waits_rate"], 1.0 / draws.params["scale"], rtol=1e-6)
    assert_allclose(draws.params["waits_concentration"], np.tile(draws.params["shape"][:, None, None], (1, 2, 2)))


@pytest.mark.slow
def test_predictions_are_the_mean_of_joints_over_draws(model, draws):
    x = np.log([0.5, 4.0])
    pi, theta, shape, scale = (draws.params[site] for site in ("pi", "theta", "shape", "scale"))
    flags = np.array([1, 0, 1])
    of_flags = np.where(flags, theta, 1.0 - theta).prod(axis=2)
    of_waits = stats.gamma.pdf(np.exp(x), shape[:, None, None], scale=scale).prod(axis=2)
    joint = (pi * of_flags * of_waits).mean(axis=0)
    found = draws.predict_proba(model.rows(flags[None], np.exp(x)[None]))
    assert_allclose(found[0], joint / joint.sum(), rtol=1e-6)


def test_the_certificate_has_a_line_for_each_block(model):
    text = str(model.certificate)
    assert "site 'flags': Bernoulli, 3 columns, conjugate" in text
    assert "site 'waits': Likelihood(Gamma), 2 columns, sampled, from sums that are off by" in text
    assert "concentration: as the program has it" in text


def test_its_program_is_the_users_own(model):
    """The prior of a recognised model, with the latents' own names."""
    prior = model.resolve(model.rows(FLAGS, WAITS)).params
    one, other = (handlers.trace(handlers.seed(prior, jax.random.key(n))).get_trace() for n in (2, 4))
    assert {"pi", "theta", *LATENTS, "waits_rate"} <= one.keys()
    assert_allclose(one["waits_rate"]["value"], 1.0 / one["scale"]["value"], rtol=1e-6)
    assert one["shape"]["value"] != other["shape"]["value"]


@pytest.mark.slow
def test_statistics_are_fitted_too(model, draws):
    rows = model.rows(FLAGS, WAITS)
    found = nb.fit_nuts(model, statistics=nb.sufficient_statistics(model, rows, Y), key=jax.random.key(0), **SETTINGS)
    pairs = (mean_and_error(fit.params["shape"].reshape(4, 500)) for fit in (found, draws))
    (mean, error), (other, error_of_other) = pairs
    assert abs(mean - other) < 5.0 * np.hypot(error, error_of_other)


@pytest.mark.slow
def test_labels_are_summed_out(model):
    y = np.where(np.arange(ROWS) % 3, Y, -1)
    found = nb.fit_nuts(model, model.rows(FLAGS, WAITS), y, key=jax.random.key(0), **SETTINGS)
    assert np.isfinite(found.params["shape"]).all()
    assert set(LATENTS) <= found.params.keys()


@pytest.mark.slow
def test_draws_are_saved_and_the_program_is_not(model, draws, tmp_path):
    nb.save(draws, tmp_path / "draws.nb")
    again, rows = nb.load(tmp_path / "draws.nb"), model.rows(FLAGS, WAITS)
    assert_allclose(again.predict_proba(rows), draws.predict_proba(rows), rtol=0)
    with pytest.raises(ValueError, match="which no file holds: recognise it again"):
        nb.fit_nuts(again.model, rows, Y, key=jax.random.key(0), **SETTINGS)


@pytest.mark.parametrize("fit", [nb.fit_mle, nb.fit_map, nb.fit_posterior, nb.leave_one_out, nb.fit_em])
def test_other_fits_refuse(model, fit):
    with pytest.raises(ValueError, match=r"the parameters of 'waits' are not the own ones .* use fit_nuts"):
        fit(model, model.rows(FLAGS, WAITS), Y)


def with_waits(law):
    def program(waits, y=None):
        made, pi = law(), shares()
        with numpyro.plate("rows", len(waits)):
            y = labels(pi, y)
            numpyro.sample("waits", made(y).to_event(1), obs=waits)

    return program


def table(site, law):
    return numpyro.sample(site, law.expand([2, 2]).to_event(2))


def non_centred():
    middle, spread = numpyro.sample("middle", dist.Normal()), numpyro.sample("spread", dist.HalfNormal())
    rate = jnp.exp(middle + spread * table("z", dist.Normal()))
    return lambda y: dist.Gamma(2.0, rate[y])


def walk():
    steps = jnp.cumsum(numpyro.sample("steps", dist.Normal().expand([4]).to_event(1)))
    return lambda y: dist.Gumbel(steps.reshape(2, 2)[y], 1.0)


def known_by_column():
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0).expand([2]).to_event(1))
    return lambda y: dist.Gamma(jnp.array([1.0, 2.0]), rate[y][:, None])


@pytest.mark.parametrize("law", [non_centred, walk, known_by_column])
def test_a_prior_of_any_form_is_certified(law):
    model = nb.from_numpyro(with_waits(law), (WAITS, Y), label="y")
    assert model.sampled == ("x",)
    assert "sampled" in str(model.certificate)


def a_kink():
    loc = numpyro.sample("loc", dist.Normal())
    return lambda y: dist.Laplace(loc + 0.0 * y[:, None], 0.01)


def another_by_the_name_of_ours():
    rate = numpyro.sample("x_rate", dist.Gamma(2.0, 1.0))
    return lambda y: dist.Gamma(2.0, rate * jnp.ones((len(y), 2)))


def a_moving_support():
    scale = numpyro.sample("scale", dist.Gamma(2.0, 1.0))
    return lambda y: dist.Pareto(scale * jnp.ones((len(y), 2)), 1.0)


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (a_kink, "is not smooth enough"),
        (another_by_the_name_of_ours, "site 'x_rate' has the name of the rate of 'waits'"),
        (a_moving_support, "the support of its Pareto moves with latents"),
    ],
)
def test_what_sums_cannot_have_is_refused(law, said):
    assert said in str(refusal(with_waits(law), WAITS, Y))


def test_a_prior_that_depends_on_rows_is_refused():
    def program(waits, y=None):
        rate, pi = numpyro.sample("rate", dist.Gamma(2.0, waits.mean())), shares()
        with numpyro.plate("rows", len(waits)):
            y = labels(pi, y)
            numpyro.sample("waits", dist.Exponential(rate * jnp.ones(waits.shape)).to_event(1), obs=waits)

    assert "it depends on the number of rows, or on a sum or mean of them" in str(refusal(program, WAITS, Y))
