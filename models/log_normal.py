r"""Naive Bayes for positive features whose logarithms are Normal, such as sizes and concentrations.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    sigma2_kd     ~ InverseGamma(shape, rate)
    mu_kd         ~ Normal(loc, sigma2_kd / strength)       mean of log x
    y_n           ~ Categorical(pi)
    x_nd | y_n=k  ~ LogNormal(mu_kd, sigma2_kd)             independent over columns given the class

Gelman et al., Bayesian Data Analysis, 3rd edition, section 3.3, of log x. Classes have the probabilities that a Normal
gives them on log x; the density of x is the Normal's over x, so the evidence is less by the sum of log x. ``LogNormal``
of NumPyro takes the standard deviation, hence the root.
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array


def model(
    X: Array,
    y: Array,
    num_classes: int,
    *,
    loc: float | Array = 0.0,
    strength: float | Array = 0.01,
    shape: float | Array = 1.0,
    rate: float | Array = 1.0,
    class_concentration: float = 1.0,
) -> None:
    """X: positive numbers [N, D]; y: classes 0..K-1 [N]; the prior is a number or one value a column [D]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        variance = numpyro.sample("x_variance", dist.InverseGamma(shape, rate))
        mean = numpyro.sample("x_loc", dist.Normal(loc, jnp.sqrt(variance / strength)))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.LogNormal(mean[label], jnp.sqrt(variance[label])).to_event(1), obs=X)
