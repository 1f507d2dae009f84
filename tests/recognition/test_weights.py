"""Weights and subsamples inside a program are refused by name, wherever they stand."""

from contextlib import nullcontext

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers

import bayesnb as nb
from tests.recognition.case import FLAGS, PI, D, K, N, Y
from tests.recognition.programs.parts import table

WEIGHTS = jnp.linspace(0.5, 2.0, N)
BETA = dist.Beta(2.0, 2.5)


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


def a_batch(X, y, size):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y), subsample_size=size) as index:
        y = numpyro.sample("y", dist.Categorical(pi), obs=jnp.asarray(y)[index])
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=jnp.asarray(X)[index])


def a_batch_of_many_rows(X, y, size):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", 1000, subsample_size=size):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


def a_batch_of_columns(X, y, size):
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("rows", 2 * D, subsample_size=size, dim=-1):
        theta = numpyro.sample("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


@pytest.mark.parametrize(("fn", "size"), [(a_batch, 6), (a_batch_of_many_rows, N), (a_batch_of_columns, D)])
def test_a_subsample_is_refused_by_plate(fn, size):
    with pytest.raises(nb.NotNaiveBayes, match="plate 'rows' has a subsample_size"):
        nb.from_numpyro(fn, (FLAGS, Y, size), label="y")
