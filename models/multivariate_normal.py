r"""Bayes classifier for real features that depend on each other: one multivariate normal for each class.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    Sigma_k       ~ InverseWishart(df, scale)
    mu_k          ~ MultivariateNormal(loc, Sigma_k / strength)      strength counts the rows that loc is worth
    y_n           ~ Categorical(pi)
    x_n | y_n=k   ~ MultivariateNormal(mu_k, Sigma_k)

df is above D - 1. With df = D + 1 and a diagonal scale every correlation is uniform on [-1, 1]: Barnard, McCulloch and
Meng, Modeling covariance matrices (2000).

With ``shared`` there is one Sigma for all classes: boundaries between classes are then linear, as in linear
discriminant analysis; with one for each class they are quadratic (Hastie, Tibshirani and Friedman, The Elements of
Statistical Learning, 2nd edition, section 4.3).

Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007), section 9, which writes mu_0, kappa, nu, Lambda
for loc, strength, df, scale; Gelman et al., Bayesian Data Analysis, 3rd edition, section 3.6.

Update
------

As for one column alone, with the scatter matrix $S=\sum_i(x_i-m)(x_i-m)^\top$ in place of the squared deviations:

$$\begin{aligned}\kappa'&=\kappa+n,&\mu'&=\frac{\kappa\mu_0+nm}{\kappa'},\\ \nu'&=\nu+n,&
\Lambda'&=\Lambda+S+\frac{\kappa n}{\kappa'}(m-\mu_0)(m-\mu_0)^\top.\end{aligned}$$

Mode and maximum likelihood
---------------------------

$$\mu_{\mathrm{MAP}}=\mu',\quad\Sigma_{\mathrm{MAP}}=\frac{\Lambda'}{\nu'+D+2};\qquad\mu_{\mathrm{MLE}}=m,
\quad\Sigma_{\mathrm{MLE}}=\frac Sn+\lambda I.$$

With one covariance for all $K$ classes the mode is $\Lambda'/(\nu'+D+1+K)$.

Predictive
----------

Student's t in $D$ dimensions,

$$p(x)=t_{\nu'-D+1}\Bigl(x\;\Big|\;\mu',\;\frac{\kappa'+1}{\kappa'(\nu'-D+1)}\Lambda'\Bigr).$$

A row with missing cells is predicted by its observed ones: a margin of this t is a t of the same kind, with the rows
and columns of $\Lambda'$ that were observed.

Evidence
--------

$$p(X)=\pi^{-nD/2}\;\frac{\Gamma_D(\nu'/2)}{\Gamma_D(\nu/2)}\;\frac{|\Lambda|^{\nu/2}}{|\Lambda'|^{\nu'/2}}\;
\Bigl(\frac\kappa{\kappa'}\Bigr)^{D/2},
\qquad\Gamma_D(z)=\pi^{D(D-1)/4}\prod_{d=1}^D\Gamma\Bigl(z+\frac{1-d}2\Bigr).$$

Leave-one-out
-------------

Taking a row off $\Lambda'$ is a change of rank one, so that determinant and inverse follow from those of all rows,
without a factorisation for each row.
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
    strength: float = 1.0,
    df: float | None = None,
    scale: Array | None = None,
    shared: bool = False,
    class_concentration: float = 1.0,
) -> None:
    """X: real numbers [N, D]; y: classes 0..K-1 [N]; loc: a number or [D]; df: D + 1 unless given; scale: positive
    definite [D, D], the identity unless given."""
    num_rows, num_columns = X.shape
    df = num_columns + 1.0 if df is None else df
    covariance_prior = dist.InverseWishart(df, jnp.eye(num_columns) if scale is None else scale)
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    classes = numpyro.plate("classes", num_classes)
    if shared:
        covariance = numpyro.sample("x_covariance", covariance_prior)
    else:
        with classes:
            covariance = numpyro.sample("x_covariance", covariance_prior)
    with classes:
        mean = numpyro.sample("x_loc", dist.MultivariateNormal(jnp.full(num_columns, loc), covariance / strength))
    # factorised once a class, not once a row
    root = jnp.broadcast_to(jnp.linalg.cholesky(covariance), (num_classes, num_columns, num_columns))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.MultivariateNormal(mean[label], scale_tril=root[label]), obs=X)
