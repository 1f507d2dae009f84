"""Naive Bayes for binary features.

    pi          ~ Dirichlet(class_concentration, ..., class_concentration)
    theta_kd    ~ Beta(a, b)                       probability of a one in column d of class k
    y_n         ~ Categorical(pi)
    x_nd | y_n  ~ Bernoulli(theta_{y_n, d})        independent over columns given the class

McCallum and Nigam, A comparison of event models for naive Bayes text classification (1998), section 2.1; the Beta prior
as in Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.4. Beta(1, 1) is uniform.
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array


def model(
    X: Array, y: Array, num_classes: int, *, a: float = 1.0, b: float = 1.0, class_concentration: float = 1.0
) -> None:
    """X: zeros and ones [N, D]; y: classes 0..K-1 [N]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        probs = numpyro.sample("x_probs", dist.Beta(a, b))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Bernoulli(probs[label]).to_event(1), obs=X)
