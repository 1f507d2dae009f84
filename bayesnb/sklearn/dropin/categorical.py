"""CategoricalNB: categories as integer codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import naive_bayes

from bayesnb.arrays.cells import all_codes
from bayesnb.arrays.placement import Array
from bayesnb.families import Categorical
from bayesnb.families.base import Score, pytree
from bayesnb.families.open_categorical import OpenCategorical
from bayesnb.families.parts.statistics import CategoricalStatistics
from bayesnb.model.class_prior import joint
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products import lookup
from bayesnb.rows.statistics import ModelStatistics, merge, sufficient_statistics
from bayesnb.sklearn.dropin.discrete import BaseDiscreteNB
from bayesnb.sklearn.dropin.scorer import Scorer
from bayesnb.sklearn.dropin.smoothing import log_shares, smoothed


@pytree
class WholeParts(Categorical):
    """Cells whose integer part is a code >= 0, as the host loops read them: unknown codes and NaN are missing."""

    def check(self, x: Array, block: str) -> None:
        """Raise ValueError if a cell is negative or infinite."""
        _require_codes(x, block, min(self._sizes))


@pytree
class OpenWholeParts(OpenCategorical):
    """The same with an open set of categories, for counting."""

    def check(self, x: Array, block: str) -> None:
        """Raise ValueError if a cell is negative or infinite; integers of 4 bytes or more are checked by the count."""
        if x.dtype.kind == "f" or x.itemsize < 4:
            _require_codes(x, block, min(self._sizes))

    def largest(self, x: Array) -> Array:
        """The largest code of each column, [D]; negative integers count as huge codes, which are then refused."""
        # read as unsigned, negative integers are larger than all codes
        return super().largest(x if x.dtype.kind == "f" else x.view(f"u{x.itemsize}"))


def _require_codes(x: Array, block: str, size: int) -> None:
    if not all_codes(x, size) and ((x < 0).any() or (x.dtype.kind == "f" and np.isinf(x).any())):
        raise ValueError(f"block {block!r} has a cell that is no code: give finite numbers of 0 or more, or NaN")


class CategoricalNB(BaseDiscreteNB, naive_bayes.CategoricalNB):
    """Codes 0, 1, ... of categories: x_d | y = k ~ Categorical(theta_kd), with smoothed frequencies,

        theta_kdc = (n_kdc + alpha) / (n_kd + alpha C_d).

    for C_d categories in column d. The integer part of a cell is its code, as in scikit-learn.

    Args:
        alpha: Pseudo-counts; 0 is the maximum likelihood.
        force_alpha: If False, an alpha below 1e-10 is raised to 1e-10, with a warning.
        fit_prior: If False, all classes get the same prior probability.
        class_prior: Class probabilities [K]; by default the class frequencies.
        min_categories: The smallest C_d, a number or one per column [D]; by default the largest code plus one.

    Attributes:
        classes_, class_count_, class_log_prior_: [K].
        category_count_, feature_log_prob_: Lists of arrays [K, C_d], one per column.
        n_categories_: C_d [D].

    Intended differences from scikit-learn:

    * A code that was not in the fitted rows drops its factor, and so does NaN.
    * With ``alpha=0`` a category of probability zero makes the class impossible, without NaN or warning. A class
      without cells in a column gets the frequencies of all classes.
    * ``n_categories_`` is that of all rows so far, not of the last batch. ``class_prior`` is divided by its sum. Labels
      of rows of weight zero add no class, and ``partial_fit`` refuses labels that were not declared.
    * The fitted arrays are read-only; replace an attribute to change predictions.
    """

    _parameters = ("class_log_prior_", "feature_log_prob_")

    @property
    def _model(self) -> NaiveBayes:
        return NaiveBayes(_family([table.shape[1] for table in self.feature_log_prob_]))

    def _sums(
        self, X: Array, codes: Array, weight: Array | None, num_classes: int, before: ModelStatistics | None
    ) -> ModelStatistics:
        with self._named_refusal(X):
            least = self._least_sizes(X, before)
            family = OpenWholeParts(least).with_room(X)
            sums = sufficient_statistics(NaiveBayes(family), X, codes, sample_weight=weight, num_classes=num_classes)
        sums = sums.with_block("x", sums.blocks["x"].without_room(least))
        if before is None:
            return sums
        sizes = sums.blocks["x"].sizes
        return merge(before.with_block("x", before.blocks["x"].resized(sizes)), sums)

    def _least_sizes(self, X: Array, before: ModelStatistics | None) -> tuple[int, ...]:
        """The minimum number of categories of each column, by ``min_categories`` and by the earlier rows."""
        sizes = np.ones(X.shape[1], int)
        if self.min_categories is not None:
            least = np.asarray(self.min_categories)
            if least.dtype.kind != "i":
                raise ValueError(f"'min_categories' should have integral type, got {least.dtype}")
            if least.shape not in ((), sizes.shape):
                raise ValueError(f"'min_categories' should have shape {sizes.shape} or be one int, got {least.shape}")
            sizes = np.maximum(sizes, least)
        if before is not None:
            sizes = np.maximum(sizes, before.blocks["x"].sizes)
        return tuple(sizes.tolist())

    def _learn_parameters(self, statistics: CategoricalStatistics, class_counts: Array) -> Scorer:
        self._learn_classes(class_counts)
        self.n_categories_ = np.array(statistics.sizes, np.int64)
        self.category_count_ = statistics.columns()
        self.feature_log_prob_ = _log_shares(self.category_count_, self._alpha)
        return self._scorer_of_parameters()

    def _scorer_of_parameters(self) -> Scorer:
        return Scorer(_score, self.class_log_prior_, list(self.feature_log_prob_))


def _family(sizes: list[int]) -> WholeParts:
    # a single size for all columns allows one check of the largest cell instead of one per column
    same = len(set(sizes)) == 1 and len(sizes) > 1
    return WholeParts(sizes[0] if same else tuple(sizes))


def _log_shares(tables: list[Array], alpha: Any) -> list[Array]:
    """The logs of each column's smoothed frequencies, [K, C_d]; columns of equal size are computed together."""
    logs = list(tables)
    sizes = np.array([table.shape[1] for table in tables])
    for size in np.unique(sizes):
        columns = np.flatnonzero(sizes == size)
        shares = log_shares(smoothed(np.stack([tables[d] for d in columns], axis=1), alpha))
        for d, share in zip(columns, shares.swapaxes(0, 1).copy(), strict=True):
            logs[d] = share
    return logs


def _score(log_prior: Array, tables: list[Array]) -> Score:
    family, table = _family([table.shape[1] for table in tables]), np.concatenate(tables, axis=1)
    never = np.isneginf(table)
    score = lookup(family.codes, LogProb(np.where(never, 0.0, table), never.astype(float)))
    prior = np.exp(log_prior)
    return lambda x: joint(prior, [score(x)])
