"""The fit and the rows behind what a user gives: an estimator, or a pipeline that ends in one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any


def unwrap(fit: Any, X: Any = None) -> tuple[Any, Any]:
    """The fit of a ``NaiveBayesClassifier`` with its encoded rows; another fit and its rows as they are."""
    if not hasattr(fit, "encoded"):
        return fit, X
    rows = None if X is None else fit.encoded(X)
    return getattr(fit, "fit_", fit), rows


def unwrap_pipeline(fit: Any, X: Any = None) -> tuple[Any, Any, Mapping[str, Any]]:
    """As ``unwrap``, also of a ``Pipeline``, whose rows are what its first step takes; and the ``known_names``.

    ``feature_names_out`` among them are the names that the steps before the estimator give to their columns.
    """
    before, last = (fit[:-1], fit[-1]) if hasattr(fit, "named_steps") else (None, fit)
    names = dict(getattr(last, "known_names", {}))
    if before:
        X = None if X is None else before.transform(X)
        if not hasattr(last, "feature_names_in_"):
            with suppress(AttributeError):  # not every step knows its columns
                names["feature_names_out"] = before.get_feature_names_out()
    return *unwrap(last, X), names
