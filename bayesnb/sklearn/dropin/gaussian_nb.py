"""GaussianNB: normal features with smoothed variances."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import naive_bayes

from bayesnb.arrays.placement import Array
from bayesnb.families import Normal
from bayesnb.families.normal import VARIANCE_FLOOR
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.primitives.scoring import likelihood_tables
from bayesnb.sklearn.dropin.base_nb import BaseNB, check_class_probs


class GaussianNB(BaseNB, naive_bayes.GaussianNB):
    """Real features: x_d | y = k ~ Normal(theta_kd, var_kd), theta the mean and var the smoothed variance of the class,

        var_kd = S_kd / n_kd + epsilon,    epsilon = var_smoothing max_d V_d,

    with S the sum of squared deviations of its n cells, and V_d the variance of column d over all rows. Columns should
    have like scales; for ``NaiveBayesClassifier`` they need not, as each column has its own prior.

    Args:
        priors: Class probabilities [K]; by default the class frequencies.
        var_smoothing: The fraction of the largest variance of a column that is added to every variance.

    Intended differences from scikit-learn, besides those of all five classes (``bayesnb.sklearn.dropin``):

    * ``partial_fit`` smooths by the variances of all rows so far, so any split gives the fit of all rows; scikit-learn
      takes the last batch's. Weights count in ``epsilon_`` too, and may have any scale.
    * A column that is constant over all rows has ``var_`` 0 and factor 1. With ``var_smoothing=0`` a class variance of
      0 becomes 1e-9 of the column's. A class without cells in a column gets the column's moments.

    Example:
        >>> import bayesnb as nb
        >>> clf = nb.sklearn.GaussianNB().fit([[1.0], [3.0], [6.0], [10.0]], ["low", "low", "high", "high"])
        >>> clf.theta_.tolist(), clf.var_.round(3).tolist()
        ([[8.0], [2.0]], [[4.0], [1.0]])
        >>> clf.predict([[2.5], [float("nan")]]).tolist()
        ['low', 'high']
    """

    _parameters = ("class_prior_", "theta_", "var_")
    _model = NaiveBayes(Normal())

    def _set_class_prior(self) -> Array:
        probs = check_class_probs(self.class_count_ if self.priors is None else self.priors, len(self.classes_))
        if self.priors is not None and not np.isclose(np.sum(self.priors), 1.0):
            raise ValueError(f"The sum of the priors should be 1. It is {np.sum(self.priors):g}: divide by it")
        self.class_prior_: Array = probs.astype(self._precision)
        return probs

    def _set_features(self, statistics: NormalStatistics) -> tuple[Array, ...]:
        pooled, shown = statistics.pool(), statistics.count > 0
        theta = np.where(shown, statistics.mean, pooled.mean)
        self.epsilon_ = self.var_smoothing * pooled.variance.max()
        var = np.where(shown, statistics.variance, pooled.variance) + self.epsilon_
        var = np.where((var > 0) & (pooled.variance > 0), var, VARIANCE_FLOOR * pooled.variance)
        self.theta_: Array = np.array(theta, self._precision)
        self.var_: Array = np.array(var, self._precision)
        return theta, var

    def _visible_parameters(self) -> tuple[Array, ...]:
        return tuple(np.asarray(getattr(self, name), np.float64) for name in self._parameters)

    def _table(self, theta: Array, var: Array) -> Any:
        return likelihood_tables(self._model.families["x"], {"loc": theta, "variance": var})
