"""Programs that are not naive Bayes: features, labels or latents depend on what they must not."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from tests.recognition.case import COUNTS, FLAGS, PI, REALS, D, K, N, Y, refuse
from tests.recognition.programs.parts import by_column, rows, table

BETA = dist.Beta(2.0, 2.5)
TIME = np.linspace(0.5, 2.0, N)


def labels(y):
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        return numpyro.sample("y", dist.Categorical(pi), obs=y)


@refuse("x2", r"'x1'", FLAGS)
def a_feature_that_looks_at_another(X, y):
    theta = numpyro.sample("theta", BETA.expand([K]).to_event(1))
    phi = numpyro.sample("phi", BETA.expand([K, 2]).to_event(2))
    y = labels(y)
    with numpyro.plate("rows", len(y)):
        x1 = numpyro.sample("x1", dist.Bernoulli(theta[y]), obs=X[:, 0])
        numpyro.sample("x2", dist.Bernoulli(phi[y, x1.astype(int)]), obs=X[:, 1])


@refuse("x2", r"'x1'", REALS)
def a_regression_on_a_feature(X, y):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0).expand([2, K]).to_event(2))
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    y = labels(y)
    with numpyro.plate("rows", len(y)):
        x1 = numpyro.sample("x1", dist.Normal(mu[0, y], 1.0), obs=X[:, 0])
        numpyro.sample("x2", dist.Normal(mu[1, y] + slope * x1, 1.0), obs=X[:, 1])


@refuse("x", r"row|previous|depend|itself|differ", REALS)
def rows_that_look_at_the_row_before(X, y):
    mu = table("mu", dist.Normal(0.0, 1.0))
    before = jnp.concatenate([jnp.zeros((1, D)), jnp.asarray(X)[:-1]])
    rows(X, y, lambda y: dist.Normal(mu[y] + 0.5 * before, 1.0))


@refuse("x", r"row|depend|differ", REALS)
def a_regression_on_a_covariate(X, y):
    mu, slope = table("mu", dist.Normal(0.0, 1.0)), by_column("slope", dist.Normal(0.0, 1.0))
    rows(X, y, lambda y: dist.Normal(mu[y] + slope * TIME[: len(y), None], 1.0))


@refuse("x", r"row|depend|differ", COUNTS)
def exposure_of_each_row(X, y):
    rate = table("rate", dist.Gamma(2.0, 0.5))
    rows(X, y, lambda y: dist.Poisson(rate[y] * TIME[: len(y), None]))


@refuse("x", r"row|label|class|depend", FLAGS)
def the_label_of_another_row(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y[::-1]]))


@refuse("y", r"depend|parent|'x'", FLAGS)
def a_label_with_a_parent(X, y):
    theta = by_column("theta", BETA)
    weights = by_column("weights", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y)):
        x = numpyro.sample("x", dist.Bernoulli(theta).to_event(1), obs=X)
        numpyro.sample("y", dist.Bernoulli(logits=x @ weights), obs=y)


@refuse("", r"observed|row|depend|differ|covariate|feature", FLAGS)
def logistic_regression(X, y):
    weights = by_column("weights", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Bernoulli(logits=jnp.asarray(X) @ weights), obs=y)


@refuse("y", r"row|depend|label|differ", FLAGS)
def labels_in_a_chain(X, y):
    theta = table("theta", BETA)
    step = numpyro.sample("step", dist.Dirichlet(jnp.ones((K, K))).to_event(1))
    before = jnp.concatenate([jnp.zeros(1, int), jnp.asarray(y)[:-1]])
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(step[before]), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


@refuse("x", r"'z'|two|label|depend", FLAGS, call=lambda X, y: (two_labels, (X, y, Y[::-1]), {}))
def two_labels(X, y, z):
    theta = numpyro.sample("theta", BETA.expand([K, K, D]).to_event(3))
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        z = numpyro.sample("z", dist.Categorical(jnp.ones(K) / K), obs=z)
        numpyro.sample("x", dist.Bernoulli(theta[y, z]).to_event(1), obs=X)


@refuse("x", r"depend|regress|combin|'(start|slope)'", COUNTS)
def a_regression_on_the_label(X, y):
    start, slope = by_column("start", dist.Normal(0.0, 1.0)), by_column("slope", dist.Normal(0.0, 1.0))
    rows(X, y, lambda y: dist.Poisson(jnp.exp(start + slope * y[:, None])))


@refuse("x", r"[Mm]ixture", REALS)
def a_mixture_inside_a_cell(X, y):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0).expand([K, D, 2]).to_event(3))
    halves = dist.Categorical(jnp.full((len(y), D, 2), 0.5))
    rows(X, y, lambda y: dist.MixtureSameFamily(halves, dist.Normal(mu[y], 1.0)))


@refuse("y", r"no|site|argument", REALS, answer="bad input", call=lambda *rows: (marginalised_labels, rows[:1], {}))
def marginalised_labels(X):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0).expand([K]).to_event(1))
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(X)):
        numpyro.sample("x", dist.MixtureSameFamily(dist.Categorical(pi), dist.Normal(mu, 1.0)), obs=X[:, 0])


@refuse("z", r"row", COUNTS)
def a_latent_of_each_row(X, y):
    rate = table("rate", dist.Gamma(2.0, 0.5))
    with numpyro.plate("rows", len(y)):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
    rows(X, y, lambda y: dist.Poisson(rate[y] * jnp.exp(z[:, None])))


@refuse("theta1", r"'theta0'|class|depend", FLAGS)
def a_prior_that_follows_another_class(X, y):
    theta0 = by_column("theta0", BETA)
    theta1 = by_column("theta1", dist.Beta(5.0 * theta0, 5.0 * (1.0 - theta0)))
    rows(X, y, lambda y: dist.Bernoulli(jnp.stack([theta0, theta1])[y]))


@refuse("mu", r"class|prior|depend|element", COUNTS)
def a_random_walk_over_classes(X, y):
    mu = by_column("mu", dist.GaussianRandomWalk(1.0, num_steps=K))
    rows(X, y, lambda y: dist.Poisson(jnp.exp(mu[:, y].T)))


@refuse("mu", r"class|prior|depend|order|element", COUNTS[:, :1], call=lambda X, y: (ordered_means, (X[:, 0], y), {}))
def ordered_means(X, y):
    base = dist.Normal(0.0, 1.0).expand([K]).to_event(1)
    mu = numpyro.sample("mu", dist.TransformedDistribution(base, dist.transforms.OrderedTransform()))
    y = labels(y)
    with numpyro.plate("rows", len(y)):
        numpyro.sample("x", dist.Poisson(jnp.exp(mu[y])), obs=X)


@refuse("theta", r"depend|label|'y'", FLAGS)
def a_prior_that_counts_the_labels(X, y):
    theta = table("theta", dist.Beta(1.0 + jnp.sum(jnp.asarray(y)), 2.0))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("theta", r"with a row less: .* sum or mean", FLAGS)
def a_prior_that_is_the_mean_of_the_rows(X, y):
    mean = 0.2 + 0.6 * jnp.asarray(X).mean(axis=0)
    theta = table("theta", dist.Beta(4.0 * mean, 4.0 * (1.0 - mean)))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("x", r"with a row less: .* sum or mean", REALS)
def a_variance_that_is_the_mean_of_another_column(X, y):
    mu = table("mu", dist.Normal(0.0, 1.0))
    rows(X, y, lambda y: dist.Normal(mu[y], 1.0 + jnp.abs(jnp.asarray(X)[:, 0].mean())))


@refuse("theta", r"exchanged between rows: .* cells", FLAGS)
def a_prior_that_reads_the_first_row(X, y):
    first = 0.2 + 0.6 * jnp.asarray(X)[0]
    theta = table("theta", dist.Beta(4.0 * first, 4.0 * (1.0 - first)))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("x", r"other density .* such as labels", FLAGS)
def most_labels_decide(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(jnp.where(y.mean() > 0.8, 0.5, theta[y])))


@refuse("x", r"other density .* such as labels", FLAGS)
def a_class_of_one_row(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(jnp.where(jnp.sum(y == 1) == 1, 0.5, theta[y])))


@refuse("x", r"total_count that depends on the label", COUNTS)
def totals_that_follow_the_label(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Binomial(jnp.array([30, 40])[y][:, None], theta[y]))


@refuse("y", r"'theta'|depend|share|both|latent", FLAGS)
def one_latent_for_labels_and_features(X, y):
    theta = by_column("theta", BETA)
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Bernoulli(theta[0]), obs=y)
        numpyro.sample("x", dist.Bernoulli(jnp.stack([theta, theta[::-1]])[y]).to_event(1), obs=X)


@refuse("x", r"factor|loading|combin|depend|latent|'(loading|level)'", REALS)
def a_product_of_latents(X, y):
    loading = by_column("loading", dist.Normal(0.0, 1.0))
    level = numpyro.sample("level", dist.Normal(0.0, 1.0).expand([K]).to_event(1))
    rows(X, y, lambda y: dist.Normal(level[y][:, None] * loading, 1.0))


@refuse("x", r"class|sum|mix|combin|depend|latent|'theta'", FLAGS)
def a_blend_of_two_classes(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(0.7 * theta[y] + 0.3 * theta[1 - y]))
