"""Naive Bayes for counts, such as the words of a document.

    pi          ~ Dirichlet(class_concentration, ..., class_concentration)
    theta_k     ~ Dirichlet(concentration, ..., concentration)     probabilities of the D words in class k
    y_n         ~ Categorical(pi)
    x_n | y_n   ~ Multinomial(length of row n, theta_{y_n})        the length is taken as given

McCallum and Nigam, A comparison of event models for naive Bayes text classification (1998), section 2.2; Manning,
Raghavan and Schuetze, Introduction to Information Retrieval (2008), section 13.2. Dirichlet(1) is uniform.
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
