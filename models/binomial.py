r"""Naive Bayes for successes in a known number of trials.

    pi          ~ Dirichlet(class_concentration, ..., class_concentration)
    theta_kd    ~ Beta(a, b)                                probability of a success in column d of class k
    y_n         ~ Categorical(pi)
    x_nd | y_n  ~ Binomial(totals_nd, theta_{y_n, d})       independent over columns given the class

Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.4. Beta(1, 1) is uniform; with totals of one this is the
Bernoulli model. The totals are taken as given, the same for every class.

Update, mode, maximum likelihood
--------------------------------

With $s$ successes in $n$ trials in all, posterior, mode and maximum are those of single trials, as the binomial
coefficients do not depend on $\theta$:

$$\theta\mid s,n\sim\mathrm{Beta}(a+s,\;b+n-s),\qquad\theta_{\mathrm{MAP}}=\frac{a+s-1}{a+b+n-2},
\qquad\theta_{\mathrm{MLE}}=\frac sn.$$

Predictive
----------

A cell of $t$ trials is more than one draw, so that its predictive is not the likelihood at the mean. Integrating
$\binom tx\theta^x(1-\theta)^{t-x}$ over $\mathrm{Beta}(a',b')$ gives the Beta-binomial,

$$p(x\mid t)=\binom tx\frac{B(a'+x,\;b'+t-x)}{B(a',b')},\qquad a'=a+s,\quad b'=b+n-s.$$

It is wider than the Binomial at the posterior mean. That is what the uncertainty of $\theta$ costs.

Evidence
--------

The ratio of Beta functions, and the coefficients of all cells:

$$\log p(X)=\log\frac{B(a+s,\,b+n-s)}{B(a,b)}+\sum_i\log\binom{t_i}{x_i}.$$

Leave-one-out
-------------

The row's successes $x_i$ and failures $t_i-x_i$ are taken off $a'$ and $b'$; the Beta-binomial of the rest predicts the
cell.
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array


def model(
    X: Array,
    totals: int | Array,
    y: Array,
    num_classes: int,
    *,
    a: float = 1.0,
    b: float = 1.0,
    class_concentration: float = 1.0,
) -> None:
    """X: successes [N, D]; totals: trials, a number or [N, D]; y: classes 0..K-1 [N]."""
    num_rows, num_columns = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        probs = numpyro.sample("x_probs", dist.Beta(a, b))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Binomial(totals, probs[label]).to_event(1), obs=X)
