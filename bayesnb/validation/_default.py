"""What ``NaiveBayesClassifier`` learns by default: powers, and the shares of parts with dependence in an average.

The parts are the posterior, the same with the "best" forest of dependence, and with "aode". Each learns powers of its
own from one table of leave-one-out log ratios, and the shares are ``stacking_weights`` from the same rows. Of few rows
a forest must also convince folds, whose segments and edges have not seen the row either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.arrays import _limits as limits
from bayesnb.arrays._cells import is_sparse
from bayesnb.arrays._loops import one_blas_thread
from bayesnb.arrays._placement import Array
from bayesnb.fits._closed_form import fit_posterior
from bayesnb.forests._fit import choose_parents
from bayesnb.forests._layout import Layout, Segments, has_categories, lay_out, segments_of
from bayesnb.forests._left_out_ratios import left_out_of_each
from bayesnb.forests._pairs import PairStatistics, count_pairs
from bayesnb.forests._posterior import ForestPosterior, score_forests
from bayesnb.forests._stacked import COLUMNS, StackedPosterior
from bayesnb.model._naive_bayes import NaiveBayes
from bayesnb.results._classifier import Posterior
from bayesnb.results._combine import log_average
from bayesnb.rows._checks import columns_in
from bayesnb.rows._labelled_rows import LabelledRows, label_rows
from bayesnb.rows._part import hash_rows
from bayesnb.rows._sufficient_statistics import summarise
from bayesnb.validation._learn_powers import Group, learn_powers
from bayesnb.validation._ratio_table import LeftOutRatios, count_features, left_out_log_ratios, part_of, softmax
from bayesnb.validation._stacking import find_shares
from bayesnb.validation._temper import raise_words, split_groups, with_powers

WITHOUT, WITH = 3.0, 2.0
"""The Dirichlet prior of the shares, of the part without dependence and of each with it: before any row is seen half of
the average has none, and two forms of dependence share the other half.
"""

NUM_FOLDS = 5
"""Of few rows: ten are as good, and cost twice as much."""

Count = Callable[[NaiveBayes, Layout, Segments], PairStatistics]
"""Counts the pairs of rows of a model, of columns in this layout with these segments."""


def fit_default(
    exact: Posterior,
    X: Any,
    y: Any,
    weight: Any,
    *,
    by_feature: Collection[str],
    structures: Sequence[str],
    count: Count | None = None,
) -> tuple[Any, int, bool]:
    """The posterior with powers, learned on rows that are known to be its own or a part; averaged with forests.

    And on how many rows the powers were learned, and whether forests are left out as columns have too many pairs.

    Args:
        exact: The posterior.
        X: The rows.
        y: The numbers of their classes [N].
        weight: Their weights [N], or None.
        by_feature: The blocks of which each feature has a power of its own; any other block has one.
        structures: The structures of the forests in the average; a single one without "columns" is no average.
        count: Counts the pairs of all rows if those given are a part.
    """
    rows = label_rows(exact.model, X, y, weight).drop_unused()
    some = part_of(exact, rows, sum(count_features(rows, by_feature).values()))
    table = left_out_log_ratios(exact, some, by_feature=by_feature)
    with one_blas_thread():
        table, words = raise_words(table)
        powers, groups = learn_powers(split_groups(exact, table))
    posterior = with_powers(exact, table.sizes, powers, words)
    wanted = [structure for structure in structures if structure != COLUMNS]
    dependence = find_dependence(exact, rows) if wanted and rows.num_rows else None
    if dependence is None:
        return posterior, some.num_rows, False
    layout, segments, apart = dependence
    if _has_too_many_pairs(rows, layout, segments, some.num_rows):
        return posterior, some.num_rows, True
    joined = layout.joined(segments)
    pairs = count_pairs(layout, rows, joined) if count is None else count(exact.model, layout, joined)
    forests = _each(ForestPosterior(exact, pairs, segments=segments, apart=apart), wanted)
    ratios = [left_out_of_each([*forests.values()], some, np.minimum(some.weight(), 1.0))]
    if max(some.num_rows, exact.statistics.class_counts.sum()) <= limits.FEW_ROWS:  # equal rows may be one of a weight
        ratios.append(_ratios_of_folds([*forests.values()], some))
    nats, found = [softmax(table.joint(powers))[1]], list[tuple[dict[str, Array], Array]]()
    for of_one in zip(*ratios, strict=True):
        learned = [_learn_with(ratio, table, groups, some.labels.y) for ratio in of_one]
        of_rows, powers = max(learned, key=lambda one: float(table.weight @ one[0]))
        nats.append(of_rows)
        found.append((with_powers(exact, table.sizes, powers, words).powers or {}, np.asarray(powers[-1])))
    if COLUMNS not in structures:
        (structure,) = wanted
        own, power = found[0]
        return replace(forests[structure], posterior=replace(posterior, powers=own), power=power), some.num_rows, False
    shares = find_shares(np.stack(nats, axis=1), table.weight, [WITHOUT, *[WITH] * len(wanted)])
    losses = np.column_stack([*nats, -log_average([-one for one in nats], shares)])
    stacked = StackedPosterior(
        exact.prior,
        exact.model,
        exact.statistics,
        posterior.powers,
        posterior.length_exponents,
        posterior.class_power,
        shares=shares,
        log_losses=table.weight @ losses / table.weight.sum(),
        pairs=pairs,
        forest_powers=tuple(found),
        structures=tuple(wanted),
        parents=forests["best"].parents if "best" in forests else None,
        segments=segments,
        apart=apart,
    )
    return stacked, some.num_rows, False


def _each(forest: ForestPosterior, structures: Sequence[str]) -> dict[str, ForestPosterior]:
    """The same statistics with each of the structures."""
    return {one: choose_parents(replace(forest, structure=one)) for one in structures}


def _learn_with(ratio: Array, table: LeftOutRatios, groups: Sequence[Group], y: Array) -> tuple[Array, Array]:
    """-log p(y | x) of each left-out row [N] with the log ratios of a forest, and the powers that are learned then."""
    with one_blas_thread():
        powers, _ = learn_powers([group.with_forest(ratio, y) for group in groups])
    return softmax(table.with_forest(ratio, y).joint(powers))[1], powers


def _ratios_of_folds(forests: Sequence[ForestPosterior], rows: LabelledRows) -> Array:
    """The log ratios of rows by forests of the other folds, with segments and edges of their own, [M, N, K].

    Equal rows of a class are in one fold, as is a row with its whole weight: neither order nor repeats matter.
    """
    first, structures = forests[0], [forest.structure for forest in forests]
    equal = pd.DataFrame({"y": rows.labels.y, "hash": hash_rows(rows)}).groupby(["y", "hash"]).ngroup()
    fold_of = equal.to_numpy() % NUM_FOLDS  # classes one after the other, so that each is in all folds
    ratios = np.empty((len(forests), rows.num_rows, rows.num_classes))
    for fold in np.unique(fold_of):
        own, others = rows.select(fold_of == fold), rows.select(fold_of != fold)
        fit = fit_posterior(first.posterior.prior, statistics=summarise(others, tables=True))
        segments = segments_of(replace(first, posterior=fit).families, fit.model.columns)
        pairs = count_pairs(first.layout, others, first.layout.joined(segments))
        found = _each(ForestPosterior(fit, pairs, segments=segments, apart=first.apart), structures)
        ratios[:, fold_of == fold] = score_forests([*found.values()])(own.arrays)
    return ratios


def find_dependence(fit: Posterior, rows: LabelledRows) -> tuple[Layout, Segments, tuple[str, ...]] | None:
    """The layout and the segments of columns that may depend on each other, and the blocks that stand apart.

    None where dependence cannot be. Sparse blocks stand apart, as do those whose classes share
    parameters.
    """
    given: Any = fit.model.families
    shared = {name for name, family in given.items() if family.common_sites and not has_categories(family)}
    apart = tuple(name for name in given if name in shared or is_sparse(rows.arrays[name]))
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
