"""A fitted classifier that changes: more rows, rows that are taken away, another population."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import jax
import numpy as np
import pandas as pd
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from bayesnb.arrays.class_table import is_class_table
from bayesnb.arrays.masked import without_mask
from bayesnb.arrays.typing import ArrayLike, ByColumn, ByLabel, LabelsLike, Table
from bayesnb.frames.blocks import Schema, make_schema
from bayesnb.frames.classes import codes_among, join_classes
from bayesnb.frames.informative import with_indicators
from bayesnb.frames.series import Array, DataError, warn
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import Classifier
from bayesnb.rows.arguments import check_factors
from bayesnb.rows.changes import subtract
from bayesnb.rows.statistics import ModelStatistics, follow
from bayesnb.sklearn.estimator_rows import ChecksRows
from bayesnb.sklearn.fit_methods import families_of, has_powers, has_views, ordered_probs
from bayesnb.sklearn.incremental import Which, declared_classes, sorted_classes

LEAST_WEIGHT = float(np.finfo(np.float64).tiny)


class ChangesLater(ChecksRows):
    """A classifier that is fitted again from its sufficient statistics, without its earlier rows."""

    class_prior: ArrayLike | ByLabel[float] | None
    class_weight: str | ByLabel[float] | None
    missing: str | ByColumn | None
    forgetting: float
    temper: bool | str | None
    fit_: Classifier
    _declared = False
    """Whether ``classes`` of ``partial_fit`` are all there will be."""

    @abstractmethod
    def _model(self, schema: Schema, classes: Array, *, views: bool) -> NaiveBayes:
        """The specification for rows with this schema and these classes; with ``views`` of inferred numbers."""

    @abstractmethod
    def _set(self, schema: Schema, classes: Array, model: NaiveBayes, statistics: ModelStatistics) -> None:
        """Fit the statistics, then set the fitted attributes."""

    def partial_fit(
        self, X: Table, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit these rows together with all earlier rows, unless ``temper`` is set; see ``IncrementalClassifier``.

        Classes need not be declared: one that appears later joins, and the fit is that of all classes declared in the
        first call, without a second look at earlier rows. Labels of a ``class_prior`` by label are known from the
        start. With ``classes`` in the first call a label that is not among them is refused; in a later call they may
        add some, and are then all.

        Likelihoods are inferred from the first rows and kept, with a warning where all rows together suggest others;
        priors that follow from the data are those of all rows so far, as in a fit of them.
        Powers that ``fit`` has learned are left out, with a warning, and views of numbers keep their cells.
        With declared likelihoods any split into batches, in any order, gives the fit of all rows; `histogram` keeps the
        edges that it finds in the first batch, so give a large one, or ``nb.Histogram(edges=...)``. With ``forgetting``
        each row discounts all rows before it, those of its own batch as well, so that any split of rows in order is the
        same.
        """
        if self.temper:
            raise ValueError(
                "temper looks at all rows again, which partial_fit does not keep: use fit, or temper=False and "
                "nb.temper(clf, X, y) at the end"
            )
        if self.__sklearn_is_fitted__() and has_powers(self.fit_):
            warn(
                "the powers that fit learned need all rows, and are left out from now on: with temper=False fit "
                "learns none"
            )
        check_factors(self.forgetting, [], "forgetting")
        if self.forgetting != 1 and y is not None:
            sample_weight = _fade(self.forgetting, y, sample_weight)
        may_grow = classes is None and not self._declared
        which: Which = "more" if self.__sklearn_is_fitted__() else "first"
        self._add(X, y, self._known_classes(classes), sample_weight, which=which, may_grow=may_grow)
        self._declared = not may_grow
        return self

    def _known_classes(self, declared: Any) -> Array | None:
        """The labels that are known before the next rows are looked at, sorted; None if there are none."""
        before = self.classes_ if self.__sklearn_is_fitted__() else None
        if declared is not None:
            return declared_classes(before, declared, may_grow=not self._declared)
        given = self.class_prior.to_dict() if isinstance(self.class_prior, pd.Series) else self.class_prior
        if self._declared or not isinstance(given, Mapping):
            return before
        of_prior = sorted_classes([*given])
        return of_prior if before is None else join_classes(before, of_prior)

    def forget(self, X: Table, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows away that were fitted: what remains is the fit without them, to rounding (``nb.subtract``).

        Likelihoods, categories and classes stay those of all rows that were ever fitted; a class without rows left is
        one that no row shows.

        Args:
            X: Rows [N, D] that were among the fitted ones, encoded as they were.
            y: Their labels [N].
            sample_weight: The weights [N] with which they were fitted.

        Raises:
            ValueError: if these rows cannot have been fitted, or powers were learned; the fit stays as it was.
        """
        check_is_fitted(self, "fit_")
        if self.temper or has_powers(self.fit_):
            raise ValueError(
                "the fit learned powers from the rows that are to be forgotten, and others need all rows again: fit "
                "the others, or use temper=False, forget and then nb.temper(clf, X, y) with the others"
            )
        if self.forgetting != 1:
            raise ValueError(
                f"the weights of earlier rows have faded under forgetting={self.forgetting!r}, so they cannot be taken "
                "away: use forgetting=1.0, or nb.subtract with the weights that they now have"
            )
        rows, labels, weight = self._rows(X, y, sample_weight, reset=False)
        codes, classes = codes_among(self.classes_, labels), self.classes_
        given, _ = self._schema_of(rows, self.schema_)
        views = has_views(self.schema_, self.fit_.model)
        model = follow(self._model(given, classes, views=views), self.statistics_)
        _, part = given.count(model, given.encode(rows), codes, weight)
        fitted = self.statistics_.named(None)
        if _sizes(part) != _sizes(fitted):
            raise DataError(
                "the rows to forget hold a category that no fitted row had, or such a word, so they cannot have been "
                "fitted: give rows that were"
            )
        left = subtract(fitted, part)
        model = follow(self._model(self.schema_, classes, views=views), self.statistics_)
        self._set(self.schema_, classes, model, left)
        return self

    def _schema_of(self, X: Any, before: Schema | None, seen: Any = None) -> tuple[Schema, Any]:
        """The schema of checked rows, and what later rows need to know of their values; see ``make_schema``."""
        if self.missing is not None and isinstance(self.likelihoods, NaiveBayes):
            raise DataError(
                f"missing={self.missing!r} adds a block, and likelihoods is a model with blocks of its own: add a "
                "Bernoulli block to it, and zeros and ones for missing cells to X"
            )
        schema, summaries = make_schema(X, families_of(self.likelihoods), before, seen)
        return with_indicators(schema, X, self.missing, before), summaries

    def with_class_prior(self, class_prior: ArrayLike | ByLabel[float] | None) -> Self:
        """A copy for a population with these class probabilities, given as to the constructor; ValueError if invalid.

        It is fitted to the same rows, and rows that ``partial_fit`` adds do not change its class probabilities.
        """
        check_is_fitted(self, "fit_")
        probs = ordered_probs(class_prior, self.classes_)
        if probs is None:
            raise ValueError("class_prior must be 'uniform', probabilities or a dict of them by label, got None")
        moved = copy(self)
        moved.fit_ = self.fit_.with_class_probs(probs)
        moved.class_prior = moved._prior_of_fit = class_prior
        moved.class_weight = None
        return moved


def _sizes(statistics: ModelStatistics) -> tuple[str, list[Any]]:
    """What differs if rows bring new categories or words."""
    leaves, structure = jax.tree.flatten(statistics, is_leaf=is_class_table)
    return str(structure), [np.shape(leaf) for leaf in leaves]


def _fade(factor: float, y: Any, sample_weight: Any) -> Any:
    """The weights of rows at the end of their batch; those of weight zero are absent, and let no other fade."""
    given = without_mask("sample_weight", sample_weight)
    weight = _check_sample_weight(given, y, dtype=np.float64, allow_all_zero_weights=True)
    present = weight > 0
    faded = weight * np.power(float(factor), np.cumsum(present[::-1])[::-1] - present)
    # a row that has all but faded still has its categories
    return np.where(present, np.maximum(faded, LEAST_WEIGHT), faded)
