"""A fit of the estimator, and how it comes from checked rows: describe and count them, plan, fit, learn.

Nothing here changes an estimator: each function returns what it is to hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.compute.arrays._placement import Array
from bayesnb.core.fits._closed_form import fit_map, fit_mle
from bayesnb.core.fits._em import fit_em
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Classifier
from bayesnb.core.rows._model_statistics import ModelStatistics, discount, merge, places_of, subtract
from bayesnb.core.rows._sufficient_statistics import follow
from bayesnb.tables.frames._blocks import AnySchema
from bayesnb.tables.frames._choices import AUTO
from bayesnb.tables.frames._classes import names_of, warn_of_labels
from bayesnb.tables.frames._refusals import first_row, in_words
from bayesnb.tables.frames._series import DataError
from bayesnb.tables.frames._words import require_vocabularies
from bayesnb.tables.sklearn import _settings as settings
from bayesnb.tables.sklearn._flags import with_flags, without_flags
from bayesnb.tables.sklearn._kept_rows import KeptRows
from bayesnb.tables.sklearn._settings import Parameters, Plan, has_views, schema_of, specification

LEAST_GAIN = 2.0
"""Nats: flags of gaps at random gain about -.7 (standard deviation 2) on the rows from which they learn powers."""


@dataclass(frozen=True)
class Fitted:
    """What the estimator holds once it is fitted.

    Attributes:
        schema: The columns, with the values that have occurred.
        classes: The labels [K], sorted.
        statistics: The sufficient statistics of all rows.
        fit: The result of the method.
        num_learned: The number of rows from which powers were learned; 0 for none.
        has_too_many_pairs: Whether dependence was wanted, and left out as columns have too many pairs.
        kept: Rows of batches from which powers are learned again when more have come.
        summaries: What later rows need to know of the values of these; see ``make_schema``.
        unlabelled: How many rows had no label, and by how much they moved p(y | x) of the rows, on average.
        left_out_nats: -log p(y | x, the other rows) of the rows from which the default learned; else NaN.
    """

    schema: AnySchema
    classes: Array
    statistics: ModelStatistics
    fit: Classifier
    num_learned: int = 0
    has_too_many_pairs: bool = False
    kept: KeptRows | None = None
    summaries: Any = None
    unlabelled: tuple[int, float] | None = None
    left_out_nats: float = np.nan

    @property
    def counts(self) -> ModelStatistics:
        """The statistics by the numbers of the classes."""
        return self.statistics.named(None)


class Batch(NamedTuple):
    """Checked rows, the classes [K], the numbers of the rows' classes [N], and their weights [N] or None.

    Rows that are ``unlabelled`` [N] have any number.
    """

    X: Any
    classes: Array
    codes: Array
    weight: Array | None
    unlabelled: Array | None = None

    def part(self, some: slice) -> Batch:
        """Some of its rows, without labels that are missing."""
        weight = None if self.weight is None else self.weight[some]
        return Batch(self.X[some], self.classes, self.codes[some], weight)


class Counted(NamedTuple):
    """The statistics of rows, counted for a model of columns with this schema."""

    schema: AnySchema
    model: NaiveBayes
    statistics: ModelStatistics


def _says_where(act: Callable[..., Fitted]) -> Callable[..., Fitted]:
    """Refusals of a batch that name the column, and the first row up to which the exact posterior is refused too."""

    @wraps(act)
    def of_batch(asked: Parameters, batch: Batch, *before: Fitted, **how: Any) -> Fitted:
        quick = asked._replace(method="posterior", temper=None, dependence=None, unlabelled=None)
        try:
            return act(asked, batch, *before, **how)
        except ValueError as error:
            row = first_row(error, len(batch.codes), lambda some: act(quick, batch.part(some), *before, **how))
            with suppress(ValueError), warnings.catch_warnings(action="ignore"):  # of rows that cannot be described
                schema = before[0].schema if before else _describe(asked, batch)[0]
                error.args = (in_words(str(error), schema, batch.classes),)
            error.args = (row + str(error),)
            raise

    return of_batch


@_says_where
def fit_rows(asked: Parameters, batch: Batch, *, is_first: bool) -> Fitted:
    """Fit rows alone; those of the first of several batches are kept, for powers to be learned again."""
    if not is_first:
        rows = batch.codes if batch.unlabelled is None else batch.codes[~batch.unlabelled]
        warn_of_labels(batch.classes, np.bincount(rows, minlength=len(batch.classes)))
    if batch.unlabelled is not None and batch.unlabelled.any():
        return fit_partly_labelled(asked, batch, batch.unlabelled)
    schema, summaries = _describe(asked, batch)
    if not is_first:  # later batches may have words
        require_vocabularies(column for columns in schema.blocks.values() for column in columns)
    rows = _encode(schema, batch)
    return fit_whole(asked, schema, batch.classes, rows, summaries, is_first=is_first)


def fit_whole(
    asked: Parameters, schema: AnySchema, classes: Array, rows: KeptRows, summaries: Any, *, is_first: bool
) -> Fitted:
    """Fit all rows anew; by default with flags of missing cells, if these earn their place."""
    if asked.missing != AUTO:
        return _fit_anew(asked, schema, classes, rows, summaries, is_first)
    schema, rows = without_flags(schema, rows)
    found = _fit_anew(asked, schema, classes, rows, summaries, is_first)
    if not may_flag(asked, found) or (flagged := with_flags(schema, rows)) is None:
        return found
    other = _fit_anew(asked, flagged[0], classes, flagged[1], summaries, is_first)
    return better_of(found, other)


def better_of(found: Fitted, flagged: Fitted) -> Fitted:
    """The fit with flags if the rows that teach powers gain more than ``LEAST_GAIN``."""
    return flagged if found.left_out_nats - flagged.left_out_nats > LEAST_GAIN else found


def may_flag(asked: Parameters, found: Fitted) -> bool:
    """Whether this fit without flags is to be compared with one that has them."""
    by_default = asked.missing == AUTO and asked.method == "default" and asked.temper is None
    return by_default and found.num_learned > 0


def _fit_anew(
    asked: Parameters, schema: AnySchema, classes: Array, rows: KeptRows, summaries: Any, is_first: bool
) -> Fitted:
    some = rows.cut() if is_first else rows
    planned = plan_rows(asked, schema, classes, some)
    counted = _count(asked, schema, classes, planned.model, rows)
    keeps = is_first and asked.keep_rows and planned.powers is not False
    return fit_counted(asked, counted, classes, planned, some, summaries, keeps=keeps)


def fit_partly_labelled(asked: Parameters, batch: Batch, unlabelled: Array) -> Fitted:
    """Fit rows of which some have no label: the MAP or the MLE by ``fit_em``."""
    asked = asked._replace(method="mle" if asked.method == "mle" else "map")
    schema, summaries = _describe(asked, batch)
    rows = _encode(schema, batch)
    schema, model, _ = _count(asked, schema, batch.classes, specification(asked, schema, batch.classes), rows)
    labelled = replace(rows, rows=rows.rows.select(~unlabelled))
    counted = Counted(schema, model, schema.count(model, *labelled.given)[1])
    without = fit_counted(asked, counted, batch.classes, Plan(model), None, summaries)
    X, codes, weight = rows.given
    y = np.where(unlabelled, -1, codes)
    fit: Classifier = fit_em(model, X, y, fit=fit_mle if asked.method == "mle" else fit_map, sample_weight=weight)
    by_class = settings.weight_by_class(asked.class_weight, batch.classes)
    fit = fit if by_class is None else settings.weigh_classes(fit, by_class)
    moved = np.abs(np.asarray(fit.predict_proba(X)) - without.fit.predict_proba(X)).max(axis=1).mean()
    return replace(without, fit=fit, unlabelled=(int(unlabelled.sum()), float(moved)))


@_says_where
def add_rows(asked: Parameters, batch: Batch, before: Fitted) -> Fitted:
    """Add a batch to a fit."""
    if before.kept is None:
        return add_without_rows(asked, before, batch)
    return add_with_rows(asked, before, before.kept, batch)


def add_with_rows(asked: Parameters, before: Fitted, kept: KeptRows, batch: Batch) -> Fitted:
    """Add a batch to a fit that has ``kept`` rows: while these are all that came, it is the fit of all anew."""
    schema, summaries = _describe(asked, batch, before)
    own, factor = _encode(schema, batch), float(asked.forgetting) ** len(batch.codes)
    places = places_of(before.classes.tolist(), batch.classes.tolist())
    rows = kept.recode(before.schema, schema, places).discount(factor).above(own)
    some = rows.cut()
    if some.whole:
        return fit_whole(asked, schema, batch.classes, rows, summaries, is_first=True)
    planned = plan_rows(asked, schema, batch.classes, some)
    counted = _add(asked, before, schema, batch.classes, own, factor)
    keeps = asked.keep_rows and planned.powers is not False
    return fit_counted(asked, counted, batch.classes, planned, some, summaries, keeps=keeps)


def add_without_rows(asked: Parameters, before: Fitted, batch: Batch) -> Fitted:
    """Add a batch to a fit that has kept no rows: its powers remain, and its dependence, which needs rows, does not."""
    schema, summaries = _describe(asked, batch, before)
    factor = float(asked.forgetting) ** len(batch.codes)
    counted = _add(asked, before, schema, batch.classes, _encode(schema, batch), factor)
    return fit_counted(asked, counted, batch.classes, before.fit, None, summaries)


@_says_where
def take_away(asked: Parameters, batch: Batch, before: Fitted) -> Fitted:
    """Take rows away from a fit.

    Raises:
        ValueError: if these rows cannot have been fitted.
    """
    if asked.forgetting != 1:
        raise ValueError(
            f"the weights of earlier rows have faded under forgetting={asked.forgetting!r}, so they cannot be taken "
            "away: use forgetting=1.0, or nb.subtract with the weights that they now have"
        )
    schema, classes = before.schema, before.classes
    given, _ = schema_of(batch.X, asked.likelihoods, asked.missing, schema)
    rows = _encode(given, batch)
    counted, part = given.count(model_like(asked, given, classes, before), *rows.given)
    for block, columns in schema.blocks.items():
        changed = [d for d, pair in enumerate(zip(columns, counted.blocks[block], strict=True)) if pair[0] != pair[1]]
        if changed:
            raise DataError(
                f"block '{block}', column {changed[0]}: the rows to forget hold a category that no fitted row had, or "
                "such a word, so they cannot have been fitted: give rows that were"
            )
    left = Counted(schema, model_like(asked, schema, classes, before), subtract(before.counts, part))
    if before.kept is None:
        return fit_counted(asked, left, classes, before.fit, None, before.summaries)
    kept = before.kept.without(rows)
    if kept.whole:  # bins are found again
        return fit_whole(asked, schema, classes, kept, before.summaries, is_first=True)
    planned = plan_rows(asked, schema, classes, kept)
    return fit_counted(asked, left, classes, planned, kept, before.summaries, keeps=True)


def fit_counted(
    asked: Parameters,
    counted: Counted,
    classes: Array,
    learned: Plan | Classifier,
    rows: KeptRows | None,
    summaries: Any = None,
    *,
    keeps: bool = False,
) -> Fitted:
    """Fit statistics, and learn from the ``rows``, those of the statistics or a part, what is planned.

    ``learned`` is the plan, or an earlier fit, whose powers remain.
    """
    options: dict[str, Any] = {}
    if asked.method == "nuts":
        from sklearn.utils import check_random_state  # takes half a second to import

        key = jax.random.key(check_random_state(asked.random_state).randint(2**31))
        options = {"key": key, "num_samples": asked.num_samples, "progress_bar": False}
    weight = settings.weight_by_class(asked.class_weight, classes)
    fit: Any = settings.FITS[asked.method](counted.model, statistics=counted.statistics, **options)
    fit, num_learned, too_many, nats = settings.learn(fit, learned, rows.given if rows is not None else ())
    fit = fit if weight is None else settings.weigh_classes(fit, weight)
    named = counted.statistics.named(names_of(classes))
    kept = rows if keeps else None
    return Fitted(counted.schema, classes, named, fit, num_learned, too_many, kept, summaries, left_out_nats=nats)


def plan_rows(asked: Parameters, schema: AnySchema, classes: Array, rows: KeptRows) -> Plan:
    """The model of these rows, and what to learn from them."""
    sparse = [block for block, x in rows.rows.arrays.items() if is_sparse(x)]
    return settings.plan(asked, schema, classes, num_rows=rows.rows.num_rows, sparse=sparse)


def _describe(asked: Parameters, batch: Batch, before: Fitted | None = None) -> tuple[AnySchema, Any]:
    """The schema of the rows, and of those before them, and what later rows need to know of their values."""
    schema, seen = (None, None) if before is None else (before.schema, before.summaries)
    return schema_of(batch.X, asked.likelihoods, asked.missing, schema, seen, batch.weight)


def _encode(schema: AnySchema, batch: Batch) -> KeptRows:
    return KeptRows.of(schema.encode(batch.X), batch.codes, batch.weight, len(batch.classes))


def _count(asked: Parameters, schema: AnySchema, classes: Array, model: NaiveBayes, rows: KeptRows) -> Counted:
    """The statistics of rows, under the schema with the codes that occur in them."""
    grown, statistics = schema.count(model, *rows.given)
    if grown is not schema:
        model = specification(asked, grown, classes, views=has_views(schema, model))
    return Counted(grown, model, statistics)


def _add(
    asked: Parameters, before: Fitted, schema: AnySchema, classes: Array, rows: KeptRows, factor: float
) -> Counted:
    """The statistics of earlier rows, whose weights fade by the factor, and of a batch."""
    grown, statistics = schema.count(model_like(asked, schema, classes, before), *rows.given)
    earlier = before.schema.spread(before.counts, grown)
    if len(classes) > len(before.classes):
        earlier = earlier.spread_classes(places_of(classes.tolist(), before.classes.tolist()))
    return Counted(grown, model_like(asked, grown, classes, before), merge(discount(earlier, factor), statistics))


def model_like(asked: Parameters, schema: AnySchema, classes: Array, before: Fitted) -> NaiveBayes:
    """The model of a schema whose statistics merge with those of an earlier fit."""
    views = has_views(before.schema, before.fit.model)
    return follow(specification(asked, schema, classes, views=views), before.statistics)
