"""Rows of every family to generate from, and tests of what is generated."""

import numpy as np
from scipy import stats

import bayesnb as nb

K, N = 3, 30
MANY = 20 * 1024  # draws of a posterior come 1,024 at a time: one size compiles once
Y = np.repeat(np.arange(K), [15, 9, 6])
RANDOM = np.random.default_rng(9)
REALS = RANDOM.normal(size=(N, 2)) @ [[1.0, 0.8], [0.0, 0.5]] * [1.0, 50.0] + Y[:, None] * [1.0, 30.0]
X = {
    "flags": RANDOM.integers(0, 2, (N, 2)),
    "codes": np.c_[RANDOM.integers(0, 2, N), RANDOM.integers(0, 4, N)],
    "words": RANDOM.poisson(1.0 + Y[:, None], (N, 3)),
    "events": RANDOM.poisson([0.5, 30.0] * (1 + Y[:, None]), (N, 2)),
    "wins": RANDOM.binomial([3, 9], 0.2 + 0.2 * Y[:, None], (N, 2)),
    "trials": (RANDOM.binomial(5, 0.2 + 0.2 * Y[:, None], (N, 2)), np.full((N, 2), 5)),
    "own": REALS,
    "tied": REALS,
    "bent": REALS,
    "plane": REALS,
}
FAMILIES = {
    "flags": nb.Bernoulli(),
    "codes": nb.Categorical((2, 4)),
    "words": nb.Multinomial(),
    "events": nb.Poisson(),
    "wins": nb.Binomial((3, 9)),
    "trials": nb.Binomial(None),
    "own": nb.Normal(),
    "tied": nb.Normal(variance="shared"),
    "bent": nb.MultivariateNormal(),
    "plane": nb.MultivariateNormal("shared"),
}
TOTALS = {"words": 6, "trials": 11}


def fitted(name, fit=nb.fit_map):
    return fit(nb.NaiveBayes(FAMILIES[name]), X[name], Y)


def near(sample, mean, variance):
    """The mean of a sample is the expected one, within 5 standard errors."""
    error = np.sqrt(variance / len(sample))
    assert (np.abs(np.mean(sample, axis=0) - mean) <= 5 * error + 1e-12).all()


def frequencies_agree(counts, probs):
    """A chi-squared test, over cells that are not too rare."""
    expected = probs / probs.sum() * counts.sum()
    common = expected > 5
    found = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    keep = wanted > 0
    assert found[~keep].sum() == 0
    assert stats.chisquare(found[keep], wanted[keep], sum_check=False).pvalue > 1e-4


def students_agree(family, x, y, name):
    """Student's t in each column."""
    for k in range(K):
        row = 0 if name == "tied" else k
        for d in range(2):
            shape, rate, strength = family.shape[row, d], family.rate[row, d], family.strength[k, d]
            law = stats.t(2 * shape, family.loc[k, d], np.sqrt(rate * (strength + 1) / (shape * strength)))
            assert stats.kstest(x[y == k, d], law.cdf).pvalue > 1e-4
