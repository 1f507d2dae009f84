"""Missing cells by ``obs_mask``, whose latents are summed out; other masks, and scales, are refused by name."""

from contextlib import nullcontext
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from numpyro import handlers
from numpyro.infer.util import log_density
from scipy.special import logsumexp

import bayesnb as nb
from tests.recognition.agreement import assert_same_model
from tests.recognition.case import FLAGS, PI, REALS, Case, D, K, N, Y
from tests.recognition.programs.parts import rows, table

pytestmark = pytest.mark.usefixtures("in_float64")

A, B = np.array([2.0, 1.5, 3.0]), 2.5
HOLES = np.zeros((N, D), bool)
HOLES[[0, 3, 3, 7], [0, 1, 2, 1]] = True


def labels(y):
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        return numpyro.sample("y", dist.Categorical(pi), obs=y)


def flags(X, y):
    theta = table("theta", dist.Beta(A, B))
    y = labels(y)
    with numpyro.plate("rows", len(y), dim=-2), numpyro.plate("words", D, dim=-1):
        numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X, obs_mask=~jnp.isnan(X))


@pytest.mark.slow
def test_latents_of_missing_cells_are_summed_out():
    X = np.where(HOLES, np.nan, FLAGS)
    model = nb.from_numpyro(flags, (X, Y), label="y")
    expected = nb.NaiveBayes(nb.Bernoulli(A, B), class_concentration=PI, num_classes=K)
    assert_same_model(model, Case("", None, X, Y, "conjugate", expected=expected))
    integrated = "site 'x': Bernoulli, 3 columns, conjugate; the latents of missing cells are integrated out"
    assert integrated in repr(model.certificate)

    params = {"pi": np.array([0.3, 0.7]), "theta": np.linspace(0.1, 0.8, K * D).reshape(K, D)}
    cells = np.zeros((2 ** HOLES.sum(), N, D), int)
    cells[:, HOLES] = list(product([0, 1], repeat=HOLES.sum()))
    program = jax.vmap(lambda z: log_density(flags, (X, Y), {}, {**params, "x_unobserved": z})[0])
    assert_allclose(log_density(model, (X, Y), {}, params)[0], logsumexp(program(jnp.asarray(cells))), rtol=1e-12)


def two(law):
    """A program whose second feature has this law, given its mean, and the first feature with its missing cells."""

    def program(X, y):
        sigma = table("sigma", dist.HalfNormal(2.0))
        mu = table("mu", dist.Normal(0.0, 1.0))
        y = labels(y)
        with numpyro.plate("rows", len(y)):
            first = numpyro.sample("x1", dist.Normal(mu[y, 0], sigma[y, 0]), obs=X[:, 0], obs_mask=~HOLES[:, 0])
            numpyro.sample("x2", law(mu[y, 1], sigma[y, 1], first), obs=X[:, 1])

    return program


@pytest.mark.parametrize(
    "law",
    [
        pytest.param(lambda mu, sigma, first: dist.Normal(mu + 0.1 * first, sigma), marks=pytest.mark.slow),
        pytest.param(
            lambda mu, sigma, first: dist.Normal(mu, sigma + jnp.square(first.mean())), marks=pytest.mark.slow
        ),
        lambda mu, sigma, first: dist.Normal(mu, sigma).mask(first > 0.5),
    ],
    ids=["the same row", "all rows", "a mask"],
)
def test_what_looks_at_missing_cells_is_refused(law):
    with pytest.raises(nb.NotNaiveBayes, match="site 'x2'"):
        nb.from_numpyro(two(law), (REALS, Y), label="y")


def test_labels_that_are_missing_are_refused():
    def program(X, y):
        theta = table("theta", dist.Beta(A, B))
        pi = numpyro.sample("pi", dist.Dirichlet(PI))
        y = numpyro.sample("y", dist.Categorical(pi), obs=y, obs_mask=~HOLES[:, 0])
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)

    with pytest.raises(nb.NotNaiveBayes, match=r"site 'y', the label, has an obs_mask: .* give them to fit_em"):
        nb.from_numpyro(program, (FLAGS, Y), label="y")


def test_a_mask_that_follows_the_parameters_is_refused():
    def program(X, y):
        theta = table("theta", dist.Beta(A, B))
        rows(X, y, lambda y: dist.Bernoulli(theta[y]).mask(theta[y] > 0.5))

    with pytest.raises(nb.NotNaiveBayes, match="'x' has other cells or another mask in a second run"):
        nb.from_numpyro(program, (FLAGS, Y), label="y")


def test_a_prior_with_a_mask_is_refused():
    def program(X, y):
        with numpyro.plate("classes", K, dim=-2), numpyro.plate("columns", D, dim=-1):
            theta = numpyro.sample("theta", dist.Beta(A, B).mask(jnp.array([True, False, True])))
        rows(X, y, lambda y: dist.Bernoulli(theta[y]))

    with pytest.raises(nb.NotNaiveBayes, match="site 'theta' has a mask: only observed features"):
        nb.from_numpyro(program, (FLAGS, Y), label="y")


BETA = dist.Beta(2.0, 2.5)


WEIGHTS = jnp.linspace(0.5, 2.0, N)


def program(X, y, weights=1.0, scaled=""):
    """One part of it is scaled."""

    def part(name):
        return handlers.scale(scale=weights) if name == scaled else nullcontext()

    with part("prior"):
        theta = table("theta", BETA)
    with part("class prior"):
        pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with part("plate"), numpyro.plate("rows", len(y)), part("rows"):
        with part("label"):
            y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        with part("cells"):
            numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


def by_a_latent(X, y):
    program(X, y, numpyro.sample("power", dist.Gamma(2.0, 1.0)), "cells")


def labels_are_an_argument(X, label):
    theta = table("theta", BETA)
    with numpyro.plate("rows", len(label)), handlers.scale(scale=0.5):
        numpyro.sample("x", dist.Bernoulli(theta[label]).to_event(1), obs=X)


ROWS, PRIOR = r"has handlers.scale.*sample_weight", r"has handlers.scale.*write the prior"


SCALED = [
    ("y", ROWS, program, (WEIGHTS, "rows")),
    ("y", ROWS, program, (0.5, "plate")),
    ("y", ROWS, program, (np.float32(0.5), "label")),
    ("x", ROWS, program, (WEIGHTS, "cells")),
    ("theta", PRIOR, program, (0.5, "prior")),
    ("pi", PRIOR, program, (2.0, "class prior")),
    ("theta", PRIOR, handlers.scale(program, scale=2.0), ()),
    ("x", ROWS, by_a_latent, ()),
]


@pytest.mark.parametrize(("site", "reason", "fn", "args"), SCALED)
def test_a_scale_is_refused_by_site(site, reason, fn, args):
    with pytest.raises(nb.NotNaiveBayes, match=f"site '{site}' {reason}"):
        nb.from_numpyro(fn, (FLAGS, Y, *args), label="y")


def test_a_scale_is_refused_where_labels_are_an_argument():
    with pytest.raises(nb.NotNaiveBayes, match=f"site 'x' {ROWS}"):
        nb.from_numpyro(labels_are_an_argument, (FLAGS, Y), label="label")
