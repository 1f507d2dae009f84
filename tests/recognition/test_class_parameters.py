"""Labels of other types, subsamples inside a program, and what the parameters of classes cannot be."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.recognition.case import FLAGS, PI, Y3, D, K, N, Y
from tests.recognition.programs.parts import rows, table

BETA = dist.Beta(2.0, 2.5)


def as_many_classes_as_labels(X, label):
    theta = numpyro.sample("theta", BETA.expand([int(label.max()) + 1, D]))
    numpyro.sample("x", dist.Bernoulli(theta[label]), obs=X)


def a_product_with_one_hot(X, label):
    absent = numpyro.sample("absent", dist.Beta(2.5, 2.0).expand([3, D]))
    numpyro.sample("x", dist.Bernoulli(1.0 - jax.nn.one_hot(label, 3) @ absent), obs=X)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", [as_many_classes_as_labels, pytest.param(a_product_with_one_hot, marks=pytest.mark.slow)]
)
def test_an_argument_of_labels_has_the_classes_that_the_program_reads(program):
    model = nb.from_numpyro(program, (FLAGS, Y3), label="label")
    assert model.num_classes == 3
    assert_allclose(model.families["x"].a, np.full((3, D), 2.0), rtol=1e-6)


@pytest.mark.slow
def test_labels_may_be_booleans():
    def program(X, y):
        absent, present = (numpyro.sample(name, BETA.expand([D])) for name in ("absent", "present"))
        y = numpyro.sample("y", dist.Bernoulli(numpyro.sample("p", dist.Beta(2.0, 3.0))), obs=y)
        numpyro.sample("x", dist.Bernoulli(jnp.where(~y[:, None], absent, present)), obs=X)

    model = nb.from_numpyro(program, (FLAGS, Y == 1), label="y")
    fit = nb.fit_map(model, FLAGS, Y == 1)
    shares = (FLAGS[Y == 0].sum(axis=0) + 1.0) / ((Y == 0).sum() + 2.5)
    assert_allclose(fit.params["absent"], shares, rtol=1e-5)


def logit_of_a_class(X, y):
    p = numpyro.sample("p", dist.Uniform(-1.5, 1.5))
    y = numpyro.sample("y", dist.Bernoulli(logits=p), obs=y)
    numpyro.sample("x", dist.Bernoulli(table("theta", BETA)[y]), obs=X)


def one_class(X, y):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(1)))
    y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    numpyro.sample("x", dist.Bernoulli(table("theta", BETA)[y]), obs=X)


def a_feature_that_is_not_observed(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))
    numpyro.sample("weight", dist.Normal(theta[jnp.asarray(y), 0], 1.0))


def a_latent_of_each_row(X, y):
    theta, shift = table("theta", BETA), numpyro.sample("shift", dist.Beta(2.0, 3.0).expand([len(X)]).to_event(1))
    rows(X, y, lambda y: dist.Bernoulli(theta[y] * shift[:, None]))


def program_of_rows(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


fixed = numpyro.handlers.substitute(program_of_rows, data={"pi": PI / PI.sum()})


@pytest.mark.parametrize(
    ("program", "X", "y", "sentence"),
    [
        (logit_of_a_class, FLAGS, Y, "the prior of 'p', a parameter of site 'y', is not conjugate: give two classes a"),
        pytest.param(
            a_latent_of_each_row,
            FLAGS,
            Y,
            "site .x. has different parameters .* on a latent of each row such as 'shift'",
            marks=pytest.mark.slow,
        ),
        (one_class, FLAGS, 0 * Y, "site 'y', the label, has one class: give its probabilities two"),
        (a_feature_that_is_not_observed, FLAGS, Y, "site 'weight' has a value for each row, depends on the label and"),
        pytest.param(fixed, FLAGS, Y, "site 'pi' has a fixed value, as by handlers.substitute", marks=pytest.mark.slow),
        (program_of_rows, FLAGS[:0], Y[:0], "the example data have no rows: give at least two"),
    ],
    ids=["a logit", "a latent of each row", "one class", "not observed", "substituted", "no rows"],
)
def test_sentences(program, X, y, sentence):
    with pytest.raises(nb.NotNaiveBayes, match=sentence):
        nb.from_numpyro(program, (X, y), label="y")


# subsamples inside a program are refused by name


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
