r"""Naive Bayes for measurements with outliers: Student's t in the place of a Normal.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    mu_kd         ~ Normal(loc, scale)
    sigma_kd      ~ HalfNormal(scale)
    y_n           ~ Categorical(pi)
    x_nd | y_n=k  ~ StudentT(df, mu_kd, sigma_kd)           independent over columns given the class

Gelman et al., Bayesian Data Analysis, 3rd edition, section 17.2. A cell far from the others moves the mean of a Normal
by its distance over n; here it moves the centre less the farther it lies. The degrees of freedom ``df`` are known; 4
has heavy tails and a variance. ``nb.Likelihood(dist.StudentT, df=4.0)`` has this likelihood.
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
    df: float = 4.0,
    loc: float | Array = 0.0,
    scale: float | Array = 1.0,
    class_concentration: float = 1.0,
) -> None:
    """X: real numbers [N, D]; y: classes 0..K-1 [N]; loc and scale are numbers or one value a column [D]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        centre = numpyro.sample("x_loc", dist.Normal(loc, scale))
        width = numpyro.sample("x_scale", dist.HalfNormal(scale))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.StudentT(df, centre[label], width[label]).to_event(1), obs=X)
