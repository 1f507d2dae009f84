r"""Naive Bayes for binary features.

    pi          ~ Dirichlet(class_concentration, ..., class_concentration)
    theta_kd    ~ Beta(a, b)                       probability of a one in column d of class k
    y_n         ~ Categorical(pi)
    x_nd | y_n  ~ Bernoulli(theta_{y_n, d})        independent over columns given the class

McCallum and Nigam, A comparison of event models for naive Bayes text classification (1998), section 2.1; the Beta prior
as in Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.4. Beta(1, 1) is uniform.

Update
------

The likelihood of $n$ cells of one class and column with $s$ ones is $\theta^{s}(1-\theta)^{n-s}$, and the prior is
proportional to $\theta^{a-1}(1-\theta)^{b-1}$. Their product has the prior's form again:

$$p(\theta\mid s,n)\;\propto\;\theta^{a+s-1}(1-\theta)^{b+n-s-1}\;=\;\mathrm{Beta}(a+s,\;b+n-s).$$

Mode and maximum likelihood
---------------------------

The derivative of the log posterior vanishes at the mode; without the prior's part it vanishes at the share of ones:

$$\theta_{\mathrm{MAP}}=\frac{a+s-1}{a+b+n-2},\qquad \theta_{\mathrm{MLE}}=\frac{s}{n}.$$

With $a=b=1+l$ the mode is the textbook estimate $(s+l)/(n+2l)$. Where $a+s$ is below one the density is unbounded at
zero, and the mode lies there.

Predictive
----------

A new cell is a one with probability $\theta$, which is not known. Its mean over the posterior is

$$p(x=1\mid s,n)=\int_0^1\theta\,\mathrm{Beta}(\theta\mid a+s,b+n-s)\,d\theta=\frac{a+s}{a+b+n}.$$

With $a=b=1$ this is Laplace's rule of succession. So for single cells full Bayes *is* a smoothed plug-in.

Evidence
--------

The probability of the cells, whatever $\theta$, is the ratio of two normalising constants:

$$p(x_1,\dots,x_n)=\int\theta^{s}(1-\theta)^{n-s}\,\mathrm{Beta}(\theta\mid a,b)\,d\theta
=\frac{B(a+s,\,b+n-s)}{B(a,b)},\qquad
B(a,b)=\frac{\Gamma(a)\Gamma(b)}{\Gamma(a+b)}.$$

Leave-one-out
-------------

Exchangeable rows may be left out in any order: take the row's own cell off the counts and predict it.

$$p(x_i\mid \text{the other rows})=\frac{a+s-x_i}{a+b+n-1}\quad\text{for a one},
\qquad\frac{b+n-s-1}{a+b+n-1}\quad\text{for a zero.}$$

The product of these terms is not the evidence: each row is predicted from all the others, and not from those before it.
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
