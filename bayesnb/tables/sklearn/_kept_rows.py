"""Learn from checked rows of the estimator: count them, alone or with those of earlier batches, plan, and fit.

Rows of the batches of ``partial_fit`` are kept, so that powers can be learned again when more have come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import bytes_per_row, is_sparse
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._arguments import check_factors
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.core.rows._model_statistics import ModelStatistics, discount, merge, places_of
from bayesnb.core.rows._part import choose_part, number_rows
from bayesnb.tables.frames._blocks import AnySchema
from bayesnb.tables.frames._words import require_vocabularies
from bayesnb.tables.sklearn import _settings as settings
from bayesnb.tables.sklearn._incremental import Which


@dataclass(frozen=True)
class KeptRows:
    """Encoded ``rows``, whether they are a ``single`` array, and whether they are the ``whole`` of those that came."""

    rows: LabelledRows
    single: bool
    whole: bool = True

    @classmethod
    def of(cls, encoded: Any, codes: Array, weight: Array | None, num_classes: int) -> Self:
        """A batch."""
        single = not isinstance(encoded, Mapping)
        return cls(LabelledRows({}, {"x": encoded} if single else encoded, Labels(codes, weight), num_classes), single)

    def recode(self, before: AnySchema, after: AnySchema, places: Array) -> Self:
        """The rows under a schema with more values; class k is number ``places[k]``."""
        labels = self.rows.labels._replace(y=places[self.rows.labels.y])
        return replace(self, rows=replace(self.rows, arrays=before.recode(self.rows.arrays, after), labels=labels))

    def discount(self, factor: float) -> Self:
        """The rows with their weights times ``factor``."""
        labels = self.rows.labels._replace(weight=factor * self.rows.weight())
        return self if factor == 1 else replace(self, rows=replace(self.rows, labels=labels))

    def above(self, batch: Self) -> Self:
        """These rows and a batch."""
        return replace(self, rows=replace(self.rows.above(batch.rows), num_classes=batch.rows.num_classes))

    def without(self, batch: Self) -> Self:
        """These rows without those of a batch: rows of the same weight, and else some of the weight of equal rows."""
        ours, theirs = number_rows(self.rows), number_rows(batch.rows)
        left, rest = self.rows.select(~np.isin(ours, theirs)), batch.rows.select(~np.isin(theirs, ours))
        if not rest.num_rows:
            return replace(self, rows=left)
        taken = replace(rest, labels=rest.labels._replace(weight=-rest.weight()))
        rows = choose_part(left.above(taken), np.full(left.num_classes, left.num_rows))
        return replace(self, rows=rows.select(rows.weight() > np.sqrt(np.finfo(float).eps) * self.rows.weight().max()))

    def cut(self) -> Self:
        """The rows that are kept: the whole while they are few, and from then on so many of each class."""
        if self.whole and self.rows.num_rows <= limits.KEPT_ROWS:
            return self
        row_bytes = sum(map(bytes_per_row, self.rows.arrays.values()))
        most = min(
            limits.KEPT_ROWS,
            max(limits.LEARNED_BYTES // max(row_bytes * self.rows.num_classes, 1), limits.FEWEST_OF_CLASS),
        )
        return replace(self, rows=choose_part(self.rows, np.full(self.rows.num_classes, most)), whole=False)

    @property
    def given(self) -> tuple[Any, Array, Array | None]:
        """X, the numbers of the classes and the weights, as they are counted."""
        arrays, labels = self.rows.arrays, self.rows.labels
        return arrays["x"] if self.single else arrays, labels.y, labels.weight


def learn_rows(estimator: Any, X: Any, classes: Array, codes: Array, weight: Array | None, *, which: Which) -> None:
    """Count checked rows, merge those that are "more" with earlier ones, and set the fitted attributes."""
    settings.require_temper(estimator.temper, estimator.method)
    settings.require_dependence(estimator.dependence, estimator.method, estimator.temper)
    check_factors(estimator.forgetting, [], "forgetting")
    more = which == "more"
    before, seen = (estimator.schema_, getattr(estimator, "_summaries", None)) if more else (None, None)
    given, summaries = settings.schema_of(X, estimator.likelihoods, estimator.missing, before, seen, weight)
    if which == "all":  # later batches may have words
        require_vocabularies(column for columns in given.blocks.values() for column in columns)
    batch = KeptRows.of(given.encode(X), codes, weight, len(classes))
    faded = float(estimator.forgetting) ** len(codes)
    rows, kept = batch, estimator._kept if more else None
    if kept is not None:
        places = places_of(estimator.classes_.tolist(), classes.tolist())
        rows = kept.recode(estimator.schema_, given, places).discount(faded).above(batch)
    some = rows if which == "all" else rows.cut()
    planned = plan_rows(estimator, given, classes, some)
    model = planned.model
    if more and (kept is None or not some.whole):
        schema, model, statistics = _merge(estimator, given, classes, batch, faded)
    else:
        schema, statistics = given.count(model, *rows.given)
        if schema is not given:
            model = estimator._model(schema, classes, views=settings.has_views(given, model))
    learned = estimator.fit_ if more and kept is None else planned._replace(model=model)
    estimator._set(schema, classes, model, statistics, learned, some)
    keeps = estimator.keep_rows and planned.powers is not False and (which == "first" or kept is not None)
    estimator._kept = some if keeps else None
    estimator._summaries = summaries
    estimator._declared = estimator._declared and more


def plan_rows(estimator: Any, schema: AnySchema, classes: Array, rows: KeptRows) -> settings.Plan:
    """The model of these rows, and what to learn from them."""
    asked = estimator.method, estimator.smoothing, schema, classes, estimator.class_prior, estimator.likelihoods
    sparse = [block for block, x in rows.rows.arrays.items() if is_sparse(x)]
    how: dict[str, Any] = {"temper": estimator.temper, "dependence": estimator.dependence, "sparse": sparse}
    return settings.plan(*asked, num_rows=rows.rows.num_rows, **how)


def _merge(
    estimator: Any, given: AnySchema, classes: Array, batch: KeptRows, faded: float
) -> tuple[AnySchema, NaiveBayes, ModelStatistics]:
    """The schema, the model and the statistics of earlier rows, whose weight has ``faded``, and of a batch."""
    views = settings.has_views(estimator.schema_, estimator.fit_.model)
    model = estimator._model(given, classes, views=views, again=True)
    schema, statistics = given.count(model, *batch.given)
    if schema is not given:
        model = estimator._model(schema, classes, views=views, again=True)
    before = estimator.schema_.spread(estimator.statistics_.named(None), schema)
    if len(classes) > len(estimator.classes_):
        before = before.spread_classes(places_of(classes.tolist(), estimator.classes_.tolist()))
    return schema, model, merge(discount(before, faded), statistics)
