r"""Naive Bayes for unordered categories.

    pi          ~ Dirichlet(class_concentration, ..., class_concentration)
    theta_kd    ~ Dirichlet(concentration, ..., concentration)     over the C categories of column d in class k
    y_n         ~ Categorical(pi)
    x_nd | y_n  ~ Categorical(theta_{y_n, d})                      independent over columns given the class

Mitchell, Machine Learning (1997), section 6.9; the Dirichlet prior as in Gelman et al., Bayesian Data Analysis,
3rd edition, section 3.4. Dirichlet(1) is uniform on the simplex.

Update
------

The likelihood of counts $n_1,\dots,n_C$ is $\prod_c\theta_c^{n_c}$ and the prior is proportional to
$\prod_c\theta_c^{a_c-1}$, so

$$\theta\mid n\sim\mathrm{Dirichlet}(a_1+n_1,\dots,a_C+n_C).$$

Mode and maximum likelihood
---------------------------

Maximise $\sum_c(a_c+n_c-1)\log\theta_c$ with $\sum_c\theta_c=1$; the multiplier of the constraint is the sum of the
numerators:

$$\theta_{c,\mathrm{MAP}}=\frac{n_c+a_c-1}{n+\sum_j a_j-C},\qquad\theta_{c,\mathrm{MLE}}=\frac{n_c}{n}.$$

Predictive
----------

One cell is one draw, so that its predictive is the mean of $\theta$, the smoothed share:

$$p(x=c\mid n)=\frac{n_c+a_c}{n+\sum_j a_j}.$$

Evidence
--------

$$p(X)=\frac{B(a+n)}{B(a)},\qquad B(a)=\frac{\prod_c\Gamma(a_c)}{\Gamma(\sum_c a_c)}.$$

Leave-one-out
-------------

$$p(x_i=c\mid\text{the other rows})=\frac{n_c-1+a_c}{n-1+\sum_j a_j}.$$
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array


def model(
    X: Array,
    y: Array,
    num_classes: int,
    num_categories: int,
    *,
    concentration: float = 1.0,
    class_concentration: float = 1.0,
) -> None:
    """X: codes 0..C-1 [N, D]; y: classes 0..K-1 [N]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        probs = numpyro.sample("x_probs", dist.Dirichlet(jnp.full(num_categories, concentration)))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Categorical(probs[label]).to_event(1), obs=X)
