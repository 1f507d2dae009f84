"""What ArviZ is given of densities: log priors and log likelihoods add up to that of the program."""

import warnings
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from numpyro.infer.util import log_density

import bayesnb as nb
from bayesnb.inspection._arviz import library, to_arviz
from tests import cases
from tests.inspection.coins import X, Y

FEVERS = np.random.default_rng(5).normal(1.0 * Y[:, None], 1.0, (40, 2))
FEVERS[3, 1] = np.nan
COUGHS = np.where(X > 0, 1, 0)


def hypers(**given):
    return nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0), b=dist.Gamma(jnp.ones(2), 1.0)), **given)


def own_priors():
    return nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": dist.TruncatedNormal(0.3, 0.2, low=0.0, high=1.0)})


def coughs(X, y):
    """A program to recognise, with names of its own and one hyperprior."""
    a = numpyro.sample("a", dist.Gamma(2.0, 1.0))
    share = numpyro.sample("share", dist.Beta(2.0, 3.0))
    with numpyro.plate("columns", 2), numpyro.plate("kinds", 2):
        theta = numpyro.sample("theta", dist.Beta(a, 1.0))
    with numpyro.plate("people", len(y)):
        y = numpyro.sample("y", dist.Bernoulli(share), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


def program_draws(model, X, y, num_samples=4, **settings):
    settings = {"num_warmup": 20, "num_samples": num_samples, "num_chains": 2, "progress_bar": False} | settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few draws
        return nb.fit_nuts(model, X, y, key=jax.random.key(3), **settings)


def check_joint(data, program, X, y, sites):
    """The log priors and the log likelihoods of a draw add up to NumPyro's log density of the whole program."""
    assert set(data["log_prior"].data_vars) == sites
    density = jax.jit(lambda at: log_density(program, (X, y), {}, at)[0])
    for chain, draw in [(0, 0), (1, 2)]:
        at = {site: table.values[chain, draw] for site, table in data["posterior"].data_vars.items()}
        at |= {site: at[site].astype(int) for site in ("x_cuts", "x_total") if site in at}
        with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
            exact = density(at)
        found = sum(float(table.values[chain, draw]) for table in data["log_prior"].data_vars.values())
        found += float(data["log_likelihood"]["log_joint"].values[chain, draw].sum())
        assert_allclose(found, exact, rtol=2e-5)


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES, "normal"))
def test_log_priors_and_log_likelihoods_add_up_to_the_density_of_the_program(name, key):
    case = cases.make(name)
    posterior = nb.fit_posterior(case.model, case.X, case.y)
    data = to_arviz(posterior, key=key, num_samples=3, num_chains=2, X=case.X, y=case.y)
    check_joint(data, posterior.prior, case.X, case.y, set(data["posterior"].data_vars))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hyperpriors", "own priors", "recognised"])
def test_log_priors_of_draws_by_nuts(kind):
    """With hyperpriors, priors of one's own, and the sites of a recognised program."""
    program, model = {
        "hyperpriors": lambda: (hypers(), hypers()),
        "own priors": lambda: (own_priors(), own_priors()),
        "recognised": lambda: (coughs, nb.from_numpyro(coughs, (COUGHS, Y), label="y")),
    }[kind]()
    draws = program_draws(model, COUGHS, Y)
    data = to_arviz(draws, X=COUGHS, y=Y)
    check_joint(
        data, program, COUGHS, Y, set(draws.params) - {"class_probs"} | ({"class_probs"} & set(data["posterior"]))
    )


@pytest.mark.parametrize("variance", ["own", "shared"])
def test_a_constant_column_has_no_prior(variance, key):
    constant = np.stack([FEVERS[:, 0], np.full(40, 2.0)], axis=1)
    posteriors = [nb.fit_posterior(nb.NaiveBayes(nb.Normal(variance=variance)), rows, Y) for rows in (constant, FEVERS)]
    one = posteriors[0].sample(key, 4)
    alone = nb.fit_posterior(nb.NaiveBayes(nb.Normal(variance=variance)), constant[:, :1], Y)
    cut = {site: value if site == "class_probs" else value[..., :1] for site, value in one.items()}
    stats = {"diverging": np.zeros(4, bool)}
    both, without = (nb.Draws(f.prior, p, stats, 1) for f, p in ((posteriors[0], one), (alone, cut)))
    for site, table in to_arviz(both)["log_prior"].data_vars.items():
        assert_allclose(table, to_arviz(without)["log_prior"][site], rtol=1e-6)


def test_power_scaling_finds_a_prior_that_matters(key):
    """psense of ArviZ 1, psens of ArviZ 0: the sensitivity to a prior of 200 pseudo-rows is larger than to one of 4."""
    arviz, found = library("a test"), []
    for size in (2.0, 100.0):  # a flat prior has no weights to scale
        posterior = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(size, size)), COUGHS, Y)
        data = to_arviz(posterior, key=key, X=COUGHS, y=Y)
        scaled = arviz.psense(data) if hasattr(arviz, "psense") else arviz.psens(data, component="prior")
        found.append(float(scaled["x_probs"].max()))
    assert 0 < 1.5 * found[0] < found[1]
    assert found[1] > 0.05
    if hasattr(arviz, "psense_summary"):
        assert {"prior", "likelihood", "diagnosis"} <= set(arviz.psense_summary(data).columns)


def test_the_attributes_name_the_base_measure_of_each_column(key, tmp_path):
    rows = np.stack([FEVERS[:, 0], np.full(40, 2.0), np.round(FEVERS[:, 0])], axis=1)
    rows[:, 2] = np.where(Y == 0, 0.0, rows[:, 0])  # one value in half of the rows
    families = {
        "real": nb.Normal(),
        "cells": nb.Histogram(cells=8),
        "all": nb.MultivariateNormal(),
        "flags": nb.Bernoulli(),
    }
    given = {"real": rows, "cells": rows, "all": rows, "flags": COUGHS}
    posterior = nb.fit_posterior(nb.NaiveBayes(families), given, Y)
    data = to_arviz(posterior, key=key, num_samples=4)
    expected = {
        "real": ["density", "probability", "density"],
        "cells": ["density", "probability", "density, probability at its point masses"],
        "all": ["density", "probability", "density"],
        "flags": ["probability"] * 2,
    }
    assert {block: data.attrs[f"{block}_base_measure"] for block in families} == expected
    if find_spec("h5netcdf") or find_spec("netCDF4"):
        data.to_netcdf(str(tmp_path / "draws.nc"))


@pytest.mark.parametrize("family", [nb.Normal(), nb.MultivariateNormal()])
def test_a_block_without_columns_is_converted(family):
    fit = nb.fit_posterior(nb.NaiveBayes(family), np.zeros((4, 0)), [0, 1, 0, 1])
    data = nb.to_arviz(fit, key=jax.random.key(0), num_samples=2, num_chains=1)
    assert data["posterior"]["x_loc"].shape == (1, 2, 2, 0)
