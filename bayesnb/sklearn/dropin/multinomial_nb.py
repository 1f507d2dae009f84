"""MultinomialNB and ComplementNB: counts, such as words."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import naive_bayes

from bayesnb.arrays.placement import Array
from bayesnb.families import Multinomial
from bayesnb.families.multinomial import MultinomialStatistics
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.numerics.log_frequencies import log_frequencies
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products import Linear
from bayesnb.primitives.scoring import Score
from bayesnb.sklearn.dropin.base_nb import BaseNB


class BaseCountsNB(BaseNB):
    """The base of the classes for counts, whose scores are sum_d w_kd x_d."""

    _model = NaiveBayes(Multinomial())

    def _table(self, coefficients: Array) -> Linear:
        finite, zeros = LogProb.of(coefficients)
        return Linear((finite,), zeros=(zeros,))


class MultinomialNB(BaseCountsNB, naive_bayes.MultinomialNB):
    """Counts of D kinds: x | y = k ~ Multinomial(theta_k), with the smoothed frequencies in the class,

        theta_kd = (c_kd + alpha_d) / sum_d (c_kd + alpha_d).

    ``predict_joint_log_proba`` leaves out the multinomial coefficient.

    Args:
        alpha: Pseudo-counts, a number or one per kind [D]; 0 is the maximum likelihood.

    Intended differences from scikit-learn, besides those of all five classes (``bayesnb.sklearn.dropin``):

    * A row that is all NaN is missing; in other rows NaN is refused, since their total would be unknown. Negative
      counts are refused in predictions too.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> clf = nb.sklearn.MultinomialNB().fit([[3, 0, 1], [0, 2, 0]], ["junk", "ok"])
        >>> np.exp(clf.feature_log_prob_).round(3)  # (c_d + 1) / (sum c + 3)
        array([[0.571, 0.143, 0.286],
               [0.2  , 0.6  , 0.2  ]])
        >>> clf.predict([[1, 0, 0]]).tolist()
        ['junk']
    """

    def _set_features(self, statistics: MultinomialStatistics) -> tuple[Array]:
        self.feature_count_ = statistics.counts
        self.feature_log_prob_ = log_frequencies(statistics.counts, self._check_alpha(), [self.n_features_in_])
        return (self.feature_log_prob_,)


class ComplementNB(BaseCountsNB, naive_bayes.ComplementNB):
    """Counts of D kinds, scored by how unlike the rows of the other classes they are.

        w_kd = -log theta_kd,    theta_kd = (c_d - c_kd + alpha_d) / sum_d (c_d - c_kd + alpha_d),

    with c_d the counts of all classes; the score of a row is sum_d w_kd x_d, without a class prior. No generative model
    p(x | y) gives this classifier: its "probabilities" are normalised scores. Rennie, Shih, Teevan and Karger, Tackling
    the poor assumptions of naive Bayes text classifiers (2003), section 3.1; section 3.2 for ``norm``.

    Args:
        alpha: Pseudo-counts, a number or one per kind [D]; 0 means no smoothing.
        fit_prior, class_prior: Used only if there is just one class.
        norm: Whether to divide the coefficients of each class by their sum over d.

    Intended differences from scikit-learn, besides those of ``MultinomialNB``:

    * With ``alpha=0`` a kind that occurs in only one class has an infinite coefficient there: its presence excludes the
      other classes, its absence adds nothing. ``norm`` then divides 1 equally among the infinite coefficients, the
      limit as alpha goes to 0.

    Example:
        >>> import bayesnb as nb
        >>> clf = nb.sklearn.ComplementNB().fit([[3, 0, 1], [0, 2, 0]], ["junk", "ok"])
        >>> clf.feature_log_prob_.round(2)  # minus log of the other class's (c_d + 1) / (sum c + 3)
        array([[1.61, 0.51, 1.61],
               [0.56, 1.95, 1.25]])
        >>> clf.predict([[1, 0, 0]]).tolist()
        ['junk']
    """

    def _set_features(self, statistics: MultinomialStatistics) -> tuple[Array]:
        self.feature_count_, self.feature_all_ = statistics.counts, statistics.counts.sum(axis=0)
        others = np.maximum(self.feature_all_ - self.feature_count_, 0.0)
        coefficients = -log_frequencies(others, self._check_alpha(), [self.n_features_in_])
        self.feature_log_prob_ = _divide_by_sum(coefficients) if self.norm else coefficients
        return (self.feature_log_prob_,)

    def _score(self, class_probs: Array, *parameters: Any) -> Score:
        # the prior matters only if there is a single class
        return super()._score(class_probs if len(class_probs) == 1 else np.ones(len(class_probs)), *parameters)

    def _table(self, coefficients: Array) -> Linear:
        certain = np.isposinf(coefficients)
        # an infinite coefficient for one class makes the others impossible
        excluded = certain.any(axis=0) & ~certain
        return super()._table(np.where(excluded, -np.inf, np.where(certain, 0.0, coefficients)))


def _divide_by_sum(coefficients: Array) -> Array:
    """Divide coefficients by their sum; infinite coefficients share 1 equally."""
    infinite = np.isinf(coefficients)
    coefficients = np.where(infinite.any(axis=1, keepdims=True), infinite, coefficients)
    total = coefficients.sum(axis=1, keepdims=True)
    return coefficients / np.where(total > 0, total, 1.0)
