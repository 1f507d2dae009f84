r"""Naive Bayes for counts with more zeros than a Poisson has: some cells are zero whatever the rate.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    gate_kd       ~ Beta(a, b)                              probability that a cell is zero without being counted
    lambda_kd     ~ Gamma(shape, rate)                      expected count of the others
    y_n           ~ Categorical(pi)
    x_nd | y_n=k  ~ gate_kd [x = 0] + (1 - gate_kd) Poisson(lambda_kd)      independent over columns given the class

Lambert, Zero-inflated Poisson regression (1992). A zero may come from either part, so the posterior of gate and rate is
no product; ``nb.Likelihood(dist.ZeroInflatedPoisson)`` sums over both. Where the other part has no zeros, ``nb.Hurdle``
has a closed form.
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
    a: float = 1.0,
    b: float = 1.0,
    shape: float | Array = 1.0,
    rate: float | Array = 1.0,
    class_concentration: float = 1.0,
) -> None:
    """X: counts [N, D]; y: classes 0..K-1 [N]; the prior is a number or one value a column [D]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        gate = numpyro.sample("x_gate", dist.Beta(a, b))
        expected = numpyro.sample("x_rate", dist.Gamma(shape, rate))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.ZeroInflatedPoisson(gate[label], expected[label]).to_event(1), obs=X)
