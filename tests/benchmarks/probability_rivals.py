"""scikit-learn's classifiers for the benchmark of probabilities, each as a careful user would set it up.

Levels are one-hot encoded and numbers standardised, missing numbers replaced by the mean; boosting takes both as they
are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayesnb.compute.arrays._placement import Array
from bayesnb.studies.comparison._rivals import Rival, fit_rival
from tests.benchmarks.probability_methods import NUMBERS, Method, Rows

MOST_FOLDS, MOST_STEPS = 5, 1000


def _levels_and_numbers(X: dict[str, Array]) -> Array:
    """All blocks side by side, [N, D], numbers last, as ``Rival`` has them."""
    return np.hstack([X[block] for block in sorted(X, key=lambda block: block == NUMBERS)])


def _num_levels(rows: Rows) -> list[int]:
    """The number of values of each column that is not a number."""
    blocks = [block for block in rows.X if block != NUMBERS]
    return [n for block in blocks for n in rows.model.families[block].category_sizes(rows.X[block].shape[1])]


def _encoded(rows: Rows, classifier: Any) -> Any:
    columns = list(range(_levels_and_numbers(rows.X).shape[1]))
    cut = len(_num_levels(rows))
    features = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), columns[:cut]),
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), columns[cut:]),
    )
    return make_pipeline(features, classifier)


def _rival(make: Callable[[Rows], Any], rows: Rows) -> Rival:
    fitted = make(rows).fit(_levels_and_numbers(rows.X), rows.y)
    return Rival(fitted, rows.model.num_classes, (NUMBERS,))


def _folds(y: Array) -> int:
    """Folds of an inner cross-validation: every class has a row in each; fewer than two if a class has a single row."""
    return min(MOST_FOLDS, min(count for count in np.bincount(y) if count))


def _logistic_regression(rows: Rows) -> Any:
    """The L2 penalty with the lowest log loss of ten; C = 1 if a class has a single row."""
    if _folds(rows.y) < 2:
        return _encoded(rows, LogisticRegression(max_iter=MOST_STEPS))
    chosen = LogisticRegressionCV(
        cv=_folds(rows.y), scoring="neg_log_loss", max_iter=MOST_STEPS, l1_ratios=(0,), use_legacy_attributes=False
    )
    return _encoded(rows, chosen)


def _gaussian(rows: Rows) -> Any:
    """GaussianNB with Platt's calibration; without it if a class has a single row."""
    plain = _encoded(rows, GaussianNB())
    return plain if _folds(rows.y) < 2 else CalibratedClassifierCV(plain, cv=_folds(rows.y))


def _boosting(rows: Rows) -> Any:
    levels = list(range(len(_num_levels(rows))))
    return HistGradientBoostingClassifier(categorical_features=levels, random_state=rows.seed)


def _random_forest(rows: Rows) -> Rival:
    return fit_rival(
        "random forest", rows.X, rows.y, (NUMBERS,), num_classes=rows.model.num_classes or 0, seed=rows.seed
    )


@dataclass(frozen=True)
class Product:
    """GaussianNB of the numbers times CategoricalNB of the levels, over the class prior that both have."""

    parts: tuple[tuple[bool, Any], ...]
    num_classes: int

    def predict_log_proba(self, X: dict[str, Array]) -> Array:
        """log p(y = k | x), [N, K]; -inf for a class without training rows."""
        classes = self.parts[0][1][-1].classes_
        joint = sum(part.predict_log_proba(_side(X, numbers)) for numbers, part in self.parts)
        prior = np.log(self.parts[0][1][-1].class_count_)
        result = np.full((len(joint), self.num_classes), -np.inf)
        result[:, classes] = log_softmax(joint - (len(self.parts) - 1) * prior, axis=1)
        return result


def _side(X: dict[str, Array], numbers: bool) -> Array:
    """The numbers, or the levels with NaN for missing ones."""
    blocks = [X[block] for block in X if (block == NUMBERS) == numbers]
    return np.hstack(blocks) if numbers else np.where(np.hstack(blocks) < 0, np.nan, np.hstack(blocks))


def fit_product(rows: Rows) -> Product:
    """scikit-learn's naive Bayes of mixed tables; missing numbers become the mean, missing levels the most frequent."""
    parts: dict[bool, Any] = {}
    if NUMBERS in rows.X:
        parts[True] = make_pipeline(SimpleImputer(keep_empty_features=True), GaussianNB())
    if set(rows.X) - {NUMBERS}:
        frequent = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
        parts[False] = make_pipeline(frequent, CategoricalNB(min_categories=_num_levels(rows)))
    fitted = tuple((numbers, part.fit(_side(rows.X, numbers), rows.y)) for numbers, part in parts.items())
    return Product(fitted, rows.model.num_classes or 0)


RIVALS: dict[str, Method] = {
    "random forest": _random_forest,
    "logistic regression": partial(_rival, _logistic_regression),
    "boosting": partial(_rival, _boosting),
    "GaussianNB, calibrated": partial(_rival, _gaussian),
    "scikit-learn's NB": fit_product,
}
