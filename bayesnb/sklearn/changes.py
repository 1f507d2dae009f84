"""A fitted estimator changes: a batch of rows is added to it, or rows that it has counted are taken away."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from bayesnb.arrays.class_table import is_class_table
from bayesnb.arrays.user_warnings import warn
from bayesnb.frames.classes import codes_among
from bayesnb.frames.series import DataError
from bayesnb.rows.arguments import check_factors
from bayesnb.rows.model_statistics import subtract
from bayesnb.rows.statistics import ModelStatistics
from bayesnb.sklearn.incremental import fade_weights, known_classes
from bayesnb.sklearn.settings import has_powers, has_views, schema_of


def add_batch(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> Any:
    """The estimator, fitted to these rows as well; see its ``partial_fit``."""
    if estimator.temper:
        raise ValueError(
            "temper looks at all rows again, which partial_fit does not keep: use fit, or temper=False and "
            "nb.temper(clf, X, y) at the end"
        )
    fitted = estimator.__sklearn_is_fitted__()
    if fitted and has_powers(estimator.fit_):
        warn(
            "the powers that fit learned need all rows, and are left out from now on: with temper=False fit learns none"
        )
    check_factors(estimator.forgetting, [], "forgetting")
    if estimator.forgetting != 1 and y is not None:
        sample_weight = fade_weights(estimator.forgetting, y, sample_weight)
    before = estimator.classes_ if fitted else None
    known = known_classes(before, classes, estimator.class_prior, declared=estimator._declared)
    may_grow = classes is None and not estimator._declared
    estimator._add(X, y, known, sample_weight, which="more" if fitted else "first", may_grow=may_grow)
    estimator._declared = not may_grow
    return estimator


def take_away(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """The estimator without these rows; see its ``forget``."""
    if estimator.temper or has_powers(estimator.fit_):
        raise ValueError(
            "the fit learned powers from the rows that are to be forgotten, and others need all rows again: fit "
            "the others, or use temper=False, forget and then nb.temper(clf, X, y) with the others"
        )
    if estimator.forgetting != 1:
        raise ValueError(
            f"the weights of earlier rows have faded under forgetting={estimator.forgetting!r}, so they cannot be "
            "taken away: use forgetting=1.0, or nb.subtract with the weights that they now have"
        )
    rows, labels, weight = estimator._rows(X, y, sample_weight, reset=False)
    schema, classes = estimator.schema_, estimator.classes_
    codes, views = codes_among(classes, labels), has_views(schema, estimator.fit_.model)
    given, _ = schema_of(rows, estimator.likelihoods, estimator.missing, schema)
    model = estimator._model(given, classes, views=views, again=True)
    _, part = given.count(model, given.encode(rows), codes, weight)
    fitted = estimator.statistics_.named(None)
    if _sizes(part) != _sizes(fitted):
        raise DataError(
            "the rows to forget hold a category that no fitted row had, or such a word, so they cannot have been "
            "fitted: give rows that were"
        )
    model = estimator._model(schema, classes, views=views, again=True)
    estimator._set(schema, classes, model, subtract(fitted, part))
    return estimator


def _sizes(statistics: ModelStatistics) -> tuple[str, list[Any]]:
    """What differs if rows bring new categories or words."""
    leaves, structure = jax.tree.flatten(statistics, is_leaf=is_class_table)
    return str(structure), [np.shape(leaf) for leaf in leaves]
