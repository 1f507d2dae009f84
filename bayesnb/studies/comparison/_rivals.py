"""Rivals from scikit-learn: logistic regression and a random forest, with default settings."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayesnb.tables.frames._series import Array


@dataclass(frozen=True)
class Rival:
    """A fitted pipeline with the prediction interface of the other methods."""

    pipeline: Pipeline
    num_classes: int
    numbers: Collection[str] = ("numeric",)

    def predict_log_proba(self, X: Mapping[str, Array]) -> Array:
        """log p(y = k | x), [N, K]; -inf for a class without training rows."""
        matrix = _matrix(X, self.numbers)
        proba = np.zeros((len(matrix), self.num_classes))
        proba[:, self.pipeline.classes_] = self.pipeline.predict_proba(matrix)
        with np.errstate(divide="ignore"):
            return np.log(proba)


def fit_rival(
    method: str,
    X: Mapping[str, Array],
    y: Array,
    numbers: Collection[str] = ("numeric",),
    *,
    num_classes: int,
    seed: int,
) -> Rival:
    """One of the two rivals, fitted to the rows of a table; some of the classes may have no rows.

    Columns in other blocks than ``numbers`` are one-hot encoded, and a missing cell is a level of its own; numbers are
    standardised, and missing ones replaced by the column's mean. The seed is that of the random forest.
    """
    columns = list(range(sum(values.shape[1] for values in X.values())))
    num_levels = sum(values.shape[1] for block, values in X.items() if block not in numbers)
    features = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), columns[:num_levels]),
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), columns[num_levels:]),
    )
    classifier = RandomForestClassifier(300, random_state=seed)
    if len(np.unique(y)) == 1:  # logistic regression refuses a single class
        classifier = DummyClassifier()
    elif method == "logistic regression":
        classifier = LogisticRegression(max_iter=1000)
    pipeline = make_pipeline(features, classifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # keep the result at the step limit, as a user would
        pipeline.fit(_matrix(X, numbers), y)
    return Rival(pipeline, num_classes, numbers)


def _matrix(X: Mapping[str, Array], numbers: Collection[str]) -> Array:
    """All blocks concatenated, [N, D]; numbers come last."""
    return np.hstack([X[block] for block in sorted(X, key=lambda block: block in numbers)])
