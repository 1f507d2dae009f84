r"""Naive Bayes for positive features, such as waiting times, with a Gamma likelihood whose shape is not known either.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    a_kd          ~ LogNormal(0, scale)                     shape, NumPyro's ``concentration``
    b_kd          ~ LogNormal(0, scale)                     rate; the mean of a cell is a / b
    y_n           ~ Categorical(pi)
    x_nd | y_n=k  ~ Gamma(a_kd, b_kd)                       independent over columns given the class

No prior on both parameters has a posterior in closed form that can be normalised (Damsleth, Conjugate classes for gamma
distributions, 1975), so ``nb.Likelihood(dist.Gamma)`` sums over a lattice of them; with a known shape the rate has a
Gamma posterior. A column in other units has other rates: take ``scale`` wide, or the default prior of ``Likelihood``.
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array


def model(
    X: Array, y: Array, num_classes: int, *, scale: float | Array = 1.0, class_concentration: float = 1.0
) -> None:
    """X: positive numbers [N, D]; y: classes 0..K-1 [N]; scale is a number or one value a column [D]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        concentration = numpyro.sample("x_concentration", dist.LogNormal(0.0, scale))
        rate = numpyro.sample("x_rate", dist.LogNormal(0.0, scale))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Gamma(concentration[label], rate[label]).to_event(1), obs=X)
