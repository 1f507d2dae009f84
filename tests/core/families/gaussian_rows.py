"""Rows of three classes with dependent columns, and what scipy and sums on paper say of them."""

import numpy as np
import pytest
from scipy import stats

import bayesnb as nb

K, N, D = 3, 40, 3
Y = np.repeat(np.arange(K), [18, 12, 10])
RANDOM = np.random.default_rng(5)
MIX = np.array([[1.0, 0.9, -0.5], [0.0, 0.4, 0.3], [0.0, 0.0, 0.6]])
X = RANDOM.normal(size=(N, D)) @ MIX * (1 + 0.5 * Y[:, None]) + 0.7 * Y[:, None]
NEW = X[::4] + RANDOM.normal(size=(10, D))
FITS = [nb.fit_mle, nb.fit_map, nb.fit_posterior]
KINDS = ["full", "shared"]
PRIOR = {
    "loc": np.array([0.3, -0.2, 1.0]),
    "strength": 0.7,
    "df": 4.5,
    "scale": np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]]),
}
kinds = pytest.mark.parametrize("kind", KINDS)
fits = pytest.mark.parametrize("fit", FITS)


def model(kind, **options):
    return nb.NaiveBayes(nb.MultivariateNormal(kind, **options), num_classes=K)


def counts(y=Y):
    return np.bincount(y, minlength=K)


def log_class_mean(y=Y):
    return np.log((counts(y) + 1) / (len(y) + K))


def covariances(x=X, y=Y, kind="full"):
    """The maximum of the likelihood, [K, D, D]."""
    own = np.array([np.cov(x[y == k].T, bias=True) for k in range(K)])
    shared = np.tensordot(counts(y) / len(y), own, axes=1)
    return own if kind == "full" else np.stack([shared] * K)


def posterior(x, y, kind, loc, strength, df, scale):
    """loc, strength, df and scale of every class after these rows, by the textbook's sums over rows."""
    scatters, locs, strengths = [], [], []
    for k in range(K):
        rows = x[y == k]
        n = len(rows)
        mean = rows.mean(axis=0) if n else loc
        deviations = rows - mean
        gap = mean - loc
        scatters.append(deviations.T @ deviations + strength * n / (strength + n) * np.outer(gap, gap))
        locs.append((strength * loc + n * mean) / (strength + n))
        strengths.append(strength + n)
    n = counts(y)
    if kind == "shared":
        return locs, strengths, [df + len(y)] * K, [scale + sum(scatters)] * K
    return locs, strengths, df + n, [scale + s for s in scatters]


def student(new, x, y, kind, columns=slice(None), **prior):
    """log p(new | class, rows) by scipy's multivariate t, [N, K]."""
    table = []
    for loc, strength, df, scale in zip(*posterior(x, y, kind, **prior), strict=True):
        free = df - len(loc) + 1
        shape = (scale * (strength + 1) / (strength * free))[columns][:, columns]
        table.append(stats.multivariate_t.logpdf(new[:, columns], loc[columns], shape, free).reshape(len(new)))
    return np.stack(table, axis=1)


def gaussian(new, loc, covariance):
    table = [
        stats.multivariate_normal.logpdf(new, m, s).reshape(len(new)) for m, s in zip(loc, covariance, strict=True)
    ]
    return np.stack(table, axis=1)


def means(x=X, y=Y):
    return np.array([x[y == k].mean(axis=0) for k in range(K)])
