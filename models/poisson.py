r"""Naive Bayes for counts without an upper limit, such as events in a day.

    pi          ~ Dirichlet(class_concentration, ..., class_concentration)
    lambda_kd   ~ Gamma(shape, rate)               expected count in column d of class k; its mean is shape / rate
    y_n         ~ Categorical(pi)
    x_nd | y_n  ~ Poisson(lambda_{y_n, d})         independent over columns given the class

Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.6, which writes alpha, beta for shape, rate. The prior is
worth ``rate`` rows that count ``shape`` events together.

Update
------

The likelihood of $n$ cells with the sum $s$ is $\lambda^{s}e^{-n\lambda}$ up to a constant, the prior is proportional
to $\lambda^{\alpha-1}e^{-\beta\lambda}$:

$$\lambda\mid s,n\sim\mathrm{Gamma}(\alpha+s,\;\beta+n).$$

Mode and maximum likelihood
---------------------------

$$\lambda_{\mathrm{MAP}}=\frac{\max(\alpha+s-1,0)}{\beta+n},\qquad\lambda_{\mathrm{MLE}}=\frac sn.$$

Predictive
----------

Integrating $\lambda^xe^{-\lambda}/x!$ over $\mathrm{Gamma}(\alpha',\beta')$ gives the negative binomial,

$$p(x)=\frac{\Gamma(\alpha'+x)}{\Gamma(\alpha')\,x!}\Bigl(\frac{\beta'}{\beta'+1}\Bigr)^{\alpha'}
\Bigl(\frac1{\beta'+1}\Bigr)^{x}.$$

Its variance exceeds its mean, by less the more cells the posterior has seen.

Evidence
--------

$$\log p(X)=\log\frac{\Gamma(\alpha+s)}{\Gamma(\alpha)}+\alpha\log\beta-(\alpha+s)\log(\beta+n)-\sum_i\log x_i!$$

Leave-one-out
-------------

The negative binomial of $\alpha+s-x_i$ and $\beta+n-1$ predicts the cell.
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
    shape: float | Array = 1.0,
    rate: float | Array = 1.0,
    class_concentration: float = 1.0,
) -> None:
    """X: counts [N, D]; y: classes 0..K-1 [N]; the prior is a number or one value a column [D]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        expected = numpyro.sample("x_rate", dist.Gamma(shape, rate))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Poisson(expected[label]).to_event(1), obs=X)
