"""Programs in which columns share their parameters: such columns are one feature."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import bayesnb as nb
from bayesnb.families import TiedBernoulli, TiedCategorical, TiedNormal, TiedPoisson
from tests.recognition.case import CODES, COUNTS, FLAGS, PI, REALS, C, D, K, accept, refuse
from tests.recognition.programs.parts import by_class, by_column, rows, table

ALL, PAIR = (0, 0, 0), (0, 1, 0)
GROUP = np.array(PAIR)


def tied(family, X, priors=None, answer="conjugate", **canonical):
    """The model of this family, whose sites are these functions of the program's."""
    model = nb.NaiveBayes(family, class_concentration=PI, num_classes=K, priors=priors)
    sites = lambda v: {"class_probs": v["pi"], **{f"x_{name}": of(v) for name, of in canonical.items()}}  # noqa: E731
    return accept(model, sites, X, answer=answer, sites=("theta",) if priors else ())


@tied(TiedBernoulli(2.0, 3.0, columns=ALL), FLAGS, probs=lambda v: v["theta"][:, None])
def one_probability_for_all_columns(X, y):
    theta = by_class("theta", dist.Beta(2.0, 3.0))
    rows(X, y, lambda y: dist.Bernoulli(jnp.broadcast_to(theta[y][:, None], (len(y), D))))


@tied(TiedBernoulli(2.0, 3.0, columns=PAIR), FLAGS, probs=lambda v: v["theta"].T)
def by_an_index_with_the_class_axis_last(X, y):
    with numpyro.plate("groups", 2, dim=-2), numpyro.plate("classes", K, dim=-1):
        theta = numpyro.sample("theta", dist.Beta(2.0, 3.0))
    rows(X, y, lambda y: dist.Bernoulli(theta[GROUP][:, y].T))


@tied(TiedBernoulli(2.0, 3.0, columns=ALL), FLAGS, probs=lambda v: jnp.stack([v["first"], v["second"]])[:, None])
def a_site_a_class_in_expand(X, y):
    first, second = (numpyro.sample(name, dist.Beta(2.0, 3.0)) for name in ("first", "second"))
    rows(X, y, lambda y: dist.Bernoulli(jnp.where(y == 1, second, first)[:, None]).expand([len(y), D]))


@tied(TiedCategorical(C, [1.0, 2.0, 3.0, 0.5], columns=ALL), CODES, probs=lambda v: v["theta"][:, None])
def one_table_of_answers(X, y):
    theta = by_class("theta", dist.Dirichlet(jnp.array([1.0, 2.0, 3.0, 0.5])))
    rows(X, y, lambda y: dist.Categorical(theta[y][:, None]).expand([len(y), D]))


@tied(TiedPoisson(2.0, 0.5, columns=PAIR), COUNTS, rate=lambda v: jnp.stack([v["often"], v["seldom"]], axis=1))
def a_loop_over_columns(X, y):
    rate = {name: by_class(name, dist.Gamma(2.0, 0.5)) for name in ("often", "seldom")}
    names = ["often", "seldom", "often"]
    rows(X, y, lambda y: dist.Poisson(jnp.stack([rate[name][y] for name in names], axis=1)))


@tied(
    TiedNormal(0.5, 2.0, 3.0, 4.0, columns=PAIR),
    REALS,
    loc=lambda v: v["mu"],
    variance=lambda v: v["variance"],
)
def a_mean_and_variance_a_group(X, y):
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("groups", 2, dim=-1):
        variance = numpyro.sample("variance", dist.InverseGamma(3.0, 4.0))
        mu = numpyro.sample("mu", dist.Normal(0.5, jnp.sqrt(variance / 2.0)))
    rows(X, y, lambda y: dist.Normal(mu[y][:, GROUP], jnp.sqrt(variance)[y][:, GROUP]))


LOG_NORMAL = dist.LogNormal(0.0, 0.5)


@tied(TiedPoisson(columns=ALL), COUNTS, {"x_rate": LOG_NORMAL}, "own priors", rate=lambda v: v["theta"][:, None])
def a_lognormal_rate_for_all_columns(X, y):
    theta = by_class("theta", LOG_NORMAL)
    rows(X, y, lambda y: dist.Poisson(theta[y][:, None] * np.ones(D)))


@refuse("x", "its columns share their variance, but not their loc", REALS)
def a_variance_without_the_mean(X, y):
    variance = by_class("variance", dist.InverseGamma(3.0, 4.0))
    mu = table("mu", dist.Normal(0.0, 2.0))
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance)[y][:, None]))


@refuse("x", "columns that share their parameters are recognised of .*, not of Binomial", COUNTS)
def a_probability_of_trials(X, y):
    theta = by_class("theta", dist.Beta(2.0, 3.0))
    rows(X, y, lambda y: dist.Binomial(15, jnp.broadcast_to(theta[y][:, None], (len(y), D))))


@refuse("theta", "one element is a parameter of several classes or columns", FLAGS)
def one_probability_for_all_classes(X, y):
    theta = by_column("theta", dist.Beta(2.0, 3.0))
    rows(X, y, lambda y: dist.Bernoulli(jnp.broadcast_to(theta, (K, D))[y]))
