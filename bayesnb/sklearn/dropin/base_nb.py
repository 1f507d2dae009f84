"""The common base of the five classes: validate rows as scikit-learn does, sum statistics that merge, predict."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import jax
import numpy as np
import scipy.sparse
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb.arrays.masked import filled, without_mask
from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import stored
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.scoring import Score
from bayesnb.rows.checks import check_rows
from bayesnb.rows.labelled_rows import label_rows
from bayesnb.rows.statistics import ModelStatistics, merge_alike, summarise
from bayesnb.sklearn.incremental import IncrementalClassifier, drop_zero_weights


class BaseNB(IncrementalClassifier):
    """Mixin that replaces fitting and prediction; list it before scikit-learn's class among the bases."""

    _parameters: ClassVar[tuple[str, ...]] = ("class_log_prior_", "feature_log_prob_")
    """The fitted attributes that determine predictions; their arrays are read-only, but may be replaced."""

    _arrays_of_fit: Sequence[Array] = ()
    """The arrays of these attributes as the fit set them."""

    _exact_parameters: tuple[Array, ...]
    """The ``_visible_parameters`` of the fit, before rounding to the attributes' precision."""

    _score_of_fit: list[Score]
    """Their ``_score``, once there has been a prediction."""

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(y = k, x) of rows X [N, D], float64 [N, K]; -inf if the class is impossible."""
        return self._scores(X).log()

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y = k | x) of rows X [N, D], float64 [N, K]."""
        return self._scores(X).normalise()

    def predict_proba(self, X: Any) -> Array:
        """p(y = k | x) of rows X [N, D], float64 [N, K]; each row sums to one."""
        return self._scores(X).shares()

    def predict(self, X: Any) -> Array:
        """The most probable label of each row of X [N, D], [N]."""
        best = self._scores(X).best()
        return self.classes_[best]

    # defined by each class

    @property
    @abstractmethod
    def _model(self) -> NaiveBayes:
        """The model of the rows, whose prior is not used."""

    def _remember(self, X: Array) -> None:
        """Set state other than the statistics from the first rows of a fit."""

    def _sum(self, X: Array, codes: Array, weight: Array | None, num_classes: int) -> ModelStatistics:
        return summarise(label_rows(self._model, X, codes, weight, num_classes), evidence=False)

    @abstractmethod
    def _set_parameters(self, statistics: Any, class_counts: Array) -> tuple[Array, ...]:
        """Set the fitted attributes, and return their parameters in full precision."""

    @abstractmethod
    def _visible_parameters(self) -> tuple[Array, ...]:
        """The arguments of ``_score``, computed from the fitted attributes."""

    @abstractmethod
    def _score(self, class_probs: Array, *parameters: Any) -> Score:
        """The function that scores rows, log p(y = k, x), given class probabilities [K] and other parameters."""

    # fits

    def _validate_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        # scikit-learn checks for NaN and infinity in sparse rows only: for dense rows families do it, saving a pass
        sparse, finite = "csr" if get_tags(self).input_tags.sparse else False, scipy.sparse.issparse(X)
        X, y = filled(X), without_mask("y", y)
        return validate_data(self, X, y, accept_sparse=sparse, ensure_all_finite=finite, reset=reset)

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Array, Array, Array | None]:
        if reset:
            self._validate_params()
        X, y = self._validate_rows(X, y, reset=reset)
        return drop_zero_weights(X, y, sample_weight, require_some=True)

    def _learn(self, X: Array, classes: Array, codes: Array, weight: Array | None, *, reset: bool) -> None:
        if reset:
            self._remember(X)
        with self._sklearn_errors(X):
            statistics = self._sum(X, codes, weight, len(classes))
        if not reset:
            statistics = merge_alike(self.statistics_, statistics)
        self.classes_ = classes
        self.__dict__.pop("statistics_", None)  # unfitted if a parameter is invalid
        self._exact_parameters = self._set_parameters(statistics.blocks["x"], statistics.class_counts)
        self.statistics_, self._arrays_of_fit = statistics, self._visible_arrays()
        self._freeze()

    @contextmanager
    def _sklearn_errors(self, X: Any) -> Iterator[None]:
        """Replace a family's error about cells by scikit-learn's message, if it has one."""
        try:
            yield
        except ValueError:
            cells = stored(X)
            if np.isinf(cells).any():
                raise ValueError("Input X contains infinity: give finite numbers, or NaN for a missing cell") from None
            if get_tags(self).input_tags.positive_only and (cells < 0).any():
                raise ValueError(
                    f"Negative values in data passed to {type(self).__name__} (input X): give cells of 0 or more"
                ) from None
            raise

    # predictions

    def _visible_arrays(self) -> list[Array]:
        return jax.tree.leaves([getattr(self, name) for name in self._parameters])

    def _freeze(self) -> None:
        for array in self._arrays_of_fit:
            array.setflags(write=False)
        self._score_of_fit = []

    def _scores(self, X: Any) -> LogProb:
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        families = self._model.families
        with self._sklearn_errors(X):
            rows = check_rows(families, True, X, sparse=True)
            return self._present_score()(rows)

    def _present_score(self) -> Score:
        arrays = self._visible_arrays()
        replaced = len(arrays) != len(self._arrays_of_fit) or any(map(operator.is_not, arrays, self._arrays_of_fit))
        if replaced:  # predict with what the user set, otherwise with the fit in full precision
            return self._score(*self._visible_parameters())
        if not self._score_of_fit:
            self._score_of_fit.append(self._score(*self._exact_parameters))
        return self._score_of_fit[0]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_score_of_fit"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.__sklearn_is_fitted__():
            self._freeze()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        tags.input_tags.allow_nan = True
        return tags


def check_class_probs(given: Any, num_classes: int) -> Array:
    """Class probabilities up to a factor, [K]; ValueError if they are invalid."""
    probs = np.asarray(given, np.float64)
    if probs.shape != (num_classes,):
        raise ValueError(f"Number of priors must match number of classes: got shape {probs.shape} for {num_classes}")
    if not (np.isfinite(probs).all() and (probs >= 0).all() and probs.any()):
        raise ValueError(f"Priors must be non-negative and finite, and not all zero, got {probs.tolist()}")
    return probs
