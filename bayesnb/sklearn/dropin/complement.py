"""ComplementNB: a linear score of counts."""

from __future__ import annotations

import numpy as np
from sklearn import naive_bayes

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Score
from bayesnb.families.multinomial import MultinomialStatistics
from bayesnb.model.class_prior import joint
from bayesnb.sklearn.dropin.multinomial import COUNTS, BaseCountsNB
from bayesnb.sklearn.dropin.scorer import Scorer, product
from bayesnb.sklearn.dropin.smoothing import log_shares, smoothed


class ComplementNB(BaseCountsNB, naive_bayes.ComplementNB):
    """Counts of D kinds, scored by how unlike the rows of the other classes they are.

    This is a linear score, not a generative model: it is not the classifier of any p(x | y), its "probabilities" are
    normalised scores, and so it has no counterpart among the families of this package.

        w_kd = -log theta_kd,    theta_kd = (c_d - c_kd + alpha_d) / sum_d (c_d - c_kd + alpha_d),

    with c_d the counts of all classes; the score of a row is sum_d w_kd x_d, without a class prior. Rennie, Shih,
    Teevan and Karger, Tackling the poor assumptions of naive Bayes text classifiers (ICML 2003), section 3.1; ``norm``
    divides w by its sum over d, their section 3.2 without the absolute values of normal coefficients.

    Rows are arrays or scipy's sparse matrices.

    Args:
        alpha: Pseudo-counts, a number or one per kind [D]; 0 is no smoothing.
        force_alpha: If False, an alpha below 1e-10 is raised to 1e-10, with a warning.
        fit_prior, class_prior: Used only if there is just one class.
        norm: Whether to divide the coefficients of each class by their sum.

    Attributes:
        classes_, class_count_, class_log_prior_: [K].
        feature_count_: [K, D].
        feature_log_prob_: The coefficients w [K, D].
        feature_all_: [D].

    Intended differences from scikit-learn:

    * With ``alpha=0`` a kind that occurs in only one class has infinite weight there: its presence excludes the other
      classes, its absence adds nothing. ``norm`` then divides 1 equally among the infinite coefficients, the limit
      as alpha goes to 0.
    * All other differences are those of ``MultinomialNB``.
    """

    def _learn_parameters(self, statistics: MultinomialStatistics, class_counts: Array) -> Scorer:
        self._learn_classes(class_counts)
        self.feature_count_ = statistics.counts
        self.feature_all_ = self.feature_count_.sum(axis=0)
        others = np.maximum(self.feature_all_ - self.feature_count_, 0.0)
        coefficients = -log_shares(smoothed(others, self._alpha))
        self.feature_log_prob_ = _normalised(coefficients) if self.norm else coefficients
        return self._scorer_of_parameters()

    def _scorer_of_parameters(self) -> Scorer:
        # the prior counts only if there is a single class
        log_prior = self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))
        return Scorer(_score, log_prior, self.feature_log_prob_)


def _normalised(coefficients: Array) -> Array:
    """Divide coefficients by their sum; infinite coefficients share 1 equally."""
    infinite = np.isinf(coefficients)
    coefficients = np.where(infinite.any(axis=1, keepdims=True), infinite, coefficients)
    total = coefficients.sum(axis=1, keepdims=True)
    return coefficients / np.where(total > 0, total, 1.0)


def _score(log_prior: Array, coefficients: Array) -> Score:
    certain = np.isposinf(coefficients)
    # an infinite weight for one class makes the others impossible
    excluded = certain.any(axis=0) & ~certain
    table = np.where(excluded, -np.inf, np.where(certain, 0.0, coefficients))
    prior, score = np.exp(log_prior), product(COUNTS, table)
    return lambda x: joint(prior, [score(x)])
