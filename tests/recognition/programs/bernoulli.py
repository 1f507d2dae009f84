"""Spellings of one model: Bernoulli features, theta_kd ~ Beta(a_d, b)."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.ops.indexing import Vindex

import bayesnb as nb
from tests.recognition.case import FLAGS, PI, Y3, D, K, accept
from tests.recognition.programs.parts import by_class, rows, table

A, B = np.array([2.0, 1.5, 3.0]), 2.5
MODEL = nb.NaiveBayes(nb.Bernoulli(A, B), class_concentration=PI, num_classes=K)
COLUMNS = nb.NaiveBayes({f"x{d}": nb.Bernoulli(A[d], B) for d in range(D)}, class_concentration=PI, num_classes=K)
beta = accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": v["theta"]}, FLAGS)


@beta
def no_plate_at_all(X, y):
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    theta = numpyro.sample("theta", dist.Beta(A, B), sample_shape=(K,))
    y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)


@accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": jnp.stack([v["theta0"], v["theta1"]])}, FLAGS)
def a_site_a_class_side_by_side(X, y):
    both = jnp.stack([numpyro.sample(f"theta{k}", dist.Beta(A, B).to_event(1)) for k in range(K)], axis=1)
    rows(X, y, lambda y: dist.Bernoulli(both[:, y].T))


@beta
def vindex(X, y):
    theta = table("theta", dist.Beta(A, B))
    rows(X, y, lambda y: dist.Bernoulli(Vindex(theta)[y[:, None], jnp.arange(D)]))


@accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": 1.0 - v["absent"]}, FLAGS)
def flipped(X, y):
    absent = table("absent", dist.Beta(B, A))
    rows(X, y, lambda y: dist.Bernoulli(1.0 - absent[y]))


@accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": v["theta"][..., 1]}, FLAGS)
def dirichlet_of_two(X, y):
    theta = table("theta", dist.Dirichlet(jnp.stack([jnp.full(D, B), A], axis=-1)))
    rows(X, y, lambda y: dist.Bernoulli(theta[y][..., 1]))


UNIFORM = nb.NaiveBayes(nb.Bernoulli(1.0, 1.0), class_concentration=PI, num_classes=K)


@accept(UNIFORM, lambda v: {"class_probs": v["pi"], "x_probs": v["theta"]}, FLAGS)
def uniform(X, y):
    theta = table("theta", dist.Uniform(0.0, 1.0))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


BY_CLASS = np.array([[2.0], [1.0], [4.0]])


@accept(
    nb.NaiveBayes(nb.Bernoulli(BY_CLASS, A), class_concentration=2.0, num_classes=3),
    lambda v: {"class_probs": v["pi"], "x_probs": v["theta"]},
    FLAGS,
    Y3,
)
def prior_by_class_in_a_square_table(X, y):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.full(3, 2.0)))
    theta = numpyro.sample("theta", dist.Beta(BY_CLASS, A))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


ORDER = np.array([2, 0, 1])


@accept(
    nb.NaiveBayes(nb.Bernoulli(BY_CLASS[ORDER], A), class_concentration=2.0, num_classes=3),
    lambda v: {"class_probs": v["pi"], "x_probs": v["theta"].T[ORDER]},
    FLAGS,
    Y3,
)
def permuted_classes_in_a_square_table(X, y):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.full(3, 2.0)))
    theta = numpyro.sample("theta", dist.Beta(BY_CLASS[:, 0], A[:, None]).to_event(2))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[:, jnp.asarray(ORDER)[y]].T).to_event(1), obs=X)


def by_column(X):
    return {f"x{d}": X[:, [d]] for d in range(D)}


def columns_of(X):
    return np.concatenate([X[f"x{d}"] for d in range(D)], axis=1)


def split(theta):
    return {f"x{d}_probs": theta[:, d : d + 1] for d in range(D)}


@accept(
    COLUMNS,
    lambda v: {"class_probs": v["pi"], **split(v["theta"])},
    by_column(FLAGS),
    call=lambda X, y: (one_latent_for_a_site_a_column, (columns_of(X), y), {}),
)
def one_latent_for_a_site_a_column(X, y):
    theta, pi = table("theta", dist.Beta(A, B)), numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        for d in range(D):
            numpyro.sample(f"x{d}", dist.Bernoulli(theta[y, d]), obs=X[:, d])


@accept(
    COLUMNS,
    lambda v: {"class_probs": v["pi"], **{f"x{d}_probs": v[f"theta{d}"][:, None] for d in range(D)}},
    by_column(FLAGS),
    call=lambda X, y: (a_latent_and_a_site_a_column, (columns_of(X), y), {}),
)
def a_latent_and_a_site_a_column(X, y):
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    for d in range(D):
        with numpyro.plate(f"classes{d}", K):
            theta = numpyro.sample(f"theta{d}", dist.Beta(A[d], B))
        with numpyro.plate(f"rows{d}", len(y)):
            numpyro.sample(f"x{d}", dist.Bernoulli(theta[y]), obs=X[:, d])


@accept(
    MODEL,
    lambda v: {"class_probs": v["pi"], "x_probs": jnp.stack([v[f"theta{d}"] for d in range(D)], axis=1)},
    FLAGS,
)
def a_latent_a_column_in_one_block(X, y):
    parts = [by_class(f"theta{d}", dist.Beta(A[d], B)) for d in range(D)]
    rows(X, y, lambda y: dist.Bernoulli(jnp.stack([part[y] for part in parts], axis=-1)))
