"""CategoricalNB: categories as integer codes."""

from __future__ import annotations

import numpy as np
from sklearn import naive_bayes

from bayesnb.arrays.placement import Array
from bayesnb.families.open_categorical import CountedParts, WholeParts
from bayesnb.families.parts.statistics import CategoricalStatistics
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.numerics.log_frequencies import log_frequencies
from bayesnb.numerics.log_prob import LogProb
from bayesnb.rows.labelled_rows import label_rows
from bayesnb.rows.statistics import ModelStatistics, summarise
from bayesnb.sklearn.dropin.base_nb import BaseNB


class CategoricalNB(BaseNB, naive_bayes.CategoricalNB):
    """Codes 0, 1, ... of categories: x_d | y = k ~ Categorical(theta_kd), with smoothed frequencies,

        theta_kdc = (n_kdc + alpha) / (n_kd + alpha C_d).

    for C_d categories in column d. The integer part of a cell is its code, as in scikit-learn.

    Args:
        alpha: Pseudo-counts; 0 is the maximum likelihood.
        min_categories: The smallest C_d, a number or one per column [D]; by default the largest code plus one.

    Intended differences from scikit-learn, besides those of all five classes (``bayesnb.sklearn.dropin``):

    * A code that was not in the fitted rows drops its factor. ``n_categories_`` is that of all rows so far.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> clf = nb.sklearn.CategoricalNB().fit([[0], [0], [1], [2]], ["no", "no", "no", "yes"])
        >>> np.exp(clf.feature_log_prob_[0]).round(3)  # (n_c + 1) / (n + 3)
        array([[0.5  , 0.333, 0.167],
               [0.25 , 0.25 , 0.5  ]])
        >>> clf.predict_proba([[7]])  # a code without rows drops its factor: the class prior
        array([[0.75, 0.25]])
    """

    @property
    def _model(self) -> NaiveBayes:  # type: ignore[override]
        return NaiveBayes(WholeParts(tuple(table.shape[1] for table in self.feature_log_prob_)))

    def _sum(self, X: Array, codes: Array, weight: Array | None, num_classes: int) -> ModelStatistics:
        # scikit-learn's reading of ``min_categories`` if every code is 0
        least = tuple(self._validate_n_categories(np.zeros((1, X.shape[1]), int), self.min_categories).tolist())
        model = NaiveBayes(CountedParts(least).with_room(X))
        counted = summarise(label_rows(model, X, codes, weight, num_classes), evidence=False)
        return counted.with_block("x", counted.blocks["x"].without_room(least))

    def _set_features(self, statistics: CategoricalStatistics) -> tuple[list[Array]]:
        self.n_categories_ = np.array(statistics.sizes, np.int64)
        self.category_count_ = statistics.columns()
        logs = log_frequencies(statistics.counts, self._check_alpha(), self.n_categories_)
        self.feature_log_prob_ = CategoricalStatistics(logs, statistics.sizes).columns()
        return (self.feature_log_prob_,)

    def _table(self, tables: list[Array]) -> LogProb:
        return LogProb.of(np.concatenate(tables, axis=1))
