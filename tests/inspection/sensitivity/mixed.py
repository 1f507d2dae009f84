"""A posterior of all families whose priors can be raised to a power."""

import numpy as np

import bayesnb as nb

PRIORS = {
    "n": nb.Normal(loc=0.5, strength=2.0, shape=1.5, rate=0.7),
    "c": nb.Categorical([3, 2], concentration=0.7),
    "p": nb.Poisson(shape=2.0, rate=0.5),
    "w": nb.Multinomial(concentration=0.6),
    "b": nb.Binomial(5, a=0.5, b=2.0),
    "f": nb.Bernoulli(a=2.0, b=0.8),
}


def rows(seed=0, size=40):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size)
    X = {
        "n": rng.normal(size=(size, 2)) + y[:, None],
        "c": rng.integers(0, 2, (size, 2)),
        "p": rng.poisson(1.0 + y[:, None], (size, 2)),
        "w": rng.integers(0, 4, (size, 4)),
        "b": rng.integers(0, 6, (size, 1)),
        "f": rng.integers(0, 2, (size, 1)),
    }
    return X, y


def fitted(priors=PRIORS, **options):
    return nb.fit_posterior(nb.NaiveBayes(priors, **options), *rows())
