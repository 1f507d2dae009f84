"""The fit of each method of a comparison to rows X, y of a ``DataSet``, which has the models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.compute.arrays._placement import Array
from bayesnb.core.fits._averaged import fit_averaged
from bayesnb.core.fits._closed_form import fit_map, fit_mle, fit_posterior
from bayesnb.core.fits._empirical import EmpiricalPosterior, fit_empirical
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Posterior
from bayesnb.inspection._num_parameters import num_values
from bayesnb.learned.validation._temper import temper_fitted
from bayesnb.studies.comparison._methods import REFERENCE
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.sklearn._fitted import Fitted, fit_whole
from bayesnb.tables.sklearn._kept_rows import KeptRows
from bayesnb.tables.sklearn._settings import Parameters

if TYPE_CHECKING:
    from bayesnb.studies.comparison._data_sets import DataSet


def fit_learned_prior(model: NaiveBayes, X: Any, y: Array) -> EmpiricalPosterior:
    """The fit under the learned prior, without warnings: a table of many runs has no place for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit_empirical(model, X, y)


def fit_default(data: DataSet, X: Any, y: Array) -> Posterior | Fitted:
    """What the estimator fits to these rows: learned powers, dependence, and flags of missing cells if they gain."""
    if data.model is not None:
        return fit_posterior(data.model, X, y)
    schema, classes = Schema(data.table.columns), np.array(data.table.classes)
    rows = KeptRows.of(X, y, None, len(classes))
    return fit_whole(Parameters(), schema, classes, rows, None, is_first=False)


def _fit_rival(name: str, data: DataSet, X: Any, y: Array) -> Any:
    from bayesnb.studies.comparison._rivals import fit_rival  # scikit-learn takes a second to import

    families = data.bayes.families
    numbers = [block for block, family in families.items() if num_values(family, X[block].shape[1]) is None]
    return fit_rival(name, X, y, numbers, num_classes=data.num_classes, seed=data.seed)


FIT_OF: Mapping[str, Callable[[DataSet, Any, Array], Any]] = {
    "MLE": lambda data, X, y: fit_mle(data.bayes, X, y),
    "MAP": lambda data, X, y: fit_map(data.laplace, X, y),
    REFERENCE: lambda data, X, y: fit_posterior(data.bayes, X, y),
    "learned prior": lambda data, X, y: fit_learned_prior(data.bayes, X, y),
    "averaged": lambda data, X, y: fit_averaged(data.bayes, X, y),
    "tempered": lambda data, X, y: temper_fitted(fit_posterior(data.bayes, X, y), X, y, per_feature=False)[0],
    "feature weights": lambda data, X, y: temper_fitted(fit_posterior(data.bayes, X, y), X, y, per_feature=True)[0],
    "default": fit_default,
    "logistic regression": partial(_fit_rival, "logistic regression"),
    "random forest": partial(_fit_rival, "random forest"),
}
"""By the names of ``COMPARED``; a ``Fitted`` says which flags rows need."""
