"""An exported estimator: functions of encoded rows, with the labels, the columns and their values.

Few rows of plain cells, as a service gets them, are encoded here (``PlainRows``). All others are encoded and checked by
an estimator without a fit, which is made from the file when it is first needed: it imports what the estimator does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.arrays.typing import ArrayLike, Rows, Table
from bayesnb.files.storage.results import StorageError
from bayesnb.frames.columns import Column, PlainRows

Array = np.ndarray[Any, Any]

CHECKED = {"bernoulli", "categorical", "normal", "histogram", "poisson"}
"""The likelihoods that take every row that is encoded; others check it once more."""


class Functions(Protocol):
    """Exported functions of encoded rows: an ``ExportedClassifier``."""

    fit: str

    @property
    def num_classes(self) -> int:
        """K."""

    def log_joint(self, X: Rows) -> ArrayLike:
        """log p(y = k, x), [N, K]."""

    def predict_log_proba(self, X: Rows) -> ArrayLike:
        """log p(y = k | x), [N, K]."""

    def predict_proba(self, X: Rows) -> ArrayLike:
        """p(y = k | x), [N, K]."""


class ExportedEstimator:
    """An exported ``NaiveBayesClassifier``: it takes the same rows, with the same errors, and gives numpy arrays.

    Numbers are those of the exported functions, by default in float32. Sparse matrices are not supported.

    Attributes:
        classifier: The ``ExportedClassifier`` of encoded rows.
        classes_: Labels [K], sorted.
        feature_names_in_: The names of the columns, or None if the estimator was fitted to an array.

    Example:
        >>> import io, bayesnb as nb
        >>> X, y, file = [[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"], io.BytesIO()
        >>> nb.export(nb.NaiveBayesClassifier("normal").fit(X, y), file, platforms=["cpu"])
        >>> nb.load_exported(file.getvalue()).predict([[1.5], [9.0]]).tolist()
        ['low', 'high']
    """

    def __init__(self, classifier: Functions, stored: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.classifier, self._stored, self._arrays = classifier, stored, arrays
        labels, dtype = stored["classes"]
        self.classes_ = np.array(labels, np.dtype(dtype))
        if len(self.classes_) != classifier.num_classes:
            raise ValueError(f"it has {len(self.classes_)} labels, and its functions {classifier.num_classes} classes")
        names = stored["feature_names"]
        self.feature_names_in_ = None if names is None else np.array(names, dtype=object)
        plain = stored["plain"]
        self._plain_rows = plain and PlainRows(
            plain["names"],
            {block: [Column(**column) for column in columns] for block, columns in plain["blocks"].items()},
            plain["single"],
        )

    def predict(self, X: Table) -> Array:
        """The most probable label of each row, [N]."""
        return self.classes_[self.predict_log_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Table) -> Array:
        """p(y = k | x), [N, K]."""
        return np.asarray(self.classifier.predict_proba(self.encoded(X)))

    def predict_log_proba(self, X: Table) -> Array:
        """log p(y = k | x), [N, K]."""
        return np.asarray(self.classifier.predict_log_proba(self.encoded(X)))

    def predict_joint_log_proba(self, X: Table) -> Array:
        """log p(y = k, x), [N, K], including multinomial coefficients."""
        return np.asarray(self.classifier.log_joint(self.encoded(X)))

    def encoded(self, X: Table) -> Rows:
        """Checked rows as the functions take them."""
        plain = self._plain_rows.encode(X) if self._plain_rows else _numbers(X, self._stored["num_numbers"])
        return self._check_rows(X) if plain is None else plain

    def __repr__(self) -> str:
        return f"ExportedEstimator({self.classifier.fit}, classes {self.classes_.tolist()})"

    def _check_rows(self, X: Any) -> Any:
        from bayesnb.arrays.cells import dense
        from bayesnb.rows.checks import check_rows

        model = self._without_fit.fit_
        encoded = self._without_fit.encoded(X)
        rows = {block: dense(x) for block, x in encoded.items()} if isinstance(encoded, dict) else encoded  # of words
        arrays = check_rows(model.families, model.single, rows)
        return arrays["x"] if model.single else arrays

    @cached_property
    def _without_fit(self) -> Any:
        """An estimator with the columns and labels of the file, and the model instead of a fit."""
        from bayesnb.files.storage.encoding import decode
        from bayesnb.files.storage.saved_estimators import check_schema
        from bayesnb.sklearn.estimator import NaiveBayesClassifier
        from bayesnb.sklearn.settings import specification

        try:
            likelihoods, schema = (decode(self._stored[part], dict(self._arrays)) for part in ("likelihoods", "schema"))
            check_schema(schema)
        except Exception as error:  # a malformed description can raise anything
            raise StorageError(f"the file does not describe a valid estimator: {error!r}") from error
        estimator: Any = NaiveBayesClassifier(likelihoods)
        estimator.schema_, estimator.classes_, estimator.n_features_in_ = schema, self.classes_, len(schema.names)
        if self.feature_names_in_ is not None:
            estimator.feature_names_in_ = self.feature_names_in_
        estimator.fit_ = specification("posterior", 1.0, schema, self.classes_)
        estimator.prior_of_fit_ = estimator.class_prior
        return estimator


def describe_estimator(estimator: Any, arrays: dict[str, Array]) -> dict[str, Any]:
    """The estimator's columns and labels as JSON, which ``ExportedEstimator`` reads; arrays are added to ``arrays``.

    Raises:
        ValueError: for labels that are dates, and for a ``class_prior`` that was set after the fit.
    """
    from bayesnb.files.storage.encoding import encode
    from bayesnb.frames.schema import Schema

    estimator.require_prior_of_fit()
    schema, classes = estimator.schema_, estimator.classes_
    if classes.dtype.kind in "mM":
        raise ValueError("its labels are dates: convert them to text or numbers")
    kinds = {*schema.kinds}
    is_plain = schema.named and schema.family is None and kinds <= {*CHECKED, "skip"}
    is_numbers = isinstance(schema, Schema) and schema.single and kinds == {"normal"}
    return {
        "classes": [classes.tolist(), classes.dtype.str],
        "feature_names": getattr(estimator, "feature_names_in_", np.array(None)).tolist(),
        "likelihoods": encode(estimator.likelihoods, arrays),
        "schema": encode(schema, arrays),
        "plain": _describe_plain(schema.plain) if is_plain else None,
        "num_numbers": len(schema.kinds) if is_numbers else None,
    }


def _describe_plain(rows: PlainRows) -> dict[str, Any]:
    """What encodes few rows, as JSON."""
    fields = ("name", "kind", "text", "inferred", "values")
    blocks = {
        block: [{field: getattr(column, field) for field in fields} for column in columns]
        for block, columns in rows.blocks.items()
    }
    return {"names": rows.names, "blocks": blocks, "single": rows.single}


def _numbers(X: Any, num_columns: int | None) -> Array | None:
    """X itself if it is a numpy array of so many columns of finite numbers and NaN, else None."""
    if num_columns is None or type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "fiub":
        return None
    if X.shape[1] != num_columns or not X.size or (np.abs(X) > LARGEST_CELL).any():
        return None
    return X
