"""CategoricalNB: codes of categories."""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np
from sklearn import naive_bayes

from bayesnb.arrays import Array, all_codes, largest_codes, native
from bayesnb.class_prior import joint
from bayesnb.families import Categorical
from bayesnb.families.base import Score, pytree
from bayesnb.families.categorical import CategoricalStatistics
from bayesnb.log_prob import LogProb
from bayesnb.model import NaiveBayes
from bayesnb.products import lookup
from bayesnb.sklearn.discrete import BaseDiscreteNB
from bayesnb.sklearn.scorer import Scorer
from bayesnb.sklearn.smoothing import log_shares, smoothed
from bayesnb.statistics import ModelStatistics, merge, sufficient_statistics

MOST_CATEGORIES = np.iinfo(np.int32).max
"""Of all columns together."""


@pytree
class WholeParts(Categorical):
    """Cells whose whole part is a code, 0 or more, as loops on the host take it: unknown codes and NaN are missing."""

    known: bool = field(default=False, metadata={"static": True})
    """True where every cell is the code of a category: there is nothing to look for."""

    def check(self, x: Array, block: str) -> None:
        """Raises ValueError for a negative or infinite cell."""
        if self.known or all_codes(x, min(self._sizes)):
            return
        if (x < 0).any() or (x.dtype.kind == "f" and np.isinf(x).any()):
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
            sizes = self._sizes(X, before)
            model = NaiveBayes(_family(sizes, known=X.dtype.kind != "f"))
            sums = sufficient_statistics(model, X, codes, sample_weight=weight, num_classes=num_classes)
        return sums if before is None else merge(_widened(before, sizes), sums)

    def _sizes(self, X: Array, before: ModelStatistics | None) -> list[int]:
        """The number of categories of each column, in these rows and in those before."""
        sizes = np.maximum(_largest(X) + 1, 1)
        if self.min_categories is not None:
            least = np.asarray(self.min_categories)
            if least.dtype.kind != "i":
                raise ValueError(f"'min_categories' should have integral type, got {least.dtype}")
            if least.shape not in ((), sizes.shape):
                raise ValueError(f"'min_categories' should have shape {sizes.shape} or be one int, got {least.shape}")
            sizes = np.maximum(sizes, least)
        if before is not None:
            sizes = np.maximum(sizes, before.blocks["x"].sizes)
        if sizes.sum() > MOST_CATEGORIES:
            raise ValueError(
                f"column {sizes.argmax()} has codes up to {sizes.max() - 1:.0f}, which are too many categories: encode "
                "it as 0, 1, ... (sklearn.preprocessing.OrdinalEncoder)"
            )
        return sizes.astype(int).tolist()

    def _learn_parameters(self, statistics: CategoricalStatistics, class_counts: Array) -> Scorer:
        self._learn_classes(class_counts)
        alpha, ends = self._alpha, np.cumsum(statistics.sizes)[:-1]
        self.n_categories_ = np.array(statistics.sizes, np.int64)
        self.category_count_ = np.split(statistics.counts, ends, axis=1)
        self.feature_log_prob_ = [log_shares(smoothed(counts, alpha)) for counts in self.category_count_]
        return self._scorer_of_parameters()

    def _scorer_of_parameters(self) -> Scorer:
        return Scorer(_score, self.class_log_prior_, list(self.feature_log_prob_))


def _family(sizes: list[int], *, known: bool = False) -> WholeParts:
    # with one number for all columns a look at the largest cell tells that all are categories
    same = len(set(sizes)) == 1 and len(sizes) > 1
    return WholeParts(sizes[0] if same else tuple(sizes), known=known)


def _largest(x: Array) -> Array:
    """The largest code of each column, [D], 0 where none is known; a number beyond all codes where a cell is none."""
    x = native(x)
    # without their sign negative numbers are the largest of all
    return np.floor(largest_codes(x if x.dtype.kind == "f" else x.view(f"u{x.itemsize}")))


def _widened(before: ModelStatistics, sizes: list[int]) -> ModelStatistics:
    """The same statistics with room for so many categories a column."""
    old = before.blocks["x"]
    tables = np.split(old.counts, np.cumsum(old.sizes)[:-1], axis=1)
    wide = [np.pad(t, ((0, 0), (0, size - t.shape[1]))) for t, size in zip(tables, sizes, strict=True)]
    return replace(before, blocks={"x": CategoricalStatistics(np.concatenate(wide, axis=1), tuple(sizes))})


def _score(log_prior: Array, tables: list[Array]) -> Score:
    family, table = _family([table.shape[1] for table in tables]), np.concatenate(tables, axis=1)
    never = np.isneginf(table)
    score = lookup(family.codes, LogProb(np.where(never, 0.0, table), never.astype(float)))
    prior = np.exp(log_prior)
    return lambda x: joint(prior, [score(x)])
