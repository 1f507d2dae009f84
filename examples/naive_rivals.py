"""What else a user would pick from scikit-learn for tables of codes and numbers; honest_confidence.py uses it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline

# the inner parts of `bayesnb compare`, which have no public names: its rivals and tables
from bayesnb.studies.comparison._rivals import Rival, fit_rival
from bayesnb.tables.files._description import Table

Array = np.ndarray[Any, Any]

STRENGTHS = np.logspace(-3, 3, 7)
"""The inverse penalties C of logistic regression that cross-validation chooses from."""


class PlugIn(ClassifierMixin, BaseEstimator):
    """CategoricalNB(alpha=1) on the first columns, codes of so many values each, and GaussianNB on the numbers.

    A missing code is a value of its own, a missing number the column's mean.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes

    def fit(self, matrix: Array, y: Array) -> PlugIn:
        """Fit each to its columns."""
        self.classes_, counts = np.unique(y, return_counts=True)
        self.log_prior_ = np.log(counts / len(y))
        self.means_ = np.nanmean(matrix[:, len(self.sizes) :], axis=0)
        both = CategoricalNB(alpha=1.0, min_categories=np.add(self.sizes, 1)), GaussianNB()
        parts = zip(both, self._parts(matrix), strict=True)
        self.fits_ = [estimator.fit(part, y) if part.shape[1] else None for estimator, part in parts]
        return self

    def predict_log_proba(self, matrix: Array) -> Array:
        """log p(y = k | x), [N, classes]; the class prior counts once."""
        joint = np.tile(self.log_prior_, (len(matrix), 1))
        for fit, part in zip(self.fits_, self._parts(matrix), strict=True):
            if fit is not None:
                joint += fit.predict_joint_log_proba(part) - self.log_prior_
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)

    def predict_proba(self, matrix: Array) -> Array:
        """p(y = k | x), [N, classes]."""
        return np.exp(self.predict_log_proba(matrix))

    def _parts(self, matrix: Array) -> tuple[Array, Array]:
        codes, numbers = np.split(matrix, [len(self.sizes)], axis=1)
        return np.where(codes >= 0, codes, self.sizes).astype(int), np.where(np.isnan(numbers), self.means_, numbers)


class Unclipped(Rival):
    """A rival that has logarithms of its own, which go below that of the smallest number."""

    def predict_log_proba(self, X: Mapping[str, Array]) -> Array:
        """log p(y = k | x), [N, K]; -inf for a class that the training rows lacked."""
        matrix = np.hstack([*X.values()])
        table = np.full((len(matrix), self.num_classes), -np.inf)
        table[:, self.pipeline.classes_] = self.pipeline.predict_log_proba(matrix)
        return table


def rivals(table: Table, X: dict[str, Array], y: Array, seed: int) -> dict[str, Rival]:
    """Fits from scikit-learn; a class with a single row cannot be cross-validated, so plain fits stand in there."""
    num_classes, matrix = len(table.classes), np.hstack([*X.values()])
    sizes = tuple(len(column.values) for column in table.columns if column.kind != "normal")
    plug_in = PlugIn(sizes).fit(matrix, y)
    logistic = fit_rival("logistic regression", X, y, num_classes=num_classes, seed=seed)
    found = {
        "smoothed plug-in": Unclipped(plug_in, num_classes),
        "calibrated plug-in": Unclipped(plug_in, num_classes),
        "logistic regression": logistic,
        "cross-validated logistic": logistic,
        "random forest": fit_rival("random forest", X, y, num_classes=num_classes, seed=seed),
    }
    folds = min(5, np.bincount(y, minlength=num_classes).min())
    if folds < 2:
        return found
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": STRENGTHS}, scoring="neg_log_loss", cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what the steps reached is what the user would get
        validated = make_pipeline(clone(logistic.pipeline[0]), search).fit(matrix, y)  # the same columns, standardised
    calibrated = CalibratedClassifierCV(PlugIn(sizes), cv=folds).fit(matrix, y)
    return found | {
        "cross-validated logistic": Rival(validated, num_classes),
        "calibrated plug-in": Rival(calibrated, num_classes),
    }
