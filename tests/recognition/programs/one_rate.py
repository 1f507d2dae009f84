"""Likelihoods of one unknown rate, scale or probability that no family has by name, with a conjugate prior."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import bayesnb as nb
from tests.recognition.case import COUNTS, PI, REALS, K, accept
from tests.recognition.programs.parts import rows, table

WAITS = np.exp(0.3 * REALS)
A, B = 2.0, np.array([1.0, 3.0, 0.5])
GAMMA, INVERSE_GAMMA = dist.Gamma(A, B), dist.InverseGamma(A, B)


def rate(law, canonical, X, **known):
    """The model of this likelihood with the prior Gamma(A, B), or Beta."""
    model = nb.NaiveBayes(nb.OneRate(law, a=A, b=B, **known), class_concentration=PI, num_classes=K)
    return accept(model, lambda v: {"class_probs": v["pi"], **canonical(v)}, X)


@rate(dist.Exponential, lambda v: {"x_rate": v["rate"]}, WAITS)
def exponential(X, y):
    rate = table("rate", GAMMA)
    rows(X, y, lambda y: dist.Exponential(rate[y]))


@rate(dist.Exponential, lambda v: {"x_rate": 1.0 / v["wait"]}, WAITS)
def exponential_by_its_mean(X, y):
    wait = table("wait", INVERSE_GAMMA)
    rows(X, y, lambda y: dist.Exponential(1.0 / wait[y]))


@rate(dist.Gamma, lambda v: {"x_rate": v["rate"]}, WAITS, concentration=2.5)
def gamma_of_known_shape(X, y):
    rate = table("rate", GAMMA)
    rows(X, y, lambda y: dist.Gamma(2.5, rate[y]))


@rate(dist.Weibull, lambda v: {"x_scale": jnp.sqrt(v["size"])}, WAITS, concentration=2.0)
def weibull_of_known_shape(X, y):
    size = table("size", INVERSE_GAMMA)
    rows(X, y, lambda y: dist.Weibull(jnp.sqrt(size[y]), 2.0))


@rate(dist.HalfNormal, lambda v: {"x_scale": v["precision"] ** -0.5}, WAITS)
def half_normal_by_its_precision(X, y):
    precision = table("precision", GAMMA)
    rows(X, y, lambda y: dist.HalfNormal(precision[y] ** -0.5))


@rate(dist.Laplace, lambda v: {"x_scale": v["scale"]}, REALS, loc=1.0)
def laplace_of_known_location(X, y):
    scale = table("scale", INVERSE_GAMMA)
    rows(X, y, lambda y: dist.Laplace(1.0, scale[y]))


@rate(dist.Pareto, lambda v: {"x_alpha": v["alpha"]}, WAITS + 0.5, scale=0.5)
def pareto_of_known_scale(X, y):
    alpha = table("alpha", GAMMA)
    rows(X, y, lambda y: dist.Pareto(0.5, alpha[y]))


@rate(dist.GeometricProbs, lambda v: {"x_probs": v["theta"]}, COUNTS)
def geometric(X, y):
    theta = table("theta", dist.Beta(A, B))
    rows(X, y, lambda y: dist.Geometric(theta[y]))


@rate(dist.NegativeBinomialProbs, lambda v: {"x_probs": 1.0 - v["stop"]}, COUNTS, total_count=3.0)
def negative_binomial_of_known_total(X, y):
    stop = table("stop", dist.Beta(B, A))
    rows(X, y, lambda y: dist.NegativeBinomialProbs(3.0, 1.0 - stop[y]))
