"""Programs with loops, maps and handlers inside, and every program of ours, are the models they stand for."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from numpyro import handlers
from numpyro.contrib.control_flow import scan

import bayesnb as nb
from tests import cases, written_programs
from tests.recognition.agreement import assert_same_model
from tests.recognition.case import COUNTS, FLAGS, PI, REALS, Case, D, K, Y
from tests.recognition.programs.parts import rows, table

BETA = dist.Beta(2.0, 2.5)


def a_key_and_a_series(X, y, key):
    theta = table("theta", BETA)
    del key
    rows(X, jnp.asarray(y.values), lambda y: dist.Bernoulli(theta[y]))


def a_loop_of_rows(X, y):
    theta, pi = table("theta", BETA), numpyro.sample("pi", dist.Dirichlet(PI))

    def row(_, cells):
        label = numpyro.sample("y", dist.Categorical(pi), obs=cells[1])
        numpyro.sample("x", dist.Bernoulli(theta[label]).to_event(1), obs=cells[0])
        return _, None

    scan(row, None, (jnp.asarray(X), jnp.asarray(y)))


def a_loop_over_classes(X, y):
    theta = table("theta", BETA)
    copy = jax.lax.fori_loop(0, K, lambda k, found: found.at[k].set(theta[k]), jnp.zeros((K, D)))
    rows(X, y, lambda y: dist.Bernoulli(copy[y]))


def flips_in_a_loop(X, y):
    theta = table("theta", BETA)
    flipped = jax.lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, 1.0 - s[1]), (0, theta))[1]
    rows(X, y, lambda y: dist.Bernoulli(flipped[y]))


def a_map_over_rows(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(jax.vmap(jax.jit(lambda k: theta[k]))(y)))


def names_with_a_prefix(X, y):
    with handlers.scope(prefix="own"):
        theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


QUICK = {"a key and a series": (a_key_and_a_series, (FLAGS, pd.Series(Y), jax.random.key(0)))}
SLOW = [a_loop_of_rows, a_loop_over_classes, flips_in_a_loop, a_map_over_rows, names_with_a_prefix]


@pytest.mark.parametrize(
    ("program", "args"),
    [
        *(pytest.param(*case, id=name) for name, case in QUICK.items()),
        *(pytest.param(fn, (FLAGS, Y), marks=pytest.mark.slow, id=fn.__name__) for fn in SLOW),
    ],
)
def test_the_model_is_the_same(program, args):
    family = nb.from_numpyro(program, args, label="y").families["x"]
    assert_allclose(family.a, np.full((K, D), 2.0), rtol=1e-6)
    assert_allclose(family.b, np.full((K, D), 2.5), rtol=1e-6)


@pytest.mark.slow
def test_totals_may_be_one_for_each_row():
    def program(X, y, totals):
        theta = table("theta", BETA)
        rows(X, y, lambda y: dist.Binomial(totals[:, None], theta[y]))

    totals = np.arange(len(Y)) + 20
    model = nb.from_numpyro(program, (COUNTS, Y, totals), label="y")
    full = np.broadcast_to(totals[:, None], COUNTS.shape)
    fit = nb.fit_map(model, (COUNTS, full), Y)
    expected = nb.NaiveBayes(nb.Binomial(None, 2.0, 2.5), class_concentration=PI)
    assert_allclose(fit.params["theta"], nb.fit_map(expected, (COUNTS, full), Y).params["x_probs"], rtol=1e-5)


@pytest.mark.parametrize("changed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_certificate_says_where_cells_are_not_those_of_the_arguments(changed):
    def program(X, y):
        mu = table("mu", dist.Normal(0.0, 1.0))
        rows(jnp.clip(jnp.asarray(X), -1.0, 1.0) if changed else X, y, lambda y: dist.Normal(mu[y], 1.0))

    text = repr(nb.from_numpyro(program, (REALS, Y), label="y").certificate)
    assert ("rows: not an argument as it is: fits and predictions take what model.rows returns" in text) == changed


NOT_NUMBERS = np.where(np.arange(REALS.size).reshape(REALS.shape) == 7, np.nan, REALS)
NORMAL = dist.Normal(0.0, 1.0)


@pytest.mark.parametrize(
    ("X", "y", "prior", "likelihood", "sentence"),
    [
        pytest.param(NOT_NUMBERS, Y, NORMAL, lambda mu: dist.Normal(mu, 1.0), r"site 'x' observes NaN: .* by a mask"),
        pytest.param(FLAGS, Y - 1, BETA, dist.Bernoulli, r"the labels reach -1, and 'y' has 2 classes, 0 to 1"),
        pytest.param(
            FLAGS + 2.0, Y, BETA, dist.Bernoulli, r"rows do not fit .* is 0, 1 or NaN", marks=pytest.mark.slow
        ),
        pytest.param(
            COUNTS,
            Y,
            dist.ImproperUniform(dist.constraints.positive, (), ()),
            dist.Poisson,
            r"'latent', a parameter of site 'x', is not conjugate, and no draws can be made from it",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["NaN", "a label below zero", "cells outside the support", "an improper prior"],
)
def test_rows_and_priors_without_a_density_are_refused_in_a_sentence(X, y, prior, likelihood, sentence):
    def program(X, y):
        latent = table("latent", prior)
        rows(X, y, lambda y: likelihood(latent[y]))

    with pytest.raises(nb.NotNaiveBayes, match=sentence):
        nb.from_numpyro(program, (X, y), label="y")


# the program of a model, and each program in models/, is recognised as the model it stands for


def case_of(name, call, X, y, expected):
    return Case(name, call, X, y, "conjugate", "label", expected)


CONTINUOUS = [name for name in cases.NAMES if name != "histogram"]
"""The families without discrete latents, which are not recognised."""


@pytest.mark.parametrize("name", cases.by_default(CONTINUOUS))
def test_the_program_of_a_resolved_model_is_that_model(name):
    model, X, y = cases.make(name)
    model = model.resolve(X, y)
    case = case_of(name, lambda X, y: (model, (X, y), {}), X, y, model)
    assert_same_model(case.recognise(), case)


@pytest.mark.slow
def test_the_program_of_a_hierarchical_model_is_that_model():
    model = nb.NaiveBayes(nb.Bernoulli(dist.Gamma(2.0, 1.0), 2.5), class_concentration=1.5, num_classes=K)
    case = case_of("hierarchical", lambda X, y: (model, (X, y), {}), FLAGS, Y, model)
    assert_same_model(case.recognise(), case)


SAME = [
    pytest.param(*one, id=f"{one[0]} {i}", marks=[pytest.mark.slow] if i else [])
    for i, one in enumerate(written_programs.SAME + written_programs.OTHERS)
    if one[0] != "histogram"
]


@pytest.mark.parametrize(("name", "hyperparameters", "composed"), SAME)
def test_each_program_in_models_is_recognised(name, hyperparameters, composed):
    program, args = written_programs.PROGRAMS[name]
    X = jax.tree.map(np.asarray, written_programs.ROWS_OF[name])
    y = np.asarray(written_programs.Y)
    case = case_of(name, lambda *_: (program, args, hyperparameters), X, y, composed.resolve(X, y))
    assert_same_model(case.recognise(), case)


@pytest.mark.slow
def test_discrete_latents_are_refused():
    model, X, y = cases.make("histogram")
    with pytest.raises(nb.NotNaiveBayes, match="site 'x_total' is discrete and not observed"):
        nb.from_numpyro(model.resolve(X, y), model_args=(X, y), label="label")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ((np.ones(3), np.zeros(3, int)), np.zeros(3)),
            "model_kwargs must be a dict of arguments by name, got ndarray",
        ),
        ((np.ones(3),), "model_args must be a tuple of the program's arguments, got ndarray"),
    ],
)
def test_arguments_that_are_no_tuple_and_no_dict_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        nb.from_numpyro(print, *arguments, label="y")
