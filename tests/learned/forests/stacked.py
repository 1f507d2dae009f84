"""Averages of a posterior with forests, as the default of the estimator is, of columns that depend on each other."""

from functools import cache

import numpy as np

import bayesnb as nb
from bayesnb.learned.validation._default import fit_default

N, K = 120, 3
STRUCTURES = ("columns", "best", "aode", "lda", "qda")


def _blocks():
    rng, y = np.random.default_rng(7), np.arange(N) % K
    common = rng.normal(size=(N, 1)) + 0.7 * y[:, None]
    numbers = common + [[0.2, 0.4, 2.0]] * rng.normal(size=(N, 3))
    numbers[rng.random(numbers.shape) < 0.08] = np.nan
    kinds = np.clip(np.floor(common + 0.7 * rng.normal(size=(N, 3))), 0, 2).astype(int)
    kinds[rng.random(kinds.shape) < 0.08] = -1
    words = rng.poisson(1.0 + (np.arange(4) == y[:, None]) + (common > 1.0), (N, 4))
    return {"kinds": kinds, "numbers": numbers, "words": words.astype(float)}, y


BLOCKS, Y = _blocks()
FAMILIES = {
    "numbers": nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram()),
    "kinds": nb.Categorical(3),
    "words": nb.Multinomial(),
}
KINDS = {"categories": ("numbers", "kinds"), "words": ("kinds", "words"), "one block": ("numbers",)}
"""The blocks of a model, not in alphabetic order; sums over pairs of categories are looked up."""


def rows_of(kind):
    names = KINDS[kind]
    return BLOCKS[names[0]] if len(names) == 1 else {name: BLOCKS[name] for name in names}


def learn(exact, X, y, weight=None, structures=STRUCTURES):
    by_feature = [name for name in exact.model.families if name != "words"]
    return fit_default(exact, X, y, weight, by_feature=by_feature, structures=structures)[0]


@cache
def stacked(kind):
    names = KINDS[kind]
    model = nb.NaiveBayes({name: FAMILIES[name] for name in names} if len(names) > 1 else FAMILIES[names[0]])
    return learn(nb.fit_posterior(model, rows_of(kind), Y), rows_of(kind), Y)
