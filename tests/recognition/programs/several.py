"""Several blocks and likelihoods in one program, and missing cells."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers

import bayesnb as nb
from tests.recognition.case import CODES, COUNTS, FLAGS, PI, RANDOM, REALS, C, D, K, N, accept
from tests.recognition.programs.parts import by_class, rows, table

A, B = np.array([2.0, 1.5, 3.0]), 2.5
NORMAL = nb.Normal(1.0, 0.5, 2.5, 3.0)


def labels(y):
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        return numpyro.sample("y", dist.Categorical(pi), obs=y)


MIXED = nb.NaiveBayes(
    {"words": nb.Bernoulli(A, B), "vitals": NORMAL, "visits": nb.Poisson(2.0, 0.5), "blood": nb.Categorical(C, 1.5)},
    class_concentration=PI,
    num_classes=K,
)


@accept(
    MIXED,
    lambda v: {
        "class_probs": v["pi"],
        "words_probs": v["theta"],
        "vitals_loc": v["mu"],
        "vitals_variance": 1.0 / v["tau"],
        "visits_rate": v["rate"][:, None],
        "blood_probs": v["types"][:, None],
    },
    {"words": FLAGS, "vitals": REALS, "visits": COUNTS[:, :1], "blood": CODES[:, :1]},
    call=lambda X, y: (four_likelihoods, (X["words"], X["vitals"], X["visits"][:, 0], X["blood"][:, 0], y), {}),
)
def four_likelihoods(words, vitals, visits, blood, y):
    theta, tau = table("theta", dist.Beta(A, B)), table("tau", dist.Gamma(2.5, 3.0))
    mu = table("mu", dist.Normal(1.0, (0.5 * tau) ** -0.5))
    rate, types = by_class("rate", dist.Gamma(2.0, 0.5)), by_class("types", dist.Dirichlet(jnp.full(C, 1.5)))
    y = labels(y)
    with numpyro.plate("rows", len(y)):
        numpyro.sample("words", dist.Bernoulli(theta[y]).to_event(1), obs=words)
        numpyro.sample("vitals", dist.Normal(mu[y], tau[y] ** -0.5).to_event(1), obs=vitals)
        numpyro.sample("visits", dist.Poisson(rate[y]), obs=visits)
        numpyro.sample("blood", dist.Categorical(types[y]), obs=blood)


@accept(
    nb.NaiveBayes({"first": nb.Bernoulli(2.0, B), "second": nb.Poisson(2.0, 0.5)}, class_probs=[0.25, 0.75]),
    lambda v: {"first_probs": v["theta"][:, None], "second_rate": v["rate"][:, None]},
    {"first": FLAGS[:, :1], "second": COUNTS[:, :1]},
    label="label",
    call=lambda X, y: (two_plates_of_the_same_rows, ({"flags": X["first"][:, 0], "counts": X["second"][:, 0]}, y), {}),
)
def two_plates_of_the_same_rows(data, y):
    theta = numpyro.sample("theta", dist.Beta(2.0, B), sample_shape=(K,))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 0.5), sample_shape=(K,))
    y = numpyro.sample("label", dist.Categorical(jnp.array([0.25, 0.75])), obs=y)
    with numpyro.plate("flags", len(y)):
        numpyro.sample("first", dist.Bernoulli(theta[y]), obs=data["flags"])
    with numpyro.plate("counts", len(y)):
        numpyro.sample("second", dist.Poisson(rate[y]), obs=data["counts"])


HOLES = RANDOM.random((N, D)) < 0.2
MISSING = np.where(HOLES, np.nan, FLAGS)
BERNOULLI = nb.NaiveBayes(nb.Bernoulli(A, B), class_concentration=PI, num_classes=K)
REALS_MISSING = np.where(HOLES, np.nan, REALS)


def masked(fn):
    """Such a program takes cells, where they are observed, and labels."""
    return lambda X, y: (fn(), (np.nan_to_num(X), ~np.isnan(X), y), {})


def probs(v):
    return {"class_probs": v["pi"], "x_probs": v["theta"]}


@accept(BERNOULLI, probs, MISSING, call=masked(lambda: masked_by_a_handler))
def masked_by_a_handler(X, seen, y):
    theta = table("theta", dist.Beta(A, B))
    y = labels(y)
    with numpyro.plate("rows", len(y), dim=-2), numpyro.plate("words", D, dim=-1), handlers.mask(mask=seen):
        numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)


@accept(BERNOULLI, probs, MISSING, call=masked(lambda: masked_distribution))
def masked_distribution(X, seen, y):
    theta = table("theta", dist.Beta(A, B))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]).mask(seen))


@accept(
    nb.NaiveBayes(NORMAL, class_concentration=PI, num_classes=K),
    lambda v: {"class_probs": v["pi"], "x_loc": v["mu"], "x_variance": v["variance"]},
    REALS_MISSING,
    call=masked(lambda: masked_normal),
)
def masked_normal(X, seen, y):
    variance = table("variance", dist.InverseGamma(2.5, 3.0))
    mu = table("mu", dist.Normal(1.0, jnp.sqrt(variance / 0.5)))
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance[y])).mask(seen))


TWICE = {"first": FLAGS, "second": FLAGS[::-1]}


@accept(
    nb.NaiveBayes({"first": nb.Bernoulli(A, B), "second": nb.Bernoulli(1.0, 1.0)}, num_classes=K),
    lambda v: {"first_probs": v["theta"], "second_probs": v["phi"]},
    TWICE,
    label="label",
    call=lambda X, y: (two_blocks_and_a_label_argument, (X["first"], X["second"], y), {}),
)
def two_blocks_and_a_label_argument(first, second, label):
    theta, phi = table("theta", dist.Beta(A, B)), table("phi", dist.Uniform(0.0, 1.0))
    with numpyro.plate("rows", len(label)):
        numpyro.sample("first", dist.Bernoulli(theta[label]).to_event(1), obs=first)
        numpyro.sample("second", dist.Bernoulli(phi[label]).to_event(1), obs=second)
