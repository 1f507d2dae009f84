"""Any family as a child of categories: rows, and fits of one feature to the rows of one category in one class."""

import jax
import numpy as np

import bayesnb as nb

N, K, SIZE = 40, 2, 3
RNG = np.random.default_rng(8)
Y = np.arange(N) % K
PARENT = np.where(RNG.random((N, 1)) < 0.15, np.nan, RNG.integers(0, SIZE, (N, 1)))
MEAN = 0.5 + Y[:, None] + np.nan_to_num(PARENT)
CHILDREN = {
    "poisson": (nb.Poisson(2.0, 0.5), np.where(RNG.random((N, 2)) < 0.1, np.nan, RNG.poisson(MEAN, (N, 2)))),
    "binomial": (nb.Binomial(9, 0.5, 2.0), RNG.binomial(9, MEAN / 6.0, (N, 2)).astype(float)),
    "known variance": (nb.NormalKnownVariance(2.0, 0.5, 3.0), RNG.normal(MEAN, 1.0, (N, 2))),
    "words": (nb.Multinomial(0.7), RNG.poisson(MEAN * [1.0, 2.0, 0.5, 1.0]).astype(float)),
    "together": (nb.MultivariateNormal(), RNG.normal(MEAN, 1.0, (N, 2))),
}  # fmt: skip


def features_of(prior, x):
    """The prior of each feature in one class, and its cells."""
    own = prior.families["child"]
    if own.one_feature:
        return [(lambda k: jax.tree.map(lambda table: np.asarray(table)[[k]] if np.ndim(table) else table, own), x)]

    def column(d):
        return lambda k: jax.tree.map(lambda table: np.asarray(table)[[k]][:, [d]], own)

    return [(column(d), x[:, [d]]) for d in range(x.shape[1])]


def fit_rows(family, x):
    """The posterior of a feature from rows of one label."""
    return nb.fit_posterior(nb.NaiveBayes(family, num_classes=1), x, np.zeros(len(x), int))


def evidence_of(own, x):
    """The log evidence of the edge from the parent."""
    total = 0.0
    for k in range(K):
        parts = [x[(k == Y) & (PARENT[:, 0] == c)] for c in range(SIZE)]
        total += sum(fit_rows(own(k), part).log_evidence for part in parts)
        total -= fit_rows(own(k), x[(k == Y) & ~np.isnan(PARENT[:, 0])]).log_evidence
    return total


def weights_of(features):
    """The evidence of the edge from the parent to each feature, times its prior."""
    return np.exp([evidence_of(*feature) for feature in features]) / (len(features) + 1)
