"""Two coins in two classes: a model of rows, and draws of one coin whose probabilities are given."""

import numpy as np

import bayesnb as nb

MODEL = nb.NaiveBayes(nb.Bernoulli(a=2.0, b=2.0), class_concentration=2.0)
Y = np.arange(40) % 2
X = (np.random.default_rng(4).random((40, 2)) < 0.3 + 0.4 * Y[:, None]).astype(int)
NAMES = {"class_names": ["cold", "flu"], "feature_names": ["cough", "fever"]}


def by_hand(probs, num_chains=4, diverging=False):
    """Draws of one coin in each of two classes, whose probabilities are fixed."""
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.4, 0.6]).resolve(X[:, :1], Y)
    params = {"class_probs": np.tile([0.4, 0.6], (len(probs), 1)), "x_probs": probs[:, :, None]}
    return nb.Draws(model, params, {"diverging": np.full(len(probs), diverging)}, num_chains)


RANDOM = np.random.default_rng(1).random((800, 2))
