"""Learn from checked rows of the estimator: count them, alone or with those of earlier batches, plan, and fit."""

from __future__ import annotations

from typing import Any

from bayesnb.arrays._cells import is_sparse
from bayesnb.arrays._placement import Array
from bayesnb.frames._blocks import AnySchema
from bayesnb.model._naive_bayes import NaiveBayes
from bayesnb.rows._arguments import check_factors
from bayesnb.rows._model_statistics import ModelStatistics, discount, merge, places_of
from bayesnb.sklearn import _settings as settings
from bayesnb.sklearn._incremental import Which
from bayesnb.sklearn._kept_rows import KeptRows


def learn_rows(estimator: Any, X: Any, classes: Array, codes: Array, weight: Array | None, *, which: Which) -> None:
    """Count checked rows, merge those that are "more" with earlier ones, and set the fitted attributes."""
    settings.require_temper(estimator.temper, estimator.method)
    settings.require_dependence(estimator.dependence, estimator.method, estimator.temper)
    check_factors(estimator.forgetting, [], "forgetting")
    more = which == "more"
    earlier = (estimator.schema_, getattr(estimator, "_summaries", None)) if more else (None, None)
    given, summaries = settings.schema_of(X, estimator.likelihoods, estimator.missing, *earlier)
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
