"""Programs in which columns share their parameters."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from tests.recognition.case import CODES, COUNTS, FLAGS, REALS, D, K, refuse
from tests.recognition.programs.parts import by_class, by_column, rows, table

GROUP = np.array((0, 1, 0))
SEVERAL = "one (element|draw, a vector or matrix,) is used for several classes or columns"


@refuse("theta", SEVERAL, FLAGS)
def one_probability_for_all_columns(X, y):
    theta = by_class("theta", dist.Beta(2.0, 3.0))
    rows(X, y, lambda y: dist.Bernoulli(jnp.broadcast_to(theta[y][:, None], (len(y), D))))


@refuse("theta", SEVERAL, FLAGS)
def by_an_index_with_the_class_axis_last(X, y):
    with numpyro.plate("groups", 2, dim=-2), numpyro.plate("classes", K, dim=-1):
        theta = numpyro.sample("theta", dist.Beta(2.0, 3.0))
    rows(X, y, lambda y: dist.Bernoulli(theta[GROUP][:, y].T))


@refuse("first", SEVERAL, FLAGS)
def a_site_a_class_in_expand(X, y):
    first, second = (numpyro.sample(name, dist.Beta(2.0, 3.0)) for name in ("first", "second"))
    rows(X, y, lambda y: dist.Bernoulli(jnp.where(y == 1, second, first)[:, None]).expand([len(y), D]))


@refuse("theta", SEVERAL, CODES)
def one_table_of_answers(X, y):
    theta = by_class("theta", dist.Dirichlet(jnp.array([1.0, 2.0, 3.0, 0.5])))
    rows(X, y, lambda y: dist.Categorical(theta[y][:, None]).expand([len(y), D]))


@refuse("often", SEVERAL, COUNTS)
def a_loop_over_columns(X, y):
    rate = {name: by_class(name, dist.Gamma(2.0, 0.5)) for name in ("often", "seldom")}
    names = ["often", "seldom", "often"]
    rows(X, y, lambda y: dist.Poisson(jnp.stack([rate[name][y] for name in names], axis=1)))


@refuse("mu", SEVERAL, REALS)
def a_mean_and_variance_a_group(X, y):
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("groups", 2, dim=-1):
        variance = numpyro.sample("variance", dist.InverseGamma(3.0, 4.0))
        mu = numpyro.sample("mu", dist.Normal(0.5, jnp.sqrt(variance / 2.0)))
    rows(X, y, lambda y: dist.Normal(mu[y][:, GROUP], jnp.sqrt(variance)[y][:, GROUP]))


LOG_NORMAL = dist.LogNormal(0.0, 0.5)


@refuse("theta", SEVERAL, COUNTS)
def a_lognormal_rate_for_all_columns(X, y):
    theta = by_class("theta", LOG_NORMAL)
    rows(X, y, lambda y: dist.Poisson(theta[y][:, None] * np.ones(D)))


@refuse("variance", SEVERAL, REALS)
def a_variance_without_the_mean(X, y):
    variance = by_class("variance", dist.InverseGamma(3.0, 4.0))
    mu = table("mu", dist.Normal(0.0, 2.0))
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance)[y][:, None]))


@refuse("theta", SEVERAL, COUNTS)
def a_probability_of_trials(X, y):
    theta = by_class("theta", dist.Beta(2.0, 3.0))
    rows(X, y, lambda y: dist.Binomial(15, jnp.broadcast_to(theta[y][:, None], (len(y), D))))


@refuse("theta", SEVERAL, FLAGS)
def one_probability_for_all_classes(X, y):
    theta = by_column("theta", dist.Beta(2.0, 3.0))
    rows(X, y, lambda y: dist.Bernoulli(jnp.broadcast_to(theta, (K, D))[y]))
