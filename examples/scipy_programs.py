"""Two Bayes classifiers as they are usually written with scipy.stats: a density for each class. The rivals of mnist.py.

argmax_k log p(k) + log p(x | k), with ``smoothing`` added to each variance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

Array = np.ndarray[Any, Any]
Density = Callable[[Array], Array]


class Classifier:
    """A log density for each class, each a function of rows, and the log share of each class."""

    def __init__(self, X: Array, y: Array, density: Callable[[Array], Density]) -> None:
        self.densities = [density(X[y == k]) for k in range(y.max() + 1)]
        self.log_prior = np.log(np.bincount(y) / len(y))

    def predict(self, X: Array) -> Array:
        """The most probable class of each row."""
        return np.argmax(np.column_stack([density(X) for density in self.densities]) + self.log_prior, axis=1)


def independent(X: Array, y: Array, smoothing: float) -> Classifier:
    """scipy.stats.norm for each pixel."""

    def density(rows: Array) -> Density:
        mean, deviation = rows.mean(axis=0), np.sqrt(rows.var(axis=0) + smoothing)
        return lambda X: stats.norm.logpdf(X, mean, deviation).sum(axis=1)

    return Classifier(X, y, density)


def correlated(X: Array, y: Array, smoothing: float) -> Classifier:
    """scipy.stats.multivariate_normal for each image."""

    def density(rows: Array) -> Density:
        mean, covariance = rows.mean(axis=0), np.cov(rows, rowvar=False, bias=True) + smoothing * np.eye(rows.shape[1])
        return lambda X: stats.multivariate_normal.logpdf(X, mean, covariance)

    return Classifier(X, y, density)
