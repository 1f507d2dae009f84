"""Models with a block of no columns."""

import jax
import numpy as np

import bayesnb as nb

Y = np.array([0, 0, 0, 1, 1, 1])
FLAGS = np.array([[1], [1], [0], [0], [0], [1]])
KEY = jax.random.key(0)

FAMILIES = {
    "bernoulli": nb.Bernoulli(),
    "trials": nb.Binomial(None),
    "categorical": nb.Categorical(3),
    "multinomial": nb.Multinomial(),
    "poisson": nb.Poisson(),
    "histogram": nb.Histogram(),
    "shared": nb.Normal(variance="shared"),
    "covariance": nb.MultivariateNormal(),
    "discriminant": nb.MultivariateNormal("shared"),
}


def rows(name, num_rows=6):
    nothing = np.zeros((num_rows, 0))
    return (nothing, nothing) if name == "trials" else nothing


def beside(name):
    return nb.NaiveBayes({"e": FAMILIES[name], "f": nb.Bernoulli()}, num_classes=2), {"e": rows(name), "f": FLAGS}
