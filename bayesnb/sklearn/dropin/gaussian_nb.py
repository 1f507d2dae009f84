"""GaussianNB: normal features with smoothed variances."""

from __future__ import annotations

import numpy as np
from sklearn import naive_bayes

from bayesnb.arrays.placement import Array
from bayesnb.families import Normal
from bayesnb.families.normal import VARIANCE_FLOOR
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.model.class_prior import joint_score
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.primitives.scoring import Score, prepare_likelihood
from bayesnb.sklearn.dropin.base_nb import BaseNB, check_class_probs


class GaussianNB(BaseNB, naive_bayes.GaussianNB):
    """Real features: x_d | y = k ~ Normal(theta_kd, var_kd), theta the mean and var the smoothed variance of the class,

        var_kd = S_kd / n_kd + epsilon_d,    epsilon_d = var_smoothing V_d,

    with S the sum of squared deviations of its n cells, and V_d the variance of the column over all rows.

    Args:
        priors: Class probabilities [K]; by default the class frequencies.
        var_smoothing: The fraction of a column's variance over all rows that is added to its class variances.

    The attributes and the answers are scikit-learn's, except for these intended differences:

    * ``epsilon_`` is computed for each column, [D], so a change of a column's unit does not change predictions;
      scikit-learn uses the largest variance of all columns.
    * ``partial_fit`` smooths by the variance of all rows so far, so any split gives the fit of all rows.
    * A column that is constant over all rows has ``var_`` 0 and factor 1. With ``var_smoothing=0`` a class variance
      of 0 becomes 1e-9 of the column's variance.
    * NaN is a missing cell: it drops its factor. A class without cells in a column gets the column's moments.
    * ``theta_``, ``var_`` and ``class_prior_`` have the rows' precision. Weights may have any scale.
    """

    _parameters = ("class_prior_", "theta_", "var_")
    _model = NaiveBayes(Normal())

    class_prior_: Array
    theta_: Array
    var_: Array

    _precision: type
    """The type of the attributes: that of the first rows."""

    def _remember(self, X: Array) -> None:
        self._precision = np.float32 if X.dtype == np.float32 else np.float64

    def _set_parameters(self, statistics: NormalStatistics, class_counts: Array) -> tuple[Array, ...]:
        prior = class_counts / class_counts.sum()
        if self.priors is not None:
            prior = check_class_probs(self.priors, len(class_counts))
            if not np.isclose(prior.sum(), 1.0):
                raise ValueError(f"The sum of the priors should be 1. It is {prior.sum():g}: divide by it")
        pooled, shown = statistics.pool(), statistics.count > 0
        theta = np.where(shown, statistics.mean, pooled.mean)
        self.epsilon_ = self.var_smoothing * pooled.variance[0]
        var = np.where(shown, statistics.variance, pooled.variance) + self.epsilon_
        var = np.where(var > 0, var, VARIANCE_FLOOR * pooled.variance)
        self.class_count_ = class_counts
        exact = prior, theta, var
        self.class_prior_, self.theta_, self.var_ = [np.array(array, self._precision) for array in exact]
        return exact

    def _visible_parameters(self) -> tuple[Array, ...]:
        return tuple(np.asarray(getattr(self, name), np.float64) for name in self._parameters)

    def _score(self, class_probs: Array, *parameters: Array) -> Score:
        theta, var = parameters
        normal = prepare_likelihood(self._model.families["x"], {"loc": theta, "variance": var})
        return joint_score(class_probs, {"x": normal})
