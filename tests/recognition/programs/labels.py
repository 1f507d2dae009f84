"""Spellings of the label and of the call: how classes are drawn, and how rows and labels reach the program."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.contrib.funsor import config_enumerate

import bayesnb as nb
from tests.recognition.case import COUNTS, FLAGS, PI, TRIALS, Y3, D, K, N, Y, accept
from tests.recognition.programs.parts import rows, table

A, B = np.array([2.0, 1.5, 3.0]), 2.5
MODEL = nb.NaiveBayes(nb.Bernoulli(A, B), class_concentration=PI, num_classes=K)
FIXED = nb.NaiveBayes(nb.Bernoulli(A, B), class_probs=[0.25, 0.75])

OURS = nb.NaiveBayes(nb.Bernoulli(A, B), num_classes=K)


def canonical(v):
    return {"class_probs": v["pi"], "x_probs": v["theta"]}


def given(model, **settings):
    """A program without class probabilities of its own."""
    return accept(model, lambda v: {"x_probs": v["theta"]}, FLAGS, **settings)


def words():
    return table("theta", dist.Beta(A, B))


def features(X, theta, y):
    with numpyro.plate("rows", len(y)):
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


def plain(X, y):
    theta = words()
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


TWO = nb.NaiveBayes(nb.Bernoulli(A, B), class_concentration=[2.0, 5.0])


@accept(TWO, lambda v: {"class_probs": jnp.stack([1 - v["rho"], v["rho"]]), "x_probs": v["theta"]}, FLAGS)
def bernoulli_label(X, y):
    theta = words()
    rho = numpyro.sample("rho", dist.Beta(5.0, 2.0))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Bernoulli(rho), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


@given(FIXED)
def fixed_bernoulli_label(X, y):
    theta = words()
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Bernoulli(0.75), obs=y)
    features(X, theta, y)


@given(FIXED)
def fixed_class_probabilities(X, y):
    theta = words()
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(jnp.array([0.25, 0.75])), obs=y)
    features(X, theta, y)


@given(OURS, label="label", call=lambda X, y: (label_is_an_argument, (X,), {"label": y}))
def label_is_an_argument(X, label):
    features(X, words(), label)


@given(OURS, label="label", call=lambda X, y: (label_is_a_position, (y, X), {}))
def label_is_a_position(label, X):
    theta = words()
    with numpyro.plate("rows", len(label)):
        numpyro.sample("x", dist.Bernoulli(jnp.where(label[:, None] == 0, theta[0], theta[1])).to_event(1), obs=X)


@accept(MODEL, canonical, FLAGS)
def logits_of_classes(X, y):
    theta = words()
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(logits=jnp.log(pi)), obs=y)
    features(X, theta, y)


@accept(MODEL, canonical, FLAGS, call=lambda X, y: (labels_in_a_column, (X, np.reshape(y, (N, 1))), {}))
def labels_in_a_column(X, y):
    theta = words()
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y), dim=-2):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        with numpyro.plate("words", D, dim=-1):
            numpyro.sample("x", dist.Bernoulli(theta[y[:, 0]]), obs=X)


@accept(MODEL, canonical, FLAGS, call=lambda X, y: (default_arguments, (), {"y": y, "X": X}))
def default_arguments(X=None, y=None):
    plain(X, y)


@accept(MODEL, canonical, FLAGS, call=lambda X, y: (small_labels, (X, np.asarray(y, np.uint8)), {}))
def small_labels(X, y):
    plain(X, y)


@accept(MODEL, canonical, FLAGS)
def the_argument_instead_of_the_site(X, y):
    theta = words()
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        numpyro.sample("y", dist.Categorical(pi), obs=y)
    features(X, theta, y)


@accept(MODEL, canonical, FLAGS, call=lambda X, y: (config_enumerate(enumerated), (X, y), {}))
def enumerated(X, y):
    plain(X, y)


@accept(MODEL, canonical, FLAGS, call=lambda X, y: (handlers.condition(conditioned, {"y": y, "x": X}), (), {}))
def conditioned():
    plain(None, None)


@accept(MODEL, canonical, FLAGS, call=lambda X, y: (handlers.substitute(substituted, {"y": y}), (X,), {}))
def substituted(X):
    plain(X, None)


@accept(MODEL, canonical, FLAGS)
def deterministic_in_between(X, y):
    theta = numpyro.deterministic("words", words())
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        probs = numpyro.deterministic("probs", theta[y])
        numpyro.sample("x", dist.Bernoulli(probs).to_event(1), obs=X)


@accept(MODEL, canonical, FLAGS, call=lambda X, y: (partial(held, flags=X, y=y), (), {}))
def held(flags, y):
    plain(flags, y)


class Spam:
    """A model in a class, as people write them."""

    def __init__(self, prior):
        self.prior = prior

    def model(self, X, y=None):
        theta = table("theta", self.prior)
        rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@accept(MODEL, canonical, FLAGS, call=lambda X, y: (Spam(dist.Beta(A, B)).model, (X, y), {}))
def bound_method(X, y): ...


THREE = nb.NaiveBayes(nb.Bernoulli(A, B), class_concentration=2.0, num_classes=3)
GAPS = np.where(Y3 == 1, 2, Y3)


@accept(THREE, canonical, FLAGS, GAPS)
def labels_that_lack_a_class(X, y):
    theta = numpyro.sample("theta", dist.Beta(A, B).expand([3, D]).to_event(2))
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.full(3, 2.0)))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    features(X, theta, y)


HIERARCHICAL = nb.NaiveBayes(nb.Bernoulli(dist.Gamma(2.0, 1.0), B), class_concentration=PI, num_classes=K)


@accept(HIERARCHICAL, lambda v: {**canonical(v), "x_prior_a": v["a"]}, FLAGS)
def hyperprior(X, y):
    a = numpyro.sample("a", dist.Gamma(2.0, 1.0))
    theta = table("theta", dist.Beta(a, B))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


CONCENTRATION = nb.NaiveBayes(nb.Bernoulli(A, B), class_concentration=dist.Exponential(1.0), num_classes=K)


@accept(CONCENTRATION, lambda v: {**canonical(v), "class_concentration": v["c"]}, FLAGS)
def hyperprior_on_classes(X, y):
    theta = words()
    c = numpyro.sample("c", dist.Exponential(1.0))
    pi = numpyro.sample("pi", dist.Dirichlet(c * jnp.ones(K)))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    features(X, theta, y)


COLLAPSED = nb.NaiveBayes(nb.Binomial(TRIALS, dist.Gamma(1.0, 1.0), 2.0), class_probs=[1.0])


@accept(
    COLLAPSED,
    lambda v: {"x_probs": v["probs"][:, None], "x_prior_a": v["c"]},
    COUNTS[:, :1],
    np.zeros_like(Y),
    call=lambda X, y: (beta_binomial_in_a_plate, (X[:, 0], y), {}),
)
def beta_binomial_in_a_plate(X, y):
    """NumPyro's ``collapse`` expects to fail on this one; here it has a label of one class."""
    c = numpyro.sample("c", dist.Gamma(1.0, 1.0))
    probs = by_class_of_one(dist.Beta(c, 2.0))
    with numpyro.plate("plate", len(y)):
        y = numpyro.sample("y", dist.Categorical(jnp.ones(1)), obs=y)
        numpyro.sample("x", dist.Binomial(TRIALS, probs[y]), obs=X)


def by_class_of_one(law):
    with numpyro.plate("classes", 1):
        return numpyro.sample("probs", law)
