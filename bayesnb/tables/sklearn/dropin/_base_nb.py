"""The common base of the five classes: validate rows as scikit-learn does, sum statistics that merge, predict."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, ClassVar, Self

import jax
import numpy as np
import scipy.sparse
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import assert_all_finite, check_is_fitted, check_non_negative, validate_data

from bayesnb.compute.arrays._placement import fill_missing, without_mask
from bayesnb.compute.arrays._typing import ArrayLike, LabelsLike, Table
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._checks import check_rows
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, summarise
from bayesnb.tables.frames._classes import classes_and_codes, plain_labels
from bayesnb.tables.frames._series import Array
from bayesnb.tables.sklearn._incremental import IncrementalClassifier, declared_classes, drop_zero_weights


class BaseNB(IncrementalClassifier):
    """Mixin that replaces fitting and prediction; list it before scikit-learn's class among the bases."""

    _model: NaiveBayes  # of the rows; its prior is not used
    _precision: type  # of the first rows

    _parameters: ClassVar[tuple[str, ...]] = ("class_log_prior_", "feature_log_prob_")
    """The fitted attributes that determine predictions; their arrays are read-only, but may be replaced."""

    _arrays_of_fit: Sequence[Array] = ()
    """The arrays of these attributes as the fit set them."""

    _exact_parameters: tuple[Any, ...]
    """The ``_visible_parameters`` of the fit, before rounding to the attributes' precision."""

    def fit(self, X: Table, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the rows X [N, D], with their labels y [N] and weights [N], forgetting earlier ones.

        Raises:
            ValueError: if rows, labels, weights or parameters are invalid; invalid rows leave an earlier fit unchanged.
        """
        with self._unchanged_if_refused():
            X, labels, weight = self._check_rows(X, y, sample_weight, reset=True)
            classes, codes = classes_and_codes(labels)
            self._set(classes, self._count(X, codes, weight, len(classes)))
        return self

    def partial_fit(
        self, X: Table, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit these rows together with all earlier rows: any split into batches gives the fit of all rows.

        ``classes`` are all possible labels, and required in the first call.

        Raises:
            ValueError: as for ``fit``, or if the classes differ from those of the first call.
        """
        before, more = getattr(self, "classes_", None), self.__sklearn_is_fitted__()
        if classes is None and before is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        known = before if classes is None else declared_classes(before, classes)
        with self._unchanged_if_refused():
            X, labels, weight = self._check_rows(X, y, sample_weight, reset=not more)
            known, codes = classes_and_codes(labels, known)
            statistics = self._count(X, codes, weight, len(known))
            self._set(known, self.statistics_.merge(statistics) if more else statistics)
        return self

    def predict_joint_log_proba(self, X: Table) -> Array:
        """log p(y = k, x) of rows X [N, D], float64 [N, K]; -inf if the class is impossible."""
        return self._scores(X).log()

    def predict_log_proba(self, X: Table) -> Array:
        """log p(y = k | x) of rows X [N, D], float64 [N, K]."""
        return self._scores(X).normalise()

    def predict_proba(self, X: Table) -> Array:
        """p(y = k | x) of rows X [N, D], float64 [N, K]; each row sums to one."""
        return self._scores(X).shares()

    def predict(self, X: Table) -> Array:
        """The most probable label of each row of X [N, D], [N]."""
        best = self._scores(X).best()
        return self.classes_[best]

    @abstractmethod
    def _set_features(self, statistics: Any) -> tuple[Any, ...]:
        """Set the fitted attributes of the features, and return the arguments of ``_table`` in full precision."""

    @abstractmethod
    def _table(self, *parameters: Any) -> Any:
        """The table from which the family scores rows."""

    def _cells(self, X: Any) -> Any:
        """The cells of validated rows as the model takes them, to be scored."""
        return X

    def _sum(self, X: Any, codes: Array, weight: Array | None, num_classes: int) -> ModelStatistics:
        return summarise(label_rows(self._model, X, codes, weight, num_classes), evidence=False)

    def _set_class_prior(self) -> Array:
        """Set the fitted attribute of the class probabilities [K], and return them in full precision."""
        given = None if self.class_prior is None else check_class_probs(self.class_prior, len(self.classes_))
        with np.errstate(divide="ignore"):  # classes of probability zero
            self._update_class_log_prior(given)
        return np.exp(self.class_log_prior_)

    def _visible_parameters(self) -> tuple[Any, ...]:
        """The arguments of ``_score``, computed from the fitted attributes."""
        return np.exp(self.class_log_prior_), self.feature_log_prob_

    def _score(self, class_probs: Array, *parameters: Any) -> Score:
        """The function that scores rows, log p(y = k, x), given class probabilities [K] and the table's arguments."""
        return self._model.likelihood_scorer((class_probs, {"x": self._table(*parameters)}))

    def _validate_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        # scikit-learn checks for NaN and infinity in sparse rows only: for dense rows families do it, saving a pass
        sparse, finite = "csr" if get_tags(self).input_tags.sparse else False, scipy.sparse.issparse(X)
        X, y = fill_missing(X), without_mask("y", y)
        return validate_data(self, X, y, accept_sparse=sparse, ensure_all_finite=finite, reset=reset)

    def _check_rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Array, Array | None]:
        if reset:
            self._validate_params()
        plain = None if y is None else plain_labels(y)
        y = plain if getattr(getattr(y, "dtype", None), "kind", "") == "T" else y  # scikit-learn reads no StringDType
        X, y = self._validate_rows(X, y, reset=reset)
        if reset:
            self._precision = np.float32 if X.dtype == np.float32 else np.float64
        return drop_zero_weights(X, y, sample_weight, require_some=True)

    def _count(self, X: Any, codes: Array, weight: Array | None, num_classes: int) -> ModelStatistics:
        with self._sklearn_errors(X):
            return self._sum(X, codes, weight, num_classes)

    def _set(self, classes: Array, statistics: ModelStatistics) -> None:
        self.__dict__.pop("statistics_", None)  # unfitted if a parameter is invalid
        self.classes_, self.class_count_ = classes, statistics.class_counts
        self._exact_parameters = (self._set_class_prior(), *self._set_features(statistics.blocks["x"]))
        self.statistics_ = statistics
        self._freeze()

    @contextmanager
    def _sklearn_errors(self, X: Any) -> Iterator[None]:
        """Raise scikit-learn's error in place of a family's, if it has one for these cells."""
        try:
            yield
        except ValueError:
            assert_all_finite(X, allow_nan=True, input_name="X")
            if get_tags(self).input_tags.positive_only:
                check_non_negative(X, f"{type(self).__name__} (input X)")
            raise

    def _visible_arrays(self) -> list[Array]:
        return jax.tree.leaves([getattr(self, name) for name in self._parameters])

    def _freeze(self) -> None:
        self._arrays_of_fit = self._visible_arrays()
        for array in self._arrays_of_fit:
            array.setflags(write=False)
        self._score_of_fit = cache(partial(self._score, *self._exact_parameters))

    def _scores(self, X: Any) -> LogProb:
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        with self._sklearn_errors(X):
            rows = check_rows(self._model.families, True, self._cells(X), sparse=True)
            # else from attributes that the user has replaced
            score = self._score_of_fit() if self._as_fitted() else self._score(*self._visible_parameters())
            return score(rows)

    def _as_fitted(self) -> bool:
        """Whether the visible arrays are those that the fit set."""
        arrays, of_fit = self._visible_arrays(), self._arrays_of_fit
        return len(arrays) == len(of_fit) and all(map(operator.is_, arrays, of_fit))

    def __getstate__(self) -> dict[str, Any]:
        # joblib does not keep the identity of arrays
        state = {**super().__getstate__(), "_as_fitted": self.__sklearn_is_fitted__() and self._as_fitted()}
        return {name: value for name, value in state.items() if name not in ("_score_of_fit", "_arrays_of_fit")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        as_fitted = state.pop("_as_fitted", False)
        super().__setstate__(state)
        if as_fitted:
            self._freeze()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        # a row of counts that is partly missing has an unknown total
        tags.input_tags.allow_nan = not (tags.input_tags.positive_only and tags.input_tags.sparse)
        return tags


def check_class_probs(given: Any, num_classes: int) -> Array:
    """Class probabilities [K], divided by their sum; ValueError if they are invalid."""
    probs = np.asarray(given, np.float64)
    if probs.shape != (num_classes,):
        raise ValueError(f"Number of priors must match number of classes: got shape {probs.shape} for {num_classes}")
    if not (np.isfinite(probs).all() and (probs >= 0).all() and probs.any()):
        raise ValueError(f"Priors must be non-negative and finite, and not all zero, got {probs.tolist()}")
    return probs / probs.sum()
