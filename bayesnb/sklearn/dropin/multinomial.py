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
    """Rows of counts, one total a row."""

    _parameters = ("class_log_prior_", "feature_log_prob_")

    @property
    def _model(self) -> NaiveBayes:
        return MODEL

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False  # in whole rows alone
        return tags


class MultinomialNB(BaseCountsNB, naive_bayes.MultinomialNB):
    """Counts of D kinds: x | y = k ~ Multinomial(theta_k), with the smoothed shares of the class's counts,

        theta_kd = (c_kd + alpha_d) / sum_d (c_kd + alpha_d).

    Rows are arrays or scipy's sparse matrices. The multinomial coefficient is no part of ``predict_joint_log_proba``.

    Args:
        alpha: Pseudo-counts, a number or one a kind [D]; 0 is the maximum likelihood.
        force_alpha: False raises an alpha below 1e-10 to that, with a warning.
        fit_prior: False gives all classes the same probability.
        class_prior: Class probabilities [K] instead of the classes' shares of the rows.

    Attributes:
        classes_, class_count_, class_log_prior_: [K].
        feature_count_, feature_log_prob_: [K, D].

    Different from scikit-learn, and meant to be:

    * With ``alpha=0`` a count whose probability is zero makes the class impossible, and a count of zero nothing at
      all: no NaN, no warning. A class without counts has the shares of all classes.
    * A row that is all NaN is missing; in other rows NaN is refused, since their length is unknown.
    * Negative counts are refused in predictions too. ``class_prior`` is divided by its sum. Rows of weight zero show
      no class, and ``partial_fit`` refuses labels that were not declared.
    * The arrays cannot be changed in place; an attribute that is replaced is what predictions follow from.
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
