"""MultinomialNB and ComplementNB: counts, such as words."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import naive_bayes
from sklearn.utils import Tags

from bayesnb.arrays.placement import Array
from bayesnb.families import Multinomial
from bayesnb.families.multinomial import MultinomialStatistics
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.primitives.products import Linear
from bayesnb.sklearn.dropin.discrete_nb import BaseDiscreteNB, count_zeros, log_frequencies


class BaseCountsNB(BaseDiscreteNB):
    """The base of the classes for counts, whose scores are sum_d w_kd x_d."""

    _model = NaiveBayes(Multinomial())

    def _table(self, coefficients: Array) -> Linear:
        finite, zeros = count_zeros(coefficients)
        return Linear((finite,), zeros=(zeros,))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False  # only rows that are all NaN are allowed
        return tags


class MultinomialNB(BaseCountsNB, naive_bayes.MultinomialNB):
    """Counts of D kinds: x | y = k ~ Multinomial(theta_k), with the smoothed frequencies in the class,

        theta_kd = (c_kd + alpha_d) / sum_d (c_kd + alpha_d).

    Rows are arrays or scipy's sparse matrices. ``predict_joint_log_proba`` leaves out the multinomial coefficient.

    Args:
        alpha: Pseudo-counts, a number or one per kind [D]; 0 is the maximum likelihood.

    Other arguments, the attributes and the answers are scikit-learn's, except for these intended differences:

    * With ``alpha=0`` a positive count of a kind of probability zero makes the class impossible, and a count of zero
      has no effect. A class without counts gets the frequencies of all classes.
    * A row that is all NaN is missing; in other rows NaN is refused, since their total would be unknown.
    * Negative counts are refused in predictions too.
    """

    def _set_features(self, statistics: MultinomialStatistics, alpha: Any) -> tuple[Array, ...]:
        self.feature_count_ = statistics.counts
        self.feature_log_prob_ = log_frequencies(statistics.counts, alpha, np.array([self.n_features_in_]))
        return self._visible_parameters()


class ComplementNB(BaseCountsNB, naive_bayes.ComplementNB):
    """Counts of D kinds, scored by how unlike the rows of the other classes they are.

    This is a linear score, not a generative model: no p(x | y) gives this classifier, its "probabilities" are
    normalised scores, and no family of this package corresponds to it.

        w_kd = -log theta_kd,    theta_kd = (c_d - c_kd + alpha_d) / sum_d (c_d - c_kd + alpha_d),

    with c_d the counts of all classes; the score of a row is sum_d w_kd x_d, without a class prior. Rennie, Shih,
    Teevan and Karger, Tackling the poor assumptions of naive Bayes text classifiers (ICML 2003), section 3.1; ``norm``
    divides w by its sum over d, their section 3.2 without the absolute values of normal coefficients.

    Rows are arrays or scipy's sparse matrices.

    Args:
        alpha: Pseudo-counts, a number or one per kind [D]; 0 means no smoothing.
        fit_prior, class_prior: Used only if there is just one class.
        norm: Whether to divide the coefficients of each class by their sum.

    Attributes:
        feature_log_prob_: The coefficients w [K, D].

    Intended differences from scikit-learn, besides those of ``MultinomialNB``:

    * With ``alpha=0`` a kind that occurs in only one class has an infinite coefficient there: its presence excludes the
      other classes, its absence adds nothing. ``norm`` then divides 1 equally among the infinite coefficients, the
      limit as alpha goes to 0.
    """

    def _set_features(self, statistics: MultinomialStatistics, alpha: Any) -> tuple[Array, ...]:
        self.feature_count_, self.feature_all_ = statistics.counts, statistics.counts.sum(axis=0)
        others = np.maximum(self.feature_all_ - self.feature_count_, 0.0)
        coefficients = -log_frequencies(others, alpha, np.array([self.n_features_in_]))
        self.feature_log_prob_ = _divide_by_sum(coefficients) if self.norm else coefficients
        return self._visible_parameters()

    def _visible_parameters(self) -> tuple[Array, ...]:
        probs, coefficients = super()._visible_parameters()
        # the prior matters only if there is a single class
        return probs if len(probs) == 1 else np.ones(len(probs)), coefficients

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
