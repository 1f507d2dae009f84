"""MultinomialNB: counts, such as words."""

from __future__ import annotations

import numpy as np
from sklearn import naive_bayes
from sklearn.utils import Tags

from bayesnb.arrays.placement import Array
from bayesnb.families import Multinomial
from bayesnb.families.base import Score
from bayesnb.families.multinomial import MultinomialStatistics
from bayesnb.model.class_prior import joint
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.sklearn.dropin.discrete import BaseDiscreteNB
from bayesnb.sklearn.dropin.scorer import Scorer, product
from bayesnb.sklearn.dropin.smoothing import log_shares, smoothed

COUNTS = Multinomial()
MODEL = NaiveBayes(COUNTS)


class BaseCountsNB(BaseDiscreteNB):
    """Base of the classes for rows of counts."""

    _parameters = ("class_log_prior_", "feature_log_prob_")

    @property
    def _model(self) -> NaiveBayes:
        return MODEL

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
        force_alpha: If False, an alpha below 1e-10 is raised to 1e-10, with a warning.
        fit_prior: If False, all classes get the same prior probability.
        class_prior: Class probabilities [K]; by default the class frequencies.

    Attributes:
        classes_, class_count_, class_log_prior_: [K].
        feature_count_, feature_log_prob_: [K, D].

    Intended differences from scikit-learn:

    * With ``alpha=0`` a positive count of a kind of probability zero makes the class impossible, and a count of zero
      has no effect: no NaN, no warning. A class without counts gets the frequencies of all classes.
    * A row that is all NaN is missing; in other rows NaN is refused, since their total would be unknown.
    * Negative counts are refused in predictions too. ``class_prior`` is divided by its sum. Labels of rows of weight
      zero add no class, and ``partial_fit`` refuses labels that were not declared.
    * The fitted arrays are read-only; replace an attribute to change predictions.
    """

    def _learn_parameters(self, statistics: MultinomialStatistics, class_counts: Array) -> Scorer:
        self._learn_classes(class_counts)
        self.feature_count_ = statistics.counts
        self.feature_log_prob_ = log_shares(smoothed(statistics.counts, self._alpha))
        return self._scorer_of_parameters()

    def _scorer_of_parameters(self) -> Scorer:
        return Scorer(_score, self.class_log_prior_, self.feature_log_prob_)


def _score(log_prior: Array, log_prob: Array) -> Score:
    prior, score = np.exp(log_prior), product(COUNTS, log_prob)
    return lambda x: joint(prior, [score(x)])
