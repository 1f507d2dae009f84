"""Check the estimator's X, y and weights as scikit-learn does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    assert_all_finite,
    check_consistent_length,
    check_non_negative,
    column_or_1d,
    validate_data,
)

from bayesnb.arrays.masked import filled
from bayesnb.families import Family
from bayesnb.frames.classes import plain_labels
from bayesnb.frames.schema import ArraySchema, Schema
from bayesnb.frames.series import Array, DataError, as_frame, has_names, listing
from bayesnb.sklearn.incremental import IncrementalClassifier, drop_zero_weights


class ChecksRows(IncrementalClassifier):
    """A classifier that checks X, y and weights, arrays or frames, with scikit-learn's messages if it has any."""

    likelihoods: Any
    schema_: Schema

    @property
    def _kind(self) -> str:
        """The name of the likelihood of all columns, or an empty string."""
        return self.likelihoods if isinstance(self.likelihoods, str) else ""

    @property
    def _counts(self) -> bool:
        return self._kind in ("multinomial", "poisson")

    @property
    def _takes_sparse(self) -> bool:
        given = self.likelihoods
        return given.takes_sparse if isinstance(given, Family) else self._kind in ("bernoulli", "multinomial")

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Array, Array | None]:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X = self._features(X, reset=reset)
        y = plain_labels(y)
        y = y if _is_plain(y, 1) else column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        return drop_zero_weights(X, y, sample_weight, require_some=reset)

    def _features(self, X: Any, *, reset: bool) -> Any:
        """X as a frame, an array or a sparse matrix, with the columns of the fit."""
        X = filled(X)
        frame = as_frame(X)
        named = frame is not None and has_names(X)
        if not reset and not named:
            # columns without text names are identified by position
            if isinstance(self.schema_, ArraySchema):
                frame = None
            elif hasattr(self, "feature_names_in_"):
                raise ValueError(
                    "the model was fitted to a data frame: give one with its columns, got rows without column names"
                )
            elif frame is None:
                X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
                return as_frame(pd.DataFrame(X, columns=self.schema_.names))
            elif frame.columns != self.schema_.names:
                raise DataError(
                    f"the data frame has the columns {listing(frame.columns)}, and the model was fitted to "
                    f"{listing(self.schema_.names)}: give the same in the same order, or an array, X.to_numpy()"
                )
        if frame is None:
            return self._array(X, reset=reset)
        if reset and not (frame.shape[0] and frame.shape[1]):
            raise DataError(
                f"the data frame has {frame.shape[0]} rows and {frame.shape[1]} columns: give at least one of each"
            )
        # scikit-learn ignores names if none is text, and raises an error if only some are
        _check_feature_names(self, X if named else None, reset=reset)
        _check_n_features(self, X, reset=reset)
        return frame

    def _array(self, X: Any, *, reset: bool) -> Any:
        if not _is_plain(X, 2) or not X.size:
            checks = {"dtype": "numeric", "ensure_all_finite": False, "ensure_min_samples": reset}
            sparse = ["csr", "csc"] if self._takes_sparse else False
            X = validate_data(self, X, reset=reset, accept_sparse=sparse, **checks)
        else:
            _check_feature_names(self, X, reset=reset)
            _check_n_features(self, X, reset=reset)
        if self._counts:
            check_non_negative(X, type(self).__name__)
        return X


def _is_plain(x: Any, ndim: int) -> bool:
    """Whether x is a plain numeric array, for which scikit-learn's slower validation is unnecessary."""
    return type(x) is np.ndarray and x.ndim == ndim and x.dtype.kind in "biuf"
