"""Spellings of one model each: Poisson, Binomial and Multinomial features."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions.transforms import AffineTransform, PowerTransform

import bayesnb as nb
from tests.recognition.case import COUNTS, PI, TOTALS, TRIALS, K, accept
from tests.recognition.programs.parts import by_class, rows, table

POSITIVE, ABOVE_1 = dist.constraints.positive, dist.constraints.greater_than(1.0)
SHAPE, RATE = np.array([2.0, 3.0, 1.5]), 0.5
POISSON = nb.NaiveBayes(nb.Poisson(SHAPE, RATE), class_concentration=PI, num_classes=K)


def poisson(name, rate):
    return accept(POISSON, lambda v: {"class_probs": v["pi"], "x_rate": rate(v[name])}, COUNTS)


@poisson("rate", lambda v: v)
def poisson_gamma_in_another_unit(X, y):
    rate = table(
        "rate", dist.TransformedDistribution(dist.Gamma(SHAPE, 5.0), AffineTransform(0.0, 5.0 / RATE, POSITIVE))
    )
    rows(X, y, lambda y: dist.Poisson(jnp.take(rate, y, axis=0)))


EXPONENTIAL = nb.NaiveBayes(nb.Poisson(1.0, RATE), class_concentration=PI, num_classes=K)


@accept(EXPONENTIAL, lambda v: {"class_probs": v["pi"], "x_rate": v["rate"]}, COUNTS)
def poisson_exponential(X, y):
    rate = table("rate", dist.Exponential(RATE))
    rows(X, y, lambda y: dist.Poisson(rate[y]))


@accept(
    nb.NaiveBayes(nb.Poisson(1.5, 0.5), class_concentration=PI, num_classes=K),
    lambda v: {"class_probs": v["pi"], "x_rate": v["rate"]},
    COUNTS,
)
def poisson_chi2(X, y):
    rate = table("rate", dist.Chi2(3.0))
    rows(X, y, lambda y: dist.Poisson(rate[y]))


A, B = np.array([2.0, 1.5, 3.0]), 2.5
BINOMIAL = nb.NaiveBayes(nb.Binomial(TRIALS, A, B), class_concentration=PI, num_classes=K)
UNEVEN = nb.NaiveBayes(nb.Binomial(None, A, B), class_concentration=PI, num_classes=K)


def binomial(name, probs):
    return accept(BINOMIAL, lambda v: {"class_probs": v["pi"], "x_probs": probs(v[name])}, COUNTS)


@binomial("odds", lambda v: v / (1.0 + v))
def binomial_odds(X, y):
    prior = dist.TransformedDistribution(dist.Beta(B, A), [PowerTransform(-1.0), AffineTransform(-1.0, 1.0, ABOVE_1)])
    odds = table("odds", prior)
    rows(X, y, lambda y: dist.Binomial(TRIALS, logits=jnp.log(odds[y])))


@accept(
    UNEVEN,
    lambda v: {"class_probs": v["pi"], "x_probs": v["theta"]},
    (COUNTS, TOTALS),
    call=lambda X, y: (binomial_of_totals_that_vary, (*X, y), {}),
)
def binomial_of_totals_that_vary(successes, totals, y):
    theta = table("theta", dist.Beta(A, B))
    rows(successes, y, lambda y: dist.Binomial(totals, theta[y]))


CONCENTRATION = np.array([1.5, 2.0, 0.5])
MULTINOMIAL = nb.NaiveBayes(nb.Multinomial(CONCENTRATION), class_concentration=PI, num_classes=K)
WORDS = dist.Dirichlet(CONCENTRATION)


def multinomial(name, probs):
    return accept(MULTINOMIAL, lambda v: {"class_probs": v["pi"], "x_probs": probs(v[name])}, COUNTS)


@accept(
    MULTINOMIAL,
    lambda v: {"class_probs": v["pi"], "x_probs": v["theta"]},
    COUNTS,
    call=lambda X, y: (multinomial_of_given_lengths, (X, y), {"lengths": X.sum(axis=-1)}),
)
def multinomial_of_given_lengths(X, y, lengths=None):
    theta = by_class("theta", WORDS)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    numpyro.sample("x", dist.Multinomial(lengths, theta[y]), obs=X)


RARE = np.array([1, 0, 2])


@accept(
    nb.NaiveBayes(nb.Multinomial(CONCENTRATION[RARE]), class_concentration=PI, num_classes=K),
    lambda v: {"class_probs": v["pi"], "x_probs": v["theta"][:, RARE]},
    COUNTS,
)
def multinomial_words_in_another_order(X, y):
    theta = by_class("theta", WORDS)[:, RARE]
    rows(X, y, lambda y: dist.Multinomial(X.sum(axis=-1), theta[y]), event=0)
