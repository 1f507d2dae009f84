"""Spellings of one model: Categorical features, theta_kd ~ Dirichlet(a)."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.ops.indexing import Vindex

import bayesnb as nb
from tests.recognition.case import CODES, PI, C, D, K, accept
from tests.recognition.programs.parts import by_class, rows

A = np.array([1.5, 2.0, 1.25, 3.0])
MODEL = nb.NaiveBayes(nb.Categorical(C, A), class_concentration=PI, num_classes=K)
PRIOR = dist.Dirichlet(A)


def spelled(probs):
    return accept(MODEL, lambda v: {"class_probs": v["pi"], "x_probs": probs(v["theta"])}, CODES)


@spelled(lambda v: v)
def vindex(X, y):
    theta = numpyro.sample("theta", PRIOR, sample_shape=(K, D))
    rows(X, y, lambda y: dist.Categorical(Vindex(theta)[y[:, None], jnp.arange(D), :]))


@spelled(lambda v: v.reshape(K, D, C))
def one_long_axis_of_classes_and_columns(X, y):
    theta = numpyro.sample("theta", PRIOR, sample_shape=(K * D,))
    rows(X, y, lambda y: dist.Categorical(theta[y[:, None] * D + jnp.arange(D)]))


SIZES = (2, 4, 3)
UNEVEN = CODES % np.array(SIZES)


@accept(
    nb.NaiveBayes(
        {f"x{d}": nb.Categorical(SIZES[d], A[: SIZES[d]]) for d in range(D)}, class_concentration=PI, num_classes=K
    ),
    lambda v: {"class_probs": v["pi"], **{f"x{d}_probs": v[f"theta{d}"][:, None] for d in range(D)}},
    {f"x{d}": UNEVEN[:, [d]] for d in range(D)},
    call=lambda X, y: (columns_of_different_sizes, (np.concatenate(list(X.values()), axis=1), y), {}),
)
def columns_of_different_sizes(X, y):
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    for d, size in enumerate(SIZES):
        theta = by_class(f"theta{d}", dist.Dirichlet(A[:size]))
        with numpyro.plate(f"rows of column {d}", len(y)):
            numpyro.sample(f"x{d}", dist.Categorical(theta[y]), obs=X[:, d])
