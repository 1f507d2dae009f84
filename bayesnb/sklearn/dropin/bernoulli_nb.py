"""BernoulliNB: binary features, or numbers binarised by a threshold."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn import naive_bayes

from bayesnb.arrays.cells import unless_all
from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import is_sparse
from bayesnb.families import Bernoulli
from bayesnb.families.base import pytree
from bayesnb.families.bernoulli import BernoulliStatistics
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.primitives.products import Linear
from bayesnb.primitives.sums import ClassSums
from bayesnb.sklearn.dropin.discrete_nb import BaseDiscreteNB, count_zeros, log, log_frequencies


@pytree
class Thresholded(Bernoulli):
    """Finite numbers, binarised block by block: 1 above the threshold, otherwise 0; NaN is missing."""

    threshold: float = field(default=0.0, metadata={"static": True})

    def check(self, x: Array, block: str) -> None:
        """Do nothing: ``seen`` checks every cell anyway."""

    def seen(self, x: Array) -> Array | None:
        """False for missing cells, None if no cell is missing; ValueError if a cell is infinite."""
        if is_sparse(x) or x.dtype.kind != "f":
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.vdot(x, x)):  # one pass without a temporary
                return None
        if np.isinf(x).any():
            raise ValueError("a cell is infinite: give finite numbers, or NaN for a missing cell")
        return unless_all(~np.isnan(x))

    def statistics(self, x: Array, z: ClassSums) -> BernoulliStatistics:
        """The statistics of the binarised cells."""
        if self.threshold < 1 and not is_sparse(x):
            found = super().statistics(x, z)
            if np.isfinite(found.successes).all():  # all cells are zeros and ones already
                return found
        (flags,), seen = self.features(x), self.seen(x)
        return super().statistics(flags if seen is None else np.where(seen, flags, np.float32(np.nan)), z)

    def features(self, x: Array) -> tuple[Array, ...]:
        """The binarised cells; missing cells become 0."""
        if is_sparse(x):
            ones = (x.data > self.threshold).astype(x.dtype if x.dtype.kind == "f" else float)
            return (csr_array((ones, x.indices, x.indptr), x.shape),)
        # compare integers with an integer: with a float numpy would copy them to float64
        threshold = self.threshold if x.dtype.kind == "f" else int(np.floor(self.threshold))
        return ((x > threshold).view(np.uint8),)


class BernoulliNB(BaseDiscreteNB, naive_bayes.BernoulliNB):
    """Binary features: x_d | y = k ~ Bernoulli(theta_kd), with the smoothed frequency of ones in the class,

        theta_kd = (s_kd + alpha_d) / (n_kd + 2 alpha_d).

    Rows are arrays or scipy's sparse matrices.

    Args:
        alpha: Pseudo-counts of ones and of zeros, a number or one per column [D]; 0 is the maximum likelihood.
        binarize: Cells above this threshold become 1, others 0; None if all cells are 0 or 1 already.

    Other arguments, the attributes and the answers are scikit-learn's, except for these intended differences:

    * The probability of a zero is computed from the counts, not as 1 - theta: every ``alpha``, including 0 and 1e-20,
      gives the right answer. With ``alpha=0`` a class without cells gets the frequencies of all classes.
    * NaN in an array is a missing cell: it drops its factor.
    * With ``binarize=None`` cells other than 0 and 1 are refused.
    """

    _threshold: float | None = None
    """``binarize`` of the fit."""

    @property
    def _model(self) -> NaiveBayes:
        return NaiveBayes(Bernoulli() if self._threshold is None else Thresholded(threshold=self._threshold))

    def _remember(self, X: Array) -> None:
        del X
        self._threshold = self.binarize

    def _set_features(self, statistics: BernoulliStatistics, alpha: Any) -> tuple[Array, ...]:
        self.feature_count_ = statistics.successes
        failures = np.maximum(statistics.trials - statistics.successes, 0.0)
        num_classes, num_columns = failures.shape
        pairs = np.stack([statistics.successes, failures], axis=-1).reshape(num_classes, -1)
        alpha = np.repeat(np.broadcast_to(alpha, num_columns), 2)
        logs = log_frequencies(pairs, alpha, np.full(num_columns, 2))
        self.feature_log_prob_ = np.ascontiguousarray(logs[:, ::2])
        return np.exp(self.class_log_prior_), self.feature_log_prob_, logs[:, 1::2]

    def _visible_parameters(self) -> tuple[Array, ...]:
        return *super()._visible_parameters(), log(-np.expm1(self.feature_log_prob_))

    def _table(self, success: Array, failure: Array) -> Linear:
        one, zero = count_zeros(success), count_zeros(failure)
        return Linear((one.finite - zero.finite,), zero.finite, (one.zeros - zero.zeros,), zero.zeros)
