"""BernoulliNB: flags, or numbers made flags by a threshold."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn import naive_bayes

from bayesnb.arrays.cells import all_codes, unless_all
from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import is_sparse
from bayesnb.families import Bernoulli
from bayesnb.families.base import Score, pytree
from bayesnb.families.bernoulli import BernoulliStatistics
from bayesnb.model.class_prior import joint
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.primitives.sums import ClassSums
from bayesnb.rows.statistics import ModelStatistics
from bayesnb.sklearn.dropin.discrete import BaseDiscreteNB
from bayesnb.sklearn.dropin.scorer import Scorer, product
from bayesnb.sklearn.dropin.smoothing import log, log_shares, smoothed

FLAGS = Bernoulli()
MODEL = NaiveBayes(FLAGS)


@pytree
class Thresholded(Bernoulli):
    """Finite numbers, which are made flags block by block: 1 above the threshold, 0 else; NaN is missing."""

    threshold: float = field(default=0.0, metadata={"static": True})

    def check(self, x: Array, block: str) -> None:
        """Nothing: ``seen`` looks at every cell in any case."""

    def seen(self, x: Array) -> Array | None:
        """False for missing cells; None where there are none.

        Raises:
            ValueError: for an infinite cell.
        """
        if is_sparse(x) or x.dtype.kind != "f":
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.vdot(x, x)):  # one pass without a temporary
                return None
        if np.isinf(x).any():
            raise ValueError("a cell is infinite: give finite numbers, or NaN for what is missing")
        return unless_all(~np.isnan(x))

    def statistics(self, x: Array, z: ClassSums) -> BernoulliStatistics:
        """Those of the flags."""
        if 0 <= self.threshold < 1 and not is_sparse(x):
            found = FLAGS.statistics(x, z)
            if np.isfinite(found.successes).all():  # zeros and ones are flags already
                return found
        flags, seen = self.flags(x), self.seen(x)
        return FLAGS.statistics(flags if seen is None else np.where(seen, flags, np.float32(np.nan)), z)

    def features(self, x: Array) -> tuple[Array, ...]:
        """The flags of measurements; missing cells come here as 0."""
        return (self.flags(x).astype(x.dtype),)

    def flags(self, x: Array) -> Any:
        """Which cells are above the threshold; sparse rows stay sparse, and flags what they are."""
        if is_sparse(x):
            ones = (x.data > self.threshold).astype(x.dtype if x.dtype.kind == "f" else np.float64)
            return csr_array((ones, x.indices, x.indptr), x.shape)
        if x.dtype.kind == "f":
            return x > self.threshold
        if self.threshold < 1 and (x.dtype == bool or all_codes(x, 2)):
            return x
        # whole numbers are compared as such: numpy would copy them to float64
        return np.greater(x, int(np.floor(self.threshold)))


class BernoulliNB(BaseDiscreteNB, naive_bayes.BernoulliNB):
    """Binary features: x_d | y = k ~ Bernoulli(theta_kd), with the smoothed share of ones in the class,

        theta_kd = (s_kd + alpha_d) / (n_kd + 2 alpha_d).

    Rows are arrays or scipy's sparse matrices.

    Args:
        alpha: Pseudo-counts of ones and of zeros, a number or one a column [D]; 0 is the maximum likelihood.
        force_alpha: False raises an alpha below 1e-10 to that, with a warning.
        binarize: A cell is 1 above this threshold; None for cells that are 0 or 1 already.
        fit_prior: False gives all classes the same probability.
        class_prior: Class probabilities [K] instead of the classes' shares of the rows.

    Attributes:
        classes_, class_count_, class_log_prior_: [K].
        feature_count_, feature_log_prob_: [K, D].

    Different from scikit-learn, and meant to be:

    * The probability of a zero is found from the counts, not as 1 - theta: any ``alpha``, 0 and 1e-20 too, gives the
      right answer without NaN or warning. With ``alpha=0`` a class without cells has the shares of all classes.
    * NaN in an array is a missing cell: it drops its factor.
    * With ``binarize=None`` cells other than 0 and 1 are refused. ``class_prior`` is divided by its sum. Rows of
      weight zero show no class, and ``partial_fit`` refuses labels that were not declared.
    * The arrays cannot be changed in place; an attribute that is replaced is what predictions follow from.
    """

    _parameters = ("class_log_prior_", "feature_log_prob_")

    _threshold: float | None = None
    """``binarize`` of the fit."""

    def _sums(
        self, X: Array, codes: Array, weight: Array | None, num_classes: int, before: ModelStatistics | None
    ) -> ModelStatistics:
        threshold = self._threshold
        self._threshold = self.binarize if before is None else threshold
        try:
            return super()._sums(X, codes, weight, num_classes, before)
        except ValueError:
            self._threshold = threshold  # the fit before stays what it was
            raise

    @property
    def _model(self) -> NaiveBayes:
        return MODEL if self._threshold is None else NaiveBayes(Thresholded(threshold=self._threshold))

    def _cells(self, x: Array) -> Array:
        # a product of measurements finds their flags block by block
        return x if self._threshold is None or _measured(x) else Thresholded(threshold=self._threshold).flags(x)

    def _learn_parameters(self, statistics: BernoulliStatistics, class_counts: Array) -> Scorer:
        self._learn_classes(class_counts)
        self.feature_count_ = statistics.successes
        failures = np.maximum(statistics.trials - statistics.successes, 0.0)
        alpha = np.asarray(self._alpha)[..., None]
        pair = log_shares(smoothed(np.stack([statistics.successes, failures], axis=-1), alpha))
        self.feature_log_prob_ = np.ascontiguousarray(pair[..., 0])
        return self._scorer_with(pair[..., 1])

    def _scorer_of_parameters(self) -> Scorer:
        return self._scorer_with(log(-np.expm1(self.feature_log_prob_)))

    def _scorer_with(self, failure: Array) -> Scorer:
        return Scorer(_score, self._threshold, self.class_log_prior_, self.feature_log_prob_, failure)


def _measured(x: Array) -> bool:
    return not is_sparse(x) and x.dtype.kind == "f"


def _score(threshold: float | None, log_prior: Array, success: Array, failure: Array) -> Score:
    prior, flags = np.exp(log_prior), product(FLAGS, success, failure)
    measured = flags if threshold is None else product(Thresholded(threshold=threshold), success, failure)
    return lambda x: joint(prior, [(measured if _measured(x) else flags)(x)])
