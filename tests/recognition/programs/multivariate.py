"""Spellings of one model: a multivariate Normal with a normal-inverse-Wishart prior, by class and shared."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import bayesnb as nb
from tests.recognition.case import PI, REALS, D, K, accept
from tests.recognition.programs.parts import by_class, rows

LOC, STRENGTH, DF, SCALE = np.array([0.5, 2.0, -1.0]), 0.5, 5.5, 2.0 * np.eye(D) + 0.5
PRIOR = {"loc": LOC, "strength": STRENGTH, "df": DF, "scale": SCALE}
FULL = nb.NaiveBayes(nb.MultivariateNormal(**PRIOR), class_concentration=PI, num_classes=K)
SHARED = nb.NaiveBayes(nb.MultivariateNormal("shared", **PRIOR), class_concentration=PI, num_classes=K)


def spelled(model, name, covariance, mu=lambda v: v["mu"]):
    return accept(model, lambda v: {"class_probs": v["pi"], "x_loc": mu(v), "x_covariance": covariance(v[name])}, REALS)


def inverse_wishart():
    return dist.InverseWishart(DF, SCALE)


def mean(covariance):
    return dist.MultivariateNormal(LOC, covariance / STRENGTH)


def mean_given(precision):
    return dist.MultivariateNormal(LOC, precision_matrix=STRENGTH * precision)


def observe(X, y, law):
    rows(X, y, law, event=0)


@spelled(FULL, "precision", jnp.linalg.inv)
def full_covariance_from_a_precision(X, y):
    precision = by_class("precision", dist.Wishart(DF, scale_matrix=np.linalg.inv(SCALE)))
    covariance = jnp.linalg.inv(precision)
    mu = by_class("mu", mean(covariance))
    observe(X, y, lambda y: dist.MultivariateNormal(jnp.take(mu, y, axis=0), jnp.take(covariance, y, axis=0)))


@spelled(SHARED, "covariance", lambda v: v)
def shared_covariance(X, y):
    covariance = numpyro.sample("covariance", inverse_wishart())
    mu = by_class("mu", mean(covariance))
    observe(X, y, lambda y: dist.MultivariateNormal(mu[y], covariance))


@spelled(SHARED, "covariance", lambda v: v)
def shared_root(X, y):
    covariance = numpyro.sample("covariance", inverse_wishart())
    root = jnp.linalg.cholesky(covariance)
    mu = by_class("mu", dist.MultivariateNormal(LOC, scale_tril=root / np.sqrt(STRENGTH)))
    observe(X, y, lambda y: dist.MultivariateNormal(mu[y], scale_tril=root))


@spelled(SHARED, "precision", jnp.linalg.inv)
def shared_wishart_on_a_precision(X, y):
    precision = numpyro.sample("precision", dist.Wishart(DF, rate_matrix=SCALE))
    mu = by_class("mu", mean_given(precision))
    observe(X, y, lambda y: dist.MultivariateNormal(mu[y], precision_matrix=precision))


@spelled(SHARED, "covariance", lambda v: v)
def shared_covariance_of_every_class(X, y):
    covariance = numpyro.sample("covariance", inverse_wishart())
    mu = by_class("mu", mean(covariance))
    observe(X, y, lambda y: dist.MultivariateNormal(mu[y], jnp.broadcast_to(covariance, (K, D, D))[y]))


@spelled(SHARED, "covariance", lambda v: v, lambda v: jnp.stack([v["mu0"], v["mu1"]]))
def shared_where(X, y):
    covariance = numpyro.sample("covariance", inverse_wishart())
    first, second = (numpyro.sample(f"mu{k}", mean(covariance)) for k in range(K))
    observe(X, y, lambda y: dist.MultivariateNormal(jnp.where(y[:, None] == 1, second, first), covariance))
