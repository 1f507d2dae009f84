"""Rows of sizes, shares and incomes, and their fits."""

import numpy as np
import scipy.special

import bayesnb as nb

rng = np.random.default_rng(3)
N = 48
y = np.arange(N) % 3
SIZES = np.exp(rng.normal(0.4 * y[:, None], 0.8, (N, 2)))
SIZES[5, 1] = np.nan
SHARES = scipy.special.expit(np.log(SIZES))
INCOMES = np.where(rng.random((N, 2)) < 0.3, 0.0, SIZES)
INCOMES[::5, 1] = 99.0


def fit(family, X=SIZES, **given):
    return nb.fit_posterior(nb.NaiveBayes(family), X, y, **given)
