r"""Naive Bayes for real features of known variance, with a Normal prior on the mean of each class and column.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    mu_kd         ~ Normal(loc, scale^2)
    y_n           ~ Categorical(pi)
    x_nd | y_n=k  ~ Normal(mu_kd, variance)                 independent over columns given the class

Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007), section 2; Gelman et al., Bayesian Data
Analysis, 3rd edition, section 2.5. NumPyro's Normal takes the standard deviation, hence the root.

Update
------

Precisions add up. Write $\mu_0,s,v$ for loc, scale and variance. With $n$ cells of mean $m$,

$$\frac1{s'^2}=\frac1{s^2}+\frac nv,\qquad\mu'=s'^2\Bigl(\frac{\mu_0}{s^2}+\frac{n\,m}v\Bigr),
\qquad\mu\mid X\sim\mathcal N(\mu',s'^2).$$

Mode and maximum likelihood
---------------------------

The mode of a Normal is its mean, $\mu'$; the maximum of the likelihood is $m$.

Predictive
----------

A new cell is $\mu$ plus noise, two independent Normals:

$$p(x)=\mathcal N(x\mid\mu',\;s'^2+v).$$

Evidence
--------

The mean $m$ has the prior predictive $\mathcal N(\mu_0,s^2+v/n)$, and the deviations from it do not depend on $\mu$:

$$\log p(X)=\log\mathcal N\Bigl(m\;\Big|\;\mu_0,\,s^2+\frac vn\Bigr)+\frac12\log\frac{2\pi v}{n}-\frac n2\log(2\pi v)
-\frac S{2v}.$$

Leave-one-out
-------------

The same with $n-1$ cells and their mean.
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
    variance: float | Array = 1.0,
    loc: float | Array = 0.0,
    scale: float | Array = 1.0,
    class_concentration: float = 1.0,
) -> None:
    """X: real numbers [N, D]; y: classes 0..K-1 [N]; variance and prior are a number or one value a column [D]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        mean = numpyro.sample("x_loc", dist.Normal(loc, scale))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[label], jnp.sqrt(variance)).to_event(1), obs=X)
