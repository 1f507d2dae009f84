"""BernoulliNB: binary features, or numbers binarised by a threshold."""

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
    """Finite numbers, binarised block by block: 1 above the threshold, otherwise 0; NaN is missing."""

    threshold: float = field(default=0.0, metadata={"static": True})

    def check(self, x: Array, block: str) -> None:
        """Do nothing: ``seen`` checks every cell anyway."""

    def seen(self, x: Array) -> Array | None:
        """False for missing cells; None if no cell is missing.

        Raises:
            ValueError: if a cell is infinite.
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
        """The statistics of the binarised cells."""
        if 0 <= self.threshold < 1 and not is_sparse(x):
            found = FLAGS.statistics(x, z)
            if np.isfinite(found.successes).all():  # all cells are zeros and ones already
                return found
        flags, seen = self.flags(x), self.seen(x)
        return FLAGS.statistics(flags if seen is None else np.where(seen, flags, np.float32(np.nan)), z)

    def features(self, x: Array) -> tuple[Array, ...]:
        """The binarised cells; missing cells arrive here as 0."""
        return (self.flags(x).astype(x.dtype),)

    def flags(self, x: Array) -> Any:
        """Which cells are above the threshold; sparse rows stay sparse, and zeros and ones may stay unchanged."""
        if is_sparse(x):
            ones = (x.data > self.threshold).astype(x.dtype if x.dtype.kind == "f" else np.float64)
            return csr_array((ones, x.indices, x.indptr), x.shape)
        if x.dtype.kind == "f":
            return x > self.threshold
        if self.threshold < 1 and (x.dtype == bool or all_codes(x, 2)):
            return x
        # compare with an integer: with a float numpy would copy the cells to float64
        return np.greater(x, int(np.floor(self.threshold)))


class BernoulliNB(BaseDiscreteNB, naive_bayes.BernoulliNB):
    """Binary features: x_d | y = k ~ Bernoulli(theta_kd), with the smoothed frequency of ones in the class,

        theta_kd = (s_kd + alpha_d) / (n_kd + 2 alpha_d).

    Rows are arrays or scipy's sparse matrices.

    Args:
        alpha: Pseudo-counts of ones and of zeros, a number or one per column [D]; 0 is the maximum likelihood.
        force_alpha: If False, an alpha below 1e-10 is raised to 1e-10, with a warning.
        binarize: Cells above this threshold become 1, others 0; None if all cells are 0 or 1 already.
        fit_prior: If False, all classes get the same prior probability.
        class_prior: Class probabilities [K]; by default the class frequencies.

    Attributes:
        classes_, class_count_, class_log_prior_: [K].
        feature_count_, feature_log_prob_: [K, D].

    Intended differences from scikit-learn:

    * The probability of a zero is computed from the counts, not as 1 - theta: every ``alpha``, including 0 and 1e-20,
      gives the right answer without NaN or warning. With ``alpha=0`` a class without cells gets the frequencies of all
      classes.
    * NaN in an array is a missing cell: it drops its factor.
    * With ``binarize=None`` cells other than 0 and 1 are refused. ``class_prior`` is divided by its sum. Labels of
      rows of weight zero add no class, and ``partial_fit`` refuses labels that were not declared.
    * The fitted arrays are read-only; replace an attribute to change predictions.
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
            self._threshold = threshold  # keep the earlier fit unchanged
            raise

    @property
    def _model(self) -> NaiveBayes:
        return MODEL if self._threshold is None else NaiveBayes(Thresholded(threshold=self._threshold))

    def _cells(self, x: Array) -> Array:
        # for dense floats the product binarises block by block, without a copy of all cells
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
