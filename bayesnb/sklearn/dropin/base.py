"""The common base of the five classes: validate rows as scikit-learn does, sum mergeable statistics, predict."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import Tags, get_tags
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayesnb.arrays.masked import filled, without_mask
from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import stored
from bayesnb.frames.classes import classes_and_codes, codes_among
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.numerics.log_prob import LogProb
from bayesnb.rows.checks import check_rows
from bayesnb.rows.labelled_rows import label_rows
from bayesnb.rows.statistics import ModelStatistics, merge, summarise
from bayesnb.sklearn.dropin.scorer import Scorer


class BaseNB(ClassifierMixin, BaseEstimator):
    """Mixin to list before scikit-learn's class among the bases; it replaces fitting and prediction."""

    classes_: Array
    _statistics: ModelStatistics | None = None
    _scorer: Scorer | None = None
    _learned: Sequence[Array] = ()

    _parameters: ClassVar[tuple[str, ...]]
    """The fitted attributes that determine predictions: the arrays are read-only, but may be replaced."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier to rows X [N, D] and labels y [N] of any type, forgetting earlier rows.

        Args:
            X: Rows; see the class for their cells.
            y: Labels, numbers or strings.
            sample_weight: Weights [N]; rows of weight zero are ignored.

        Raises:
            ValueError: if rows, labels, weights or parameters are invalid.
        """
        X, y, weight = self._rows_of_fit(X, y, sample_weight, reset=True)
        classes, codes = classes_and_codes(y)
        statistics = self._sums(X, codes, weight, len(classes), None)
        self._learn(classes, statistics)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Fit the classifier to these rows together with all earlier rows: any split gives the fit of all rows.

        Args:
            X: Rows; see the class for their cells.
            y: Labels, each one of the classes.
            classes: All possible labels; required in the first call.
            sample_weight: Weights [N]; rows of weight zero are ignored.

        Raises:
            ValueError: if rows, labels, weights or parameters are invalid, or the classes differ from earlier calls.
        """
        before = getattr(self, "classes_", None)
        declared = _declared(before, classes)
        X, y, weight = self._rows_of_fit(X, y, sample_weight, reset=before is None)
        codes = codes_among(declared, y)
        statistics = self._sums(X, codes, weight, len(declared), self._statistics)
        self._learn(declared, statistics)
        return self

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(y = k, x) of rows X [N, D], float64 [N, K]; -inf if the class is impossible."""
        return self._scored(X).log()

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y = k | x) of rows X [N, D], float64 [N, K]."""
        return self._scored(X).normalised()

    def predict_proba(self, X: Any) -> Array:
        """p(y = k | x) of rows X [N, D], float64 [N, K]; each row sums to one."""
        return self._scored(X).shares()

    def predict(self, X: Any) -> Array:
        """The most probable label of each row of X [N, D], [N]."""
        best = self._scored(X).best()
        return self.classes_[best]

    # defined by each class

    @property
    @abstractmethod
    def _model(self) -> NaiveBayes:
        """The model of the rows: one block of the class's family."""

    @abstractmethod
    def _learn_parameters(self, statistics: Any, class_counts: Array) -> Scorer:
        """Set the fitted attributes, and return an exact scorer for them."""

    @abstractmethod
    def _scorer_of_parameters(self) -> Scorer:
        """The scorer computed from the fitted attributes."""

    def _sums(
        self, X: Array, codes: Array, weight: Array | None, num_classes: int, before: ModelStatistics | None
    ) -> ModelStatistics:
        """The sufficient statistics of these rows merged with those of earlier rows."""
        with self._named_refusal(X):
            sums = summarise(label_rows(self._model, X, codes, weight, num_classes), evidence=False)
        return sums if before is None else merge(before, sums)

    def _cells(self, x: Array) -> Array:
        """Convert checked cells to the scorer's input; unchanged by default."""
        return x

    # rows

    def _rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        # let scikit-learn look for NaN and infinity in sparse rows only: for dense rows families do it, saving a pass
        checks = {"accept_sparse": "csr" if get_tags(self).input_tags.sparse else False, "reset": reset}
        return validate_data(
            self, filled(X), without_mask("y", y), ensure_all_finite=scipy.sparse.issparse(X), **checks
        )

    def _rows_of_fit(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Array, Array, Array | None]:
        X, y = self._rows(X, y, reset=reset)
        if sample_weight is None:
            return X, y, None
        sample_weight = without_mask("sample_weight", sample_weight)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        keep = weight > 0
        if not keep.any():
            raise ValueError("sample_weight is zero for all rows: give at least one row a positive weight")
        return (X, y, weight) if keep.all() else (X[keep], y[keep], weight[keep])

    @contextmanager
    def _named_refusal(self, X: Any) -> Iterator[None]:
        """Replace a family's error about cells by scikit-learn's message, if it has one."""
        try:
            yield
        except ValueError:
            cells = stored(X)
            if np.isinf(cells).any():
                raise ValueError("Input X contains infinity: give finite numbers, or NaN for what is missing") from None
            if get_tags(self).input_tags.positive_only and (cells < 0).any():
                raise ValueError(
                    f"Negative values in data passed to {type(self).__name__} (input X): give cells of 0 or more"
                ) from None
            raise

    # predictions

    def _learn(self, classes: Array, statistics: ModelStatistics) -> None:
        self.classes_, self._statistics, self._scorer = classes, None, None  # unfitted if a parameter is invalid
        self._scorer = self._learn_parameters(statistics.blocks["x"], statistics.class_counts)
        self._statistics = statistics
        self._learned = self._parts()
        self._freeze()

    def _parts(self) -> list[Array]:
        """The arrays of the fitted attributes that determine predictions."""
        values = (getattr(self, name) for name in self._parameters)
        return [array for value in values for array in (value if isinstance(value, list) else [value])]

    def _freeze(self) -> None:
        for array in self._learned:
            array.setflags(write=False)

    def _scored(self, X: Any) -> LogProb:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        families = self._model.families
        with self._named_refusal(X):
            arrays = check_rows(families, True, X, sparse=True)
            return self._present_scorer()(self._cells(arrays["x"]))

    def _present_scorer(self) -> Scorer:
        parts = self._parts()
        same = len(parts) == len(self._learned) and all(a is b for a, b in zip(parts, self._learned, strict=True))
        return self._scorer if same and self._scorer is not None else self._scorer_of_parameters()

    def __sklearn_is_fitted__(self) -> bool:
        return self._scorer is not None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._freeze()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        tags.input_tags.allow_nan = True
        return tags


def _declared(before: Array | None, classes: Any) -> Array:
    """The classes of a partial fit: those of the earlier calls, or those declared now."""
    if classes is None:
        if before is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return before
    declared = unique_labels(classes)
    if before is not None and not np.array_equal(before, declared):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {before!r}; leave it out, or "
            "fit again"
        )
    return declared
