"""A classifier that keeps sufficient statistics, so that more rows can be added to a fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from bayesnb.compute.arrays._placement import without_mask
from bayesnb.compute.arrays._typing import ArrayLike, LabelsLike, Table
from bayesnb.compute.arrays._user_warnings import Line, find_line_of_folds
from bayesnb.core.rows._model_statistics import places_of
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from bayesnb.tables.frames._blocks import Blocks
from bayesnb.tables.frames._classes import add_labels, by_label, classes_and_codes, codes_among, plain_labels
from bayesnb.tables.frames._series import Array, Frame

SET_BY_ROWS = ("n_features_in_", "feature_names_in_", "_precision")
"""Attributes that are set while rows are checked, and restored if the rows are invalid."""


class IncrementalClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers that keep the statistics of their rows."""

    classes_: Array
    statistics_: ModelStatistics
    asked_at: Line | None = None
    """Where the user's code last asked for folds: warnings of their fits point there."""

    def score(self, X: Table, y: LabelsLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows X [N, D], or of their weights, whose label y [N], as for ``fit``, is predicted."""
        from sklearn.metrics import accuracy_score  # takes a tenth of a second, and predictions need none

        return float(accuracy_score(plain_labels(y), self.predict(X), sample_weight=sample_weight))

    def codes_of(self, y: LabelsLike) -> Array:
        """The place of each label among ``classes_``, [N]; ValueError for another label."""
        return codes_among(self.classes_, plain_labels(y))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def __sklearn_clone__(self) -> Self:
        """A clone for a fold, which may be fitted in a process that does not know the user's line."""
        twin: Self = super().__sklearn_clone__()
        # joblib makes the clones of later folds in a thread of its own: they get the line of the first
        line = find_line_of_folds() or self.asked_at
        if line is not None:
            twin.asked_at = self.asked_at = line
        return twin

    @contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        """Restore what was set while rows were checked, if they are refused."""
        before = {name: value for name, value in self.__dict__.items() if name in SET_BY_ROWS}
        try:
            yield
        except BaseException:
            for name in SET_BY_ROWS:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise


def drop_zero_weights(X: Any, y: Array, sample_weight: Any, *, require_some: bool) -> tuple[Any, Array, Array | None]:
    """The rows of positive weight, with their labels and weights; ValueError for invalid weights."""
    if sample_weight is None:
        return X, y, None
    given = without_mask("sample_weight", sample_weight)
    weight = _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=True)
    kept = weight > 0
    if kept.all():
        return X, y, weight
    if require_some and not kept.any():
        raise ValueError("sample_weight is zero in every row: give at least one row with a positive weight")
    return X.filter(kept.tolist()) if isinstance(X, Frame | Blocks) else X[kept], y[kept], weight[kept]


def sorted_classes(classes: Any) -> Array:
    """Declared labels [K], sorted; ValueError if they are missing or of several types."""
    return classes_and_codes(column_or_1d(plain_labels(classes, "classes")))[0]


def declared_classes(before: Array | None, classes: Any, *, may_grow: bool = False) -> Array:
    """The classes that a call declares, sorted.

    Raises:
        ValueError: if they differ from those before, which they must contain if they ``may_grow``.
    """
    declared = sorted_classes(classes)
    if before is None or np.array_equal(before, declared):
        return declared
    absent = before[places_of(before.tolist(), declared.tolist()) == len(declared)]
    if may_grow and not absent.size:
        return declared
    if may_grow:
        why = f"lack the label {absent.tolist()[0]!r} of earlier rows: give all labels, or leave it out"
    else:
        why = f"is not the same as on last call to partial_fit, was: {before.tolist()}; leave it out, or fit again"
    raise ValueError(f"`classes={declared.tolist()}` {why}")


def known_classes(before: Array | None, given: Any, class_prior: Any, *, declared: bool) -> Array | None:
    """The labels that are known before the next rows are looked at, sorted; None if there are none.

    ``given`` are those that the call declares, and ``declared`` says whether an earlier one declared all there are.
    """
    if given is not None:
        return declared_classes(before, given, may_grow=not declared)
    class_prior = by_label(class_prior)
    if declared or not isinstance(class_prior, Mapping):
        return before
    of_prior = sorted_classes([*class_prior])
    return of_prior if before is None else add_labels(before, of_prior)


def fade_weights(factor: float, y: Any, sample_weight: Any) -> Array:
    """The weights of rows at the end of their batch; those of weight zero are absent, and let no other fade."""
    given = without_mask("sample_weight", sample_weight)
    weight = _check_sample_weight(given, y, dtype=np.float64, allow_all_zero_weights=True)
    present = weight > 0
    faded = weight * np.power(float(factor), np.cumsum(present[::-1])[::-1] - present)
    # a row that has all but faded still has its categories
    return np.where(present, np.maximum(faded, np.finfo(np.float64).tiny), faded)
