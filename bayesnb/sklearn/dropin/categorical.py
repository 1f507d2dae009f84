"""CategoricalNB: codes of categories."""

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
    """Cells whose whole part is a code, 0 or more, as loops on the host take it: unknown codes and NaN are missing."""

    def check(self, x: Array, block: str) -> None:
        """Raises ValueError for a negative or infinite cell."""
        _require_codes(x, block, min(self._sizes))


@pytree
class OpenWholeParts(OpenCategorical):
    """The same for counting."""

    def check(self, x: Array, block: str) -> None:
        """Raises ValueError for a negative or infinite cell; large integers are left to the count."""
        if x.dtype.kind == "f" or x.itemsize < 4:
            _require_codes(x, block, min(self._sizes))

    def largest(self, x: Array) -> Array:
        """The largest code of each column, [D]; a number beyond all codes where a cell is none, and integers large."""
        # without their sign negative numbers are the largest of all
        return super().largest(x if x.dtype.kind == "f" else x.view(f"u{x.itemsize}"))


def _require_codes(x: Array, block: str, size: int) -> None:
    if not all_codes(x, size) and ((x < 0).any() or (x.dtype.kind == "f" and np.isinf(x).any())):
        raise ValueError(f"block {block!r} has a cell that is no code: give finite numbers of 0 or more, or NaN")


class CategoricalNB(BaseDiscreteNB, naive_bayes.CategoricalNB):
    """Codes 0, 1, ... of categories: x_d | y = k ~ Categorical(theta_kd), with the smoothed shares of C_d categories,

        theta_kdc = (n_kdc + alpha) / (n_kd + alpha C_d).

    The whole part of a cell is its code, as in scikit-learn.

    Args:
        alpha: Pseudo-counts; 0 is the maximum likelihood.
        force_alpha: False raises an alpha below 1e-10 to that, with a warning.
        fit_prior: False gives all classes the same probability.
        class_prior: Class probabilities [K] instead of the classes' shares of the rows.
        min_categories: The least C_d, a number or one a column [D]; else it is one more than the column's largest code.

    Attributes:
        classes_, class_count_, class_log_prior_: [K].
        category_count_, feature_log_prob_: Lists of arrays [K, C_d], one a column.
        n_categories_: C_d [D].

    Different from scikit-learn, and meant to be:

    * A code that no row of the fit showed drops its factor, and so does NaN.
    * With ``alpha=0`` a category of probability zero makes the class impossible, without NaN or warning. A class
      without cells of a column has the shares of all classes.
    * ``n_categories_`` is that of all rows so far, not of the last batch. ``class_prior`` is divided by its sum. Rows
      of weight zero show no class, and ``partial_fit`` refuses labels that were not declared.
    * The arrays cannot be changed in place; an attribute that is replaced is what predictions follow from.
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
        """The number of categories of each column that are asked for, or that the rows before have shown."""
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
    # with one number for all columns a look at the largest cell tells that all are categories
    same = len(set(sizes)) == 1 and len(sizes) > 1
    return WholeParts(sizes[0] if same else tuple(sizes))


def _log_shares(tables: list[Array], alpha: Any) -> list[Array]:
    """The logarithms of the smoothed shares of each column, [K, C_d]; columns of one size together."""
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
