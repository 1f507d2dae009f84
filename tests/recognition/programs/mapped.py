"""Likelihoods of logarithms and logits, as NumPyro has them: LogNormal, or a transformed distribution."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions.transforms import ExpTransform, SigmoidTransform

import bayesnb as nb
from tests.recognition.case import PI, REALS, K, accept
from tests.recognition.programs.parts import by_column, rows, table

SIZES, SHARES = np.exp(0.3 * REALS), 1.0 / (1.0 + np.exp(-REALS))
LOC = np.array([0.5, 2.0, -1.0])
NIG = {"loc": LOC, "strength": 0.5, "shape": 2.5, "rate": 3.0}


def mapped(family, canonical, X):
    model = nb.NaiveBayes(family, class_concentration=PI, num_classes=K)
    return accept(model, lambda v: {"class_probs": v["pi"], **canonical(v)}, X)


def own(v):
    return {"x_loc": v["mu"], "x_variance": v["variance"]}


def loc(variance):
    return table("mu", dist.Normal(LOC, jnp.sqrt(variance / 0.5)))


@mapped(nb.LogNormal(**NIG), own, SIZES)
def log_normal(X, y):
    variance = table("variance", dist.InverseGamma(2.5, 3.0))
    mu = loc(variance)
    rows(X, y, lambda y: dist.LogNormal(mu[y], jnp.sqrt(variance[y])))


@mapped(nb.LogNormal(**NIG), lambda v: {"x_loc": v["mu"], "x_variance": 1.0 / v["precision"]}, SIZES)
def log_normal_by_its_precision(X, y):
    precision = table("precision", dist.Gamma(2.5, 3.0))
    mu = loc(1.0 / precision)
    rows(X, y, lambda y: dist.TransformedDistribution(dist.Normal(mu[y], precision[y] ** -0.5), ExpTransform()))


@mapped(nb.LogNormal(**NIG, variance="shared"), own, SIZES)
def log_normal_of_one_variance(X, y):
    variance = by_column("variance", dist.InverseGamma(2.5, 3.0))
    mu = loc(variance)
    rows(X, y, lambda y: dist.LogNormal(mu[y], jnp.sqrt(variance)))


@mapped(nb.LogitNormal(**NIG), own, SHARES)
def logit_normal(X, y):
    variance = table("variance", dist.InverseGamma(2.5, 3.0))
    mu = loc(variance)
    rows(X, y, lambda y: dist.TransformedDistribution(dist.Normal(mu[y], jnp.sqrt(variance[y])), SigmoidTransform()))


KNOWN = nb.Transformed(nb.NormalKnownVariance(4.0, LOC, 1.5), "log")


@mapped(KNOWN, lambda v: {"x_loc": v["mu"]}, SIZES)
def log_normal_of_known_variance(X, y):
    mu = table("mu", dist.Normal(LOC, 1.5))
    rows(X, y, lambda y: dist.LogNormal(mu[y], 2.0))


STUDENT = nb.Likelihood(dist.StudentT, df=4.0, loc=dist.Normal(LOC, 2.0), scale=1.0)


@mapped(nb.Transformed(STUDENT, "log"), lambda v: {"x_loc": v["mu"]}, SIZES)
def logs_with_tails(X, y):
    mu = table("mu", dist.Normal(LOC, 2.0))
    rows(X, y, lambda y: dist.TransformedDistribution(dist.StudentT(4.0, mu[y], 1.0), [ExpTransform()]))
