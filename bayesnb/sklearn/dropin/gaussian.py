"""GaussianNB: normal features with smoothed variances."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import naive_bayes

from bayesnb.arrays.placement import Array
from bayesnb.families import Normal
from bayesnb.families.base import Score
from bayesnb.families.normal import VARIANCE_FLOOR
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.model.class_prior import joint
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.primitives.scoring import prepare_likelihood
from bayesnb.sklearn.dropin.base import BaseNB
from bayesnb.sklearn.dropin.scorer import Scorer

NORMAL = Normal()
MODEL = NaiveBayes(NORMAL)


class GaussianNB(BaseNB, naive_bayes.GaussianNB):
    """Real features: x_d | y = k ~ Normal(theta_kd, var_kd), theta the mean and var the smoothed variance of the class,

        var_kd = S_kd / n_kd + epsilon_d,    epsilon_d = var_smoothing V_d,

    with S the sum of squared deviations of its n cells, and V_d the variance of the column over all rows.

    Args:
        priors: Class probabilities [K]; by default the class frequencies.
        var_smoothing: The fraction of a column's variance over all rows that is added to its class variances.

    Attributes:
        classes_, class_count_, class_prior_: [K].
        theta_, var_: [K, D].
        epsilon_: [D].

    Intended differences from scikit-learn:

    * ``epsilon_`` is computed for each column, [D]; scikit-learn uses the largest variance of all columns. So a change
      of a column's unit does not change predictions.
    * ``partial_fit`` smooths by the variance of all rows so far, so any split gives the fit of all rows.
    * A column that is constant over all rows has ``var_`` 0 and factor 1. With ``var_smoothing=0`` a class variance
      of 0 becomes 1e-9 of the column's variance.
    * NaN is a missing cell: it drops its factor. A class without cells in a column gets the column's moments.
    * ``class_count_`` and predictions are float64; ``theta_``, ``var_`` and ``class_prior_`` have the rows' precision.
      Weights may have any scale, and labels of rows of weight zero add no class.
    * The fitted arrays are read-only; replace an attribute to change predictions.
    """

    _parameters = ("class_prior_", "theta_", "var_")

    @property
    def _model(self) -> NaiveBayes:
        return MODEL

    def _rows_of_fit(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Array, Array, Array | None]:
        X, y, weight = super()._rows_of_fit(X, y, sample_weight, reset=reset)
        if reset:
            self._precision = np.float32 if X.dtype == np.float32 else np.float64
        return X, y, weight

    def _learn_parameters(self, statistics: NormalStatistics, class_counts: Array) -> Scorer:
        prior = self._class_prior(class_counts)
        mean, variance = _pooled(statistics)
        shown = statistics.count > 0
        theta = np.where(shown, statistics.mean, mean)
        self.epsilon_ = self.var_smoothing * variance
        own = np.where(shown, statistics.variance, variance) + self.epsilon_
        var = np.where(own > 0, own, VARIANCE_FLOOR * variance)
        self.class_count_ = class_counts
        self.class_prior_, self.theta_, self.var_ = (np.array(a, self._precision) for a in (prior, theta, var))
        return Scorer(_score, prior, theta, var)

    def _class_prior(self, class_counts: Array) -> Array:
        if self.priors is None:
            return class_counts / class_counts.sum()
        priors = np.asarray(self.priors, np.float64)
        if priors.shape != class_counts.shape:
            raise ValueError(
                f"Number of priors must match number of classes: got shape {priors.shape} for {len(class_counts)}"
            )
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError(f"The sum of the priors should be 1. It is {priors.sum():g}: divide by it")
        if (priors < 0).any():
            raise ValueError(f"Priors must be non-negative, got {priors.min():g}")
        return priors

    def _scorer_of_parameters(self) -> Scorer:
        return Scorer(_score, *(np.asarray(getattr(self, name), np.float64) for name in self._parameters))


def _pooled(statistics: NormalStatistics) -> tuple[Array, Array]:
    """Mean and variance of each column over all rows, [D]; exact for constant columns, whose variance is 0."""
    count, total = statistics.count, np.maximum(statistics.count.sum(axis=0), np.finfo(np.float64).tiny)
    # relative to the mean of a class with cells in the column, a constant column has deviations of exactly 0
    origin = statistics.mean[(count > 0).argmax(axis=0), np.arange(count.shape[1])]
    gap = statistics.mean - origin
    shift = (count * gap).sum(axis=0) / total
    squares = (statistics.squares + count * np.square(gap - shift)).sum(axis=0)
    return origin + shift, squares / total


def _score(prior: Array, theta: Array, var: Array) -> Score:
    score = prepare_likelihood(NORMAL, {"loc": theta, "variance": var})
    return lambda x: joint(prior, [score(x)])
