r"""Naive Bayes for real features, with a normal-inverse-gamma prior for each class and column.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    sigma2_kd     ~ InverseGamma(shape, rate)
    mu_kd         ~ Normal(loc, sigma2_kd / strength)       strength counts the rows that loc is worth
    y_n           ~ Categorical(pi)
    x_nd | y_n=k  ~ Normal(mu_kd, sigma2_kd)                independent over columns given the class

Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007), section 3, which writes m, kappa, a, b for loc,
strength, shape, rate and V = 1 / kappa; Gelman et al., Bayesian Data Analysis, 3rd edition, section 3.3.
NumPyro's Normal takes the standard deviation, hence the roots.

Update
------

Write $\mu_0,\kappa,a,b$ for loc, strength, shape and rate, $m$ for the mean of the $n$ cells and $S=\sum_i(x_i-m)^2$.
The likelihood depends on the rows through these three numbers:

$$\prod_i\mathcal N(x_i\mid\mu,\sigma^2)\;\propto\;\sigma^{-n}\exp\Bigl(-\frac{S+n(m-\mu)^2}{2\sigma^2}\Bigr).$$

The prior is $\sigma^2\sim\mathrm{InverseGamma}(a,b)$ and $\mu\mid\sigma^2\sim\mathcal N(\mu_0,\sigma^2/\kappa)$.
Completing the square in $\mu$,

$$\kappa(\mu-\mu_0)^2+n(\mu-m)^2=\kappa'(\mu-\mu')^2+\frac{\kappa n}{\kappa'}(m-\mu_0)^2,$$

gives a posterior of the same form, with

$$\kappa'=\kappa+n,\qquad\mu'=\frac{\kappa\mu_0+nm}{\kappa'},\qquad a'=a+\frac n2,
\qquad b'=b+\frac S2+\frac{\kappa n\,(m-\mu_0)^2}{2\kappa'}.$$

Mode and maximum likelihood
---------------------------

The joint mode is over $(\mu,\sigma^2)$. The normal prior of $\mu$ contributes $\sigma^{-1}$, which adds one half to the
exponent:

$$\mu_{\mathrm{MAP}}=\mu',\quad\sigma^2_{\mathrm{MAP}}=\frac{b'}{a'+\tfrac32};\qquad\mu_{\mathrm{MLE}}=m,
\quad\sigma^2_{\mathrm{MLE}}=\frac Sn.$$

Predictive
----------

Integrate $\mu$ first: given $\sigma^2$ a new cell is $\mathcal N(\mu',\sigma^2(1+1/\kappa'))$. Then integrate
$\sigma^2$ over its inverse gamma, and the Normal becomes Student's t with $2a'$ degrees of freedom,

$$p(x)=t_{2a'}\Bigl(x\;\Big|\;\mu',\;\frac{b'(\kappa'+1)}{a'\kappa'}\Bigr).$$

Its tails fall as a power and not as an exponential of the square. With few rows that is what keeps the classifier from
being sure of a cell that no row resembles.

Evidence
--------

$$p(X)=\frac{\Gamma(a')}{\Gamma(a)}\;\frac{b^{a}}{b'^{\,a'}}\;\sqrt{\frac{\kappa}{\kappa'}}\;(2\pi)^{-n/2}.$$

Leave-one-out
-------------

Mean and squared deviations without the row are again closed forms, $m_{-i}=m-(x_i-m)/(n-1)$ and $S_{-i}=S-\tfrac
n{n-1}(x_i-m)^2$; the Student's t of their posterior predicts the cell. With a shared variance the row changes the
predictions of every class.
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
    with numpyro.plate("classes", num_classes, dim=-2), numpyro.plate("features", num_columns, dim=-1):
        variance = numpyro.sample("x_variance", dist.InverseGamma(shape, rate))
        mean = numpyro.sample("x_loc", dist.Normal(loc, jnp.sqrt(variance / strength)))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[label], jnp.sqrt(variance[label])).to_event(1), obs=X)
