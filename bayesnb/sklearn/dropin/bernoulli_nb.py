"""BernoulliNB: binary features, or numbers binarised by a threshold."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn import naive_bayes
from sklearn.preprocessing import binarize
from sklearn.utils import assert_all_finite

from bayesnb.arrays.cells import above
from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import is_sparse, rows_of
from bayesnb.families import Bernoulli
from bayesnb.families.bernoulli import BernoulliStatistics
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.numerics.log_frequencies import log_frequencies
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products import Linear
from bayesnb.rows.statistics import ModelStatistics
from bayesnb.sklearn.dropin.base_nb import BaseNB


class BernoulliNB(BaseNB, naive_bayes.BernoulliNB):
    """Binary features: x_d | y = k ~ Bernoulli(theta_kd), with the smoothed frequency of ones in the class,

        theta_kd = (s_kd + alpha_d) / (n_kd + 2 alpha_d).

    Args:
        alpha: Pseudo-counts of ones and of zeros, a number or one per column [D]; 0 is the maximum likelihood.
        binarize: Cells above this threshold become 1, others 0; None if all cells are 0 or 1 already.

    Intended differences from scikit-learn, besides those of all five classes (``bayesnb.sklearn.dropin``):

    * The probability of a zero is computed from the counts, not as 1 - theta: every ``alpha``, including 0 and 1e-20,
      gives the right answer.
    * With ``binarize=None`` cells other than 0 and 1 are refused.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> clf = nb.sklearn.BernoulliNB(alpha=1.0).fit([[1], [1], [0], [0]], ["no", "no", "no", "yes"])
        >>> np.exp(clf.feature_log_prob_).round(3)  # (2 + 1) / (3 + 2) and (0 + 1) / (1 + 2)
        array([[0.6  ],
               [0.333]])
        >>> clf.predict([[1]]).tolist()
        ['no']
    """

    _model = NaiveBayes(Bernoulli())

    def _cells(self, X: Any) -> Any:
        if self.binarize is None:
            return X
        if is_sparse(X):
            return binarize(rows_of(X), threshold=self.binarize)
        if 0 <= self.binarize < 1 and X.dtype.kind in "bu" and X.max() <= 1:
            return X  # zeros and ones already: without a copy a fit of bytes takes two thirds of the time
        flags, all_finite = above(X, self.binarize)
        if all_finite:
            return flags
        assert_all_finite(X, allow_nan=True, input_name="X")
        return np.where(np.isnan(X), X, flags)

    def _sum(self, X: Any, codes: Array, weight: Array | None, num_classes: int) -> ModelStatistics:
        if self.binarize is not None and 0 <= self.binarize < 1 and not is_sparse(X):
            # cells may be zeros and ones already, as the sums tell: without a copy a fit takes half of the time
            with suppress(ValueError):
                return super()._sum(X, codes, weight, num_classes)
        return super()._sum(self._cells(X), codes, weight, num_classes)

    def _set_features(self, statistics: BernoulliStatistics) -> tuple[Array, ...]:
        self.feature_count_ = statistics.successes
        failures = np.maximum(statistics.trials - statistics.successes, 0.0)
        pairs = np.stack([statistics.successes, failures], axis=-1).reshape(len(failures), -1)
        alpha = np.repeat(np.broadcast_to(self._check_alpha(), self.n_features_in_), 2)
        logs = log_frequencies(pairs, alpha, np.full(self.n_features_in_, 2))
        self.feature_log_prob_ = np.ascontiguousarray(logs[:, ::2])
        return self.feature_log_prob_, logs[:, 1::2]

    def _visible_parameters(self) -> tuple[Array, ...]:
        with np.errstate(divide="ignore"):
            return *super()._visible_parameters(), np.log(-np.expm1(self.feature_log_prob_))

    def _table(self, success: Array, failure: Array) -> Linear:
        one, zero = LogProb.of(success), LogProb.of(failure)
        return Linear((one.finite - zero.finite,), zero.finite, (one.zeros - zero.zeros,), zero.zeros)
