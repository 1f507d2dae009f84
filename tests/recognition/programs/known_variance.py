"""Spellings of one model: Normal features of known variance, with a Normal prior on their means."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import bayesnb as nb
from tests.recognition.case import COUNTS, PI, REALS, D, K, accept
from tests.recognition.programs.parts import rows, table

LOC, SCALE, VARIANCE = np.array([0.5, 2.0, -1.0]), 1.5, np.array([1.0, 4.0, 2.0])
OF_CLASSES = np.array([[1.0, 4.0, 2.0], [0.5, 1.0, 8.0]])
MEAN = dist.Normal(LOC, SCALE)


def known(variance, mean=lambda v: v["mu"], **options):
    """The program's mean is this function of its sites."""
    model = nb.NaiveBayes(nb.NormalKnownVariance(variance, LOC, SCALE), class_concentration=PI, num_classes=K)
    return accept(model, lambda v: {"class_probs": v["pi"], "x_loc": mean(v)}, REALS, **options)


@known(VARIANCE)
def a_scale_a_column(X, y):
    mu = table("mu", MEAN)
    rows(X, y, lambda y: dist.Normal(mu[y], np.sqrt(VARIANCE)))


@known(2.0)
def one_variance(X, y):
    mu = table("mu", MEAN)
    rows(X, y, lambda y: dist.Normal(mu[y], 2.0**0.5))


@known(VARIANCE, call=lambda X, y: (a_precision_as_an_argument, (X, y), {"precision": 1.0 / VARIANCE}))
def a_precision_as_an_argument(X, y, precision):
    mu = table("mu", MEAN)
    rows(X, y, lambda y: dist.Normal(mu[y], precision**-0.5))


@known(OF_CLASSES)
def a_scale_a_class_and_column(X, y):
    mu = table("mu", MEAN)
    rows(X, y, lambda y: dist.Normal(jax.nn.one_hot(y, K) @ mu, jnp.sqrt(OF_CLASSES)[y]))


@known(VARIANCE)
def a_known_diagonal_covariance(X, y):
    mu = table("mu", MEAN)
    rows(X, y, lambda y: dist.MultivariateNormal(mu[y], np.diag(VARIANCE)), event=0)


@known(VARIANCE)
def a_row_of_known_scales(X, y):
    mu = numpyro.sample("mu", MEAN.expand([K, D]).to_event(2))
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.broadcast_to(np.sqrt(VARIANCE), (len(y), D))))


@accept(
    nb.NaiveBayes(nb.NormalKnownVariance(VARIANCE, LOC, dist.HalfNormal(2.0)), class_concentration=PI, num_classes=K),
    lambda v: {"class_probs": v["pi"], "x_loc": v["mu"], "x_prior_scale": v["tau"]},
    REALS,
)
def a_scale_of_the_means_with_a_hyperprior(X, y):
    tau = numpyro.sample("tau", dist.HalfNormal(2.0))
    mu = table("mu", dist.Normal(LOC, tau))
    rows(X, y, lambda y: dist.Normal(mu[y], np.sqrt(VARIANCE)))


TWO = {
    "height": nb.NormalKnownVariance(VARIANCE, LOC, SCALE),
    "visits": nb.Poisson(2.0, 0.5),
}


@accept(
    nb.NaiveBayes(TWO, class_concentration=PI, num_classes=K),
    lambda v: {"class_probs": v["pi"], "height_loc": v["mu"], "visits_rate": v["rate"]},
    {"height": REALS, "visits": COUNTS},
    call=lambda X, y: (beside_counts, (X["height"], X["visits"], y), {}),
)
def beside_counts(height, visits, y):
    mu, rate = table("mu", MEAN), table("rate", dist.Gamma(2.0, 0.5))
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("height", dist.Normal(mu[y], np.sqrt(VARIANCE)).to_event(1), obs=height)
        numpyro.sample("visits", dist.Poisson(rate[y]).to_event(1), obs=visits)
