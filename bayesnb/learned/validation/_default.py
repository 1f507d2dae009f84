"""What ``NaiveBayesClassifier`` learns by default: powers, and the shares of parts with dependence in an average.

The parts are the posterior of the columns, the same with the "best" forest of dependence and with "aode"
(``_forest_parts``), and with covariances of numbers, one for all classes ("lda") and one for each ("qda")
(``_covariance_parts``). All judge the same rows, and one loop treats them alike:

- A part learns its powers from its table of leave-one-out log ratios, as ``temper`` does.
- Up to ``limits.FEW_ROWS`` rows a part with dependence has a second table, by folds, whose segments, edges and priors
  of covariances have not seen the row either. It learns from each, and the one with the larger loss counts.
- The shares of the parts are ``stacking_weights`` of what they say of the rows then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.compute.arrays._loops import one_blas_thread
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives.products._linear_scores import prepare_predictive
from bayesnb.core.families._views import generative_share, shares, with_covariance
from bayesnb.core.fits._closed_form import fit_posterior
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._combine import log_average
from bayesnb.core.rows._checks import columns_in
from bayesnb.core.rows._labelled_rows import LabelledRows, label_rows
from bayesnb.core.rows._part import hash_rows
from bayesnb.core.rows._sufficient_statistics import summarise
from bayesnb.learned.forests._fit import choose_parents, find_preferences
from bayesnb.learned.forests._layout import Layout, Segments, has_categories, is_integrated, lay_out, segments_of
from bayesnb.learned.forests._left_out_ratios import left_out_of_each
from bayesnb.learned.forests._pairs import PairStatistics, count_pairs
from bayesnb.learned.forests._posterior import ForestPosterior, score_forests
from bayesnb.learned.forests._stacked import COLUMNS, COVARIANCES, average
from bayesnb.learned.forests._structures import STRUCTURES
from bayesnb.learned.validation._learn_powers import learn_powers
from bayesnb.learned.validation._ratio_table import (
    Groups,
    Judged,
    LeftOutRatios,
    count_features,
    left_out_log_ratios,
    part_of,
    softmax,
)
from bayesnb.learned.validation._relevance import can_learn_each, is_wide, judge_relevance
from bayesnb.learned.validation._stacking import find_shares
from bayesnb.learned.validation._temper import raise_words, with_powers, without_forest

WITHOUT, WITH = 3.0, 2.0
"""The Dirichlet prior of the shares, of the part without dependence and of each with it: before any row is seen the
first has twice the share of each other.
"""

NUM_FOLDS = 5
"""Of few rows: ten are as good, and cost twice as much."""

WIDE, FOLDS_OF_WIDE = 100, 3
"""Of more columns, whose pairs each fold counts anew, there are fewer folds."""

NUM_FACTORS = 10
"""Of each covariance: for the posterior, for rows left out, for folds, for predictions."""

Count = Callable[[NaiveBayes, Layout, Segments], PairStatistics]
"""Counts the pairs of rows of a model, of columns in this layout with these segments."""


class Part(NamedTuple):
    """A model in the average: its ``fit`` before powers, and ``tables`` of rows left out, which each suggest powers."""

    name: str
    fit: Any
    tables: list[LeftOutRatios]


class Default(NamedTuple):
    """The fit with what was learned, on how many rows, and whether columns have too many pairs for forests.

    ``left_out_nats`` is -log p(y | x, the other rows) of the rows that it learned on, with their weights.
    """

    fit: Any
    num_learned: int
    has_too_many_pairs: bool
    left_out_nats: float


def fit_default(
    exact: Posterior,
    X: Any,
    y: Any,
    weight: Any,
    *,
    by_feature: Collection[str],
    structures: Sequence[str],
    count: Count | None = None,
) -> Default:
    """The posterior with powers, learned on rows that are known to be its own or a part; averaged with dependence.

    Args:
        exact: The posterior.
        X: The rows.
        y: The numbers of their classes [N].
        weight: Their weights [N], or None.
        by_feature: The blocks of which each feature has a power of its own; any other block has one.
        structures: The parts of the average; a single structure of forests without "columns" is no average.
        count: Counts the pairs of all rows if those given are a part.
    """
    rows = label_rows(exact.model, X, y, weight).drop_unused()
    some = part_of(exact, rows, sum(count_features(rows, by_feature).values()))
    table = left_out_log_ratios(exact, some, by_feature=by_feature)
    folds = _folds(exact, table, some)
    with one_blas_thread():  # of few rows its threads wait for each other more than they work
        table, words = raise_words(table)
        forests, has_too_many_pairs = _find_forests(exact, rows, some, structures, count)
        parts = [
            Part(COLUMNS, exact, [table]),
            *_forest_parts(forests, table, some, folds),
            *_covariance_parts(exact, table, some, structures, folds),
        ]
    fits, nats, total = dict[str, Any](), list[Array](), _total(exact, rows)
    for part in parts:
        judged = _judge_part(part, some, total)
        fits[part.name] = with_powers(part.fit, part.tables[0].sizes, judged.powers, words)
        nats.append(judged.nats)
    if COLUMNS not in structures or len(fits) == 1:
        return Default([*fits.values()][-1], some.num_rows, has_too_many_pairs, float(some.weight() @ nats[-1]))
    of_parts = find_shares(np.stack(nats, axis=1), table.weight, [WITHOUT, *[WITH] * (len(nats) - 1)])
    of_rows = np.column_stack([*nats, -log_average([-one for one in nats], of_parts)])
    averaged = average(fits, of_parts, table.weight @ of_rows / table.weight.sum())
    return Default(averaged, some.num_rows, has_too_many_pairs, float(some.weight() @ of_rows[:, -1]))


def _total(exact: Posterior, rows: LabelledRows) -> float:
    """How many rows there are, of which equal ones may be one of a weight."""
    return max(rows.num_rows, float(np.sum(exact.statistics.class_counts)))


def _judge_part(part: Part, rows: LabelledRows, total: float) -> Judged:
    """The powers of a part, of two tables those with the larger loss.

    Where features are more than the ``total`` rows, columns have the powers of relevant ones, or a power for each if
    that predicts the rows better and takes seconds.
    """

    def loss(judged: Judged) -> float:
        return float(first.weight @ judged.nats)

    first, found = part.tables[0], list[Judged]()
    takes_seconds = part.name != COLUMNS or can_learn_each(rows.num_rows, rows.num_classes, first.num_features)
    if takes_seconds:
        found.append(max((_judge(part.fit, one) for one in part.tables), key=loss))
    if part.name == COLUMNS and (is_wide(first.sizes, total) or not takes_seconds):
        found.append(judge_relevance(part.fit, rows, first))
    return min(found, key=loss)


def _judge(fit: Posterior | ForestPosterior, table: LeftOutRatios) -> Judged:
    """What a table suggests; of several views a forest, whose pairs are those of bins, takes the Histogram alone."""
    of_views = shares if table.forest is None else generative_share
    groups = Groups.of(without_forest(fit).prior.families, table.sizes, of_views)
    with one_blas_thread():
        powers = learn_powers(groups, table)
    return Judged(powers, softmax(table.joint(powers))[1])


def _find_forests(
    exact: Posterior, rows: LabelledRows, some: LabelledRows, structures: Sequence[str], count: Count | None
) -> tuple[dict[str, ForestPosterior], bool]:
    """The forests by structure, {} where dependence cannot be; and whether columns have too many pairs."""
    wanted = [one for one in structures if one in STRUCTURES]
    dependence = find_dependence(exact, rows) if wanted and rows.num_rows else None
    if dependence is None:
        return {}, False
    layout, segments, apart = dependence
    if _has_too_many_pairs(rows, layout, segments, some.num_rows):
        return {}, True
    joined = layout.joined(segments)
    pairs = count_pairs(layout, rows, joined) if count is None else count(exact.model, layout, joined)
    forest = ForestPosterior(exact, pairs, segments=segments, apart=apart)
    return _each(forest, wanted, find_preferences(forest)), False


def _folds(exact: Posterior, table: LeftOutRatios, rows: LabelledRows) -> list[Array]:
    """The rows of each fold, as masks [N]; none where rows are more than few, or none.

    The rows of a class are dealt in the order of their left-out log odds, which no order, name or unit changes. Equal
    rows, a row with its whole weight, and others that tie, share a fold. A class of which all rows tie, as where only
    dependence tells classes apart, has a fold for each of its different rows.
    """
    y = rows.labels.y
    if not len(y) or _total(exact, rows) > limits.FEW_ROWS:
        return []
    num_columns = sum(x.shape[1] for x in rows.arrays.values() if not is_sparse(x))
    num_folds = NUM_FOLDS if num_columns <= WIDE else FOLDS_OF_WIDE
    odds = table.odds_against()
    ranks, different = _ranks(odds), np.unique(hash_rows(rows), return_inverse=True)[1]
    highest = np.array([odds[y == k].max() for k in y])  # classes one after the other, so that each is in all folds
    fold_of = np.unique(len(y) * _ranks(highest) + ranks, return_inverse=True)[1] % num_folds
    for own in (y == k for k in np.unique(y)):
        if not np.ptp(ranks[own]) and np.ptp(different[own]):
            fold_of[own] = num_folds + different[own]
    return [fold_of == fold for fold in np.unique(fold_of)]


def _ranks(numbers: Array) -> Array:
    """The rank of each number [N] among the different ones, from 0; sums of another order agree to 1e-9."""
    order = np.argsort(numbers)
    in_order, ranks = numbers[order], np.zeros(len(order), int)
    ranks[order[1:]] = np.cumsum(~np.isclose(in_order[1:], in_order[:-1], rtol=1e-9, atol=1e-9))
    return ranks


def _forest_parts(
    forests: Mapping[str, ForestPosterior], table: LeftOutRatios, rows: LabelledRows, folds: Sequence[Array]
) -> list[Part]:
    """The parts with forests, whose log ratio is one feature more; of few rows also that of the other folds."""
    if not forests:
        return []
    fits = [*forests.values()]
    ratios = [left_out_of_each(fits, rows, np.minimum(rows.weight(), 1.0))]
    if folds:
        ratios.append(_ratios_of_folds(fits, rows, folds))
    return [
        Part(one.structure, one, [table.with_forest(of_each[m], rows.labels.y) for of_each in ratios])
        for m, one in enumerate(fits)
    ]


def _each(forest: ForestPosterior, structures: Sequence[str], preferences: Array) -> dict[str, ForestPosterior]:
    """The same statistics with each of the structures."""
    return {one: choose_parents(replace(forest, structure=one), preferences) for one in structures}


def _ratios_of_folds(forests: Sequence[ForestPosterior], rows: LabelledRows, folds: Sequence[Array]) -> Array:
    """The log ratios of rows by forests of the other folds, with segments and edges of their own, [M, N, K]."""
    first, structures = forests[0], [forest.structure for forest in forests]
    preferences = find_preferences(first)  # columns that are alike in some rows may differ in all
    ratios = np.empty((len(forests), rows.num_rows, rows.num_classes))
    for fold in folds:
        others = rows.select(~fold)
        fit = fit_posterior(first.posterior.prior, statistics=summarise(others))
        segments = segments_of(replace(first, posterior=fit).families, fit.model.columns)
        pairs = count_pairs(first.layout, others, first.layout.joined(segments))
        found = _each(ForestPosterior(fit, pairs, segments=segments, apart=first.apart), structures, preferences)
        ratios[:, fold] = score_forests([*found.values()])(rows.select(fold).arrays)
    return ratios


def _covariance_parts(
    exact: Posterior, table: LeftOutRatios, rows: LabelledRows, parts: Sequence[str], folds: Sequence[Array]
) -> Iterator[Part]:
    """The parts that have a covariance of numbers, of which a view is a Normal: each block of them is one feature, of
    the log p of left-out rows, and of few rows by the other folds, whose prior has not seen the row either.

    A row that lacks a number teaches them nothing, and is judged by those it has.
    """
    families, arrays = exact.prior.families, rows.arrays
    numbers = [name for name, f in families.items() if with_covariance(f, "full") and arrays[name].shape[1] > 1]
    # columns without a number are 0: they then have no variance and carry no information
    given: dict[str, Array] = {n: np.where(np.isnan(arrays[n]).all(axis=0), 0.0, arrays[n]) for n in numbers}
    lacks = {name: np.isnan(x).any(axis=1) for name, x in given.items()}
    numbers = [name for name in numbers if not lacks[name].all()]
    wanted = [part for part in parts if part in COVARIANCES and _is_affordable(rows, [given[n] for n in numbers])]
    models = {
        part: NaiveBayes({name: with_covariance(families[name], COVARIANCES[part]) for name in numbers})
        for part in wanted
    }
    if not models:
        return
    cells = {name: np.where(lacks[name][:, None], np.nan, given[name]) for name in numbers}
    counted = summarise(replace(rows, families=models[wanted[0]].families, arrays=cells))
    statistics = replace(exact.statistics, blocks=exact.statistics.blocks | counted.blocks)
    left_out = rows.labels.y, np.minimum(rows.weight(), 1.0)
    for part, model in models.items():
        own = model.resolve(statistics=counted).families
        prior = exact.prior.with_hyperparameters({**families, **own}, exact.prior.class_concentration)
        fit = fit_posterior(prior, statistics=statistics)
        judged = [{n: np.array(own[n].leave_one_out(counted.blocks[n], cells[n], *left_out)) for n in numbers}]
        for name in numbers:  # what has taught nothing need not be left out
            _predict_some(judged[0][name], fit.model.families[name], given[name], lacks[name])
        if folds:
            taught = replace(rows, families=model.families, arrays=cells)
            judged.append({name: np.empty((rows.num_rows, rows.num_classes)) for name in numbers})
            for fold in folds:
                others = fit_posterior(model, statistics=summarise(taught.select(~fold))).model.families
                for name in numbers:
                    _predict_some(judged[1][name], others[name], given[name], fold)
        yield Part(part, fit, [table.with_blocks(log_probs, rows.labels.y) for log_probs in judged])


def _predict_some(out: Array, family: Any, x: Array, some: Array) -> None:
    """Set log p of the rows in a mask."""
    if some.any():
        out[some] = prepare_predictive(family)(x[some]).finite


def _is_affordable(rows: LabelledRows, blocks: Sequence[Array]) -> bool:
    """Whether there are blocks, and to leave rows out of their covariances and to factor these takes seconds."""
    widths = [x.shape[1] for x in blocks]
    products = rows.num_classes * sum(D**2 * (rows.num_rows + NUM_FACTORS * D) for D in widths)
    return bool(widths) and products <= limits.MOST_PRODUCTS


def find_dependence(fit: Posterior, rows: LabelledRows) -> tuple[Layout, Segments, tuple[str, ...]] | None:
    """The layout and the segments of columns that may depend on each other, and the blocks that stand apart.

    None where dependence cannot be. Sparse blocks stand apart, as do those whose classes share parameters, and those
    of a Likelihood, of which each label of a pair would be integrated.
    """
    given: Any = fit.model.families
    shared = {name for name, family in given.items() if family.common_sites and not has_categories(family)}
    apart = tuple(b for b in given if b in shared or is_integrated(given[b]) or is_sparse(rows.arrays[b]))
    families = {name: family for name, family in given.items() if name not in apart}
    segments = segments_of(families, fit.model.columns)
    layout = lay_out(families, {name: columns_in(family, rows.arrays[name]) for name, family in families.items()})
    possible = (len(segments) > 1 and any(len(one) > 1 for one in segments)) or layout.count(layout.reals) > 1
    return (layout, segments, apart) if possible else None


def _has_too_many_pairs(rows: LabelledRows, layout: Layout, segments: Segments, num_left_out: int) -> bool:
    """Whether counting pairs of these columns, or leaving so many rows out of them, is not affordable."""
    num_labels = sum(map(len, segments))
    width = sum(rows.arrays[name].shape[1] for name in (*layout.reals, *layout.others))
    counted = rows.num_classes * num_labels * (num_labels + width)
    return counted > limits.MOST_PAIRS or num_left_out * len(segments) ** 2 > limits.MOST_PAIR_RATIOS
