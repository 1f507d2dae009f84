"""Spellings of one model: Bernoulli features, theta_kd ~ Beta(a_d, b)."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions.transforms import SigmoidTransform
from numpyro.ops.indexing import Vindex

import bayesnb as nb
from tests.recognition.case import FLAGS, PI, Y3, D, K, accept

A, B = np.array([2.0, 1.5, 3.0]), 2.5
MODEL = nb.NaiveBayes(nb.Bernoulli(A, B), class_concentration=PI, num_classes=K)
COLUMNS = nb.NaiveBayes({f"x{d}": nb.Bernoulli(A[d], B) for d in range(D)}, class_concentration=PI, num_classes=K)
beta = accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": v["theta"]}, FLAGS)
site_a_class = accept(
    MODEL, lambda v: {"class_probs": v["pi"], "x_probs": jnp.stack([v["theta0"], v["theta1"]])}, FLAGS
)


def classes():
    return numpyro.sample("pi", dist.Dirichlet(PI))


def table():
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("words", D, dim=-1):
        return numpyro.sample("theta", dist.Beta(A, B))


@beta
def gathered(X, y):
    pi, theta = classes(), table()
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


@beta
def no_plate_at_all(X, y):
    pi = classes()
    theta = numpyro.sample("theta", dist.Beta(A, B), sample_shape=(K,))
    y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)


@site_a_class
def a_site_a_class_side_by_side(X, y):
    pi = classes()
    parts = [numpyro.sample(f"theta{k}", dist.Beta(A, B).to_event(1)) for k in range(K)]
    both = jnp.concatenate([part[:, None] for part in parts], axis=1)
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(both[:, y].T).to_event(1), obs=X)


@beta
def vindex(X, y):
    pi, theta = classes(), table()
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(Vindex(theta)[y[:, None], jnp.arange(D)]).to_event(1), obs=X)


@accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": 1.0 - v["absent"]}, FLAGS)
def flipped(X, y):
    pi = classes()
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("words", D, dim=-1):
        absent = numpyro.sample("absent", dist.Beta(B, A))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(1.0 - absent[y]).to_event(1), obs=X)


@accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": v["theta"][..., 1]}, FLAGS)
def dirichlet_of_two(X, y):
    pi = classes()
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("words", D, dim=-1):
        theta = numpyro.sample("theta", dist.Dirichlet(jnp.stack([jnp.full(D, B), A], axis=-1)))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y][..., 1]).to_event(1), obs=X)


@accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": jax.nn.sigmoid(v["eta"])}, FLAGS)
def beta_in_disguise_of_a_logit(X, y):
    pi = classes()
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("words", D, dim=-1):
        eta = numpyro.sample("eta", dist.TransformedDistribution(dist.Beta(A, B), SigmoidTransform().inv))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(logits=eta[y]).to_event(1), obs=X)


UNIFORM = nb.NaiveBayes(nb.Bernoulli(1.0, 1.0), class_concentration=1.0, num_classes=K)


@accept(UNIFORM, lambda v: {"class_probs": v["pi"], "x_probs": v["theta"]}, FLAGS)
def uniform(X, y):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(K)))
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("words", D, dim=-1):
        theta = numpyro.sample("theta", dist.Uniform(0.0, 1.0))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


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
    pi, theta = classes(), table()
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
    pi = classes()
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
    pi = classes()
    with numpyro.plate("classes", K):
        parts = [numpyro.sample(f"theta{d}", dist.Beta(A[d], B)) for d in range(D)]
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(jnp.stack([part[y] for part in parts], axis=-1)).to_event(1), obs=X)
