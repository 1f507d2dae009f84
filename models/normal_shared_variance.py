"""Naive Bayes for real features whose variance is the same in every class.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    sigma2_d      ~ InverseGamma(shape, rate)               one variance a column, whatever the class
    mu_kd         ~ Normal(loc, sigma2_d / strength)        strength counts the rows that loc is worth
    y_n           ~ Categorical(pi)
    x_nd | y_n=k  ~ Normal(mu_kd, sigma2_d)                 independent over columns given the class

The log odds of two classes are then linear in x: this is diagonal linear discriminant analysis, Dudoit, Fridlyand and
Speed, Comparison of discrimination methods for the classification of tumors using gene expression data (2002). The
prior as in Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007), section 3.
NumPyro's Normal takes the standard deviation, hence the roots.
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
    strength: float | Array = 1.0,
    shape: float | Array = 1.0,
    rate: float | Array = 1.0,
    class_concentration: float = 1.0,
) -> None:
    """X: real numbers [N, D]; y: classes 0..K-1 [N]; the prior is a number or one value a column [D]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    features = numpyro.plate("features", num_columns, dim=-1)
    with features:
        variance = numpyro.sample("x_variance", dist.InverseGamma(shape, rate))
    with numpyro.plate("classes", num_classes, dim=-2), features:
        mean = numpyro.sample("x_loc", dist.Normal(loc, jnp.sqrt(variance / strength)))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[label], jnp.sqrt(variance)).to_event(1), obs=X)
