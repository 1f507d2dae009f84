r"""Naive Bayes for counts, such as the words of a document.

    pi          ~ Dirichlet(class_concentration, ..., class_concentration)
    theta_k     ~ Dirichlet(concentration, ..., concentration)     probabilities of the D words in class k
    y_n         ~ Categorical(pi)
    x_n | y_n   ~ Multinomial(length of row n, theta_{y_n})        the length is taken as given

McCallum and Nigam, A comparison of event models for naive Bayes text classification (1998), section 2.2; Manning,
Raghavan and Schuetze, Introduction to Information Retrieval (2008), section 13.2. Dirichlet(1) is uniform.

Update, mode, maximum likelihood
--------------------------------

With $c_d$ the total count of word $d$ in all rows of the class,

$$\theta\mid c\sim\mathrm{Dirichlet}(a+c),\qquad\theta_{d,\mathrm{MAP}}=\frac{c_d+a_d-1}{\sum_j(c_j+a_j)-D},
\qquad\theta_{d,\mathrm{MLE}}=\frac{c_d}{\sum_j c_j}.$$

Predictive
----------

A row of $m=\sum_d x_d$ words is $m$ draws from the same unknown $\theta$. Integrating the Multinomial over the
Dirichlet $\alpha=a+c$ gives the Dirichlet-multinomial,

$$p(x\mid m)=\frac{m!}{\prod_d x_d!}\;\frac{\Gamma(\sum_d\alpha_d)}{\Gamma(m+\sum_d\alpha_d)}
\;\prod_d\frac{\Gamma(\alpha_d+x_d)}{\Gamma(\alpha_d)}.$$

The ratio $\Gamma(\alpha_d+x_d)/\Gamma(\alpha_d)=\alpha_d(\alpha_d+1)\cdots(\alpha_d+x_d-1)$ grows faster than
$\alpha_d^{x_d}$: a word that has come once is more probable to come again. Its repetitions are weaker evidence than the
plug-in makes them.

Evidence
--------

$$\log p(X)=\log\frac{B(a+c)}{B(a)}+\sum_i\log\frac{m_i!}{\prod_d x_{id}!}.$$

Leave-one-out
-------------

The words of the row are taken off the counts, $\alpha=a+c-x_i$, and the Dirichlet-multinomial predicts the row as a
whole.
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array


def model(
    X: Array, y: Array, num_classes: int, *, concentration: float = 1.0, class_concentration: float = 1.0
) -> None:
    """X: counts [N, D]; y: classes 0..K-1 [N]."""
    num_rows, num_words = X.shape
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("classes", num_classes):
        probs = numpyro.sample("x_probs", dist.Dirichlet(jnp.full(num_words, concentration)))
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", dist.Multinomial(X.sum(axis=-1), probs[label]), obs=X)
