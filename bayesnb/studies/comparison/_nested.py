"""Closed-form fits to nested training sets: the prefixes of one order of rows, from statistics that are summed once.

The statistics of each prefix are those of its segments, merged. All prefixes and models are then one model with S G K
classes, so that a split's fits cost one product with its test rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import part_of
from bayesnb.compute.arrays._compute import compute, compute_rows
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products import sum_terms
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.core.families._base import Family
from bayesnb.core.fits._closed_form import CLOSED_FORMS, conjugate, fit_mle, fit_posterior, require_maximum
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites, Tables
from bayesnb.core.results._evidence import evidence
from bayesnb.core.rows._checks import columns_in
from bayesnb.core.rows._labelled_rows import LabelledRows, label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, from_host
from bayesnb.learned.validation._cross_validate import as_one, fit_apart, stack, untie
from bayesnb.learned.validation._leave_one_out import leave_one_out


class Nested(NamedTuple):
    """What G models predict from S training sets.

    Attributes:
        log_proba: log p(k | x) of the test rows, [S, G, T, K].
        failed: Why a fit has no answer, by the indices of its size and its model.
        seconds: Wall time until the parameters, or the posteriors, were known.
        exact: Of exact posteriors, from the training rows [S, G]: ``log_evidence``, log p(X, y), and ``loo_log_loss``,
            the mean of -log p(y_i | x_i, D without i).
    """

    log_proba: Array
    failed: dict[tuple[int, int], str]
    seconds: float
    exact: dict[str, Array]


def share_statistics(model: NaiveBayes, X: Any, y: Array) -> LabelledRows | None:
    """The rows, labelled, if their parts have statistics that add up to those of any prefix.

    None if a family first takes something from all rows, such as the edges of bins.
    """
    rows = label_rows(model, X, y, num_classes=model.num_classes)
    return rows if all(rows.families[name] is family for name, family in model.families.items()) else None


def fit_nested(
    models: Sequence[NaiveBayes],
    rows: LabelledRows,
    sizes: Sequence[int],
    X_test: dict[str, Array],
    fit: Callable[..., Any] = fit_posterior,
) -> Nested:
    """The fits of models, which differ in hyperparameters alone, to the first rows of each size, and their predictions.

    Each equals ``fit(model, X[:size], y[:size])``, with the prior resolved on these rows. Posteriors have exact
    leave-one-out and the evidence.
    """
    for model in models if fit is not fit_mle else ():
        conjugate(model)
    started = time.perf_counter()
    parts = [from_host(rows.select(slice(a, b))) for a, b in pairwise([0, *sizes])]
    nested = list(accumulate(parts, ModelStatistics.merge))
    grid, num_classes = stack([jax.tree.map(np.asarray, model) for model in models]), rows.num_classes
    found = compute(_fit_all, grid, stack(nested), formula=CLOSED_FORMS[fit])
    shape = len(sizes), len(models)
    seconds, failed = time.perf_counter() - started, dict[tuple[int, int], str]()
    for s, statistics in enumerate(nested if found.params is not None else ()):
        for g in range(len(models)):
            params = jax.tree.map(lambda leaf, s=s, g=g: leaf[s, g], found.params)
            try:
                require_maximum(grid.with_sites(None), params, statistics)
            except ValueError as error:
                failed[s, g] = str(error)
    scorer = grid.predictive_scorer if fit is fit_posterior else untie(grid.with_sites(None)).likelihood_scorer

    score = scorer(found.tables)
    wide = jax.tree.map(lambda part: part.reshape(-1, *shape, num_classes), score(X_test))
    log_proba = np.moveaxis(wide.normalise(), 0, 2)
    exact = {}
    if found.log_evidence is not None:
        losses = _left_out(found, models, rows, sizes, score)
        exact = {"log_evidence": found.log_evidence, "loo_log_loss": losses}
    return Nested(log_proba, failed, seconds, exact)


class Fits(NamedTuple):
    """All fits: tables that score rows by S G K classes, priors and statistics of as many; parameters [S, G, ...]."""

    tables: Tables
    params: Sites | None
    log_evidence: Array | None
    prior: NaiveBayes | None
    statistics: ModelStatistics | None


@partial(jax.jit, static_argnames="formula")
def _fit_all(grid: NaiveBayes, nested: ModelStatistics, formula: Callable[[NaiveBayes, ModelStatistics], Any]) -> Fits:
    def of_one(model: NaiveBayes, statistics: ModelStatistics) -> Any:
        prior = model.resolve(statistics=statistics)
        found = fit_apart(prior, formula(prior, statistics))
        if not isinstance(found, NaiveBayes):
            return prior, found, None, None
        return prior, found, evidence(prior, statistics).total, statistics

    by_size = jax.vmap(jax.vmap(of_one, in_axes=(0, None)), in_axes=(None, 0))
    prior, found, log_evidence, statistics = by_size(grid, nested)

    def join(tree: Any) -> Any:
        return as_one(jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), tree), nested.class_counts.shape[1])

    if isinstance(found, NaiveBayes):
        return Fits(join(found).predictive_tables(), None, log_evidence, join(prior), join(statistics))
    common = grid.common_sites()
    own = {site: value[:, :, None] if site in common else value for site, value in found.items()}
    return Fits(untie(grid.with_sites(None)).likelihood_tables(join(own)), found, None, None, None)


def _left_out(fits: Any, models: Sequence[NaiveBayes], rows: LabelledRows, sizes: Sequence[int], score: Score) -> Array:
    """The mean exact leave-one-out log loss of each training set under each model, [S, G].

    A row changes only what is said of its own class; ``score`` says it of the others, [N, S G K].
    """
    num_classes, own, num_fits = rows.num_classes, rows.labels.y, len(sizes) * len(models)
    numbers = sum(sizes) * len(models) * sum(columns_in(f, rows.arrays[b]) for b, f in rows.families.items())
    # families that leave rows out in a way of their own, not by ``left_out_terms`` alone
    own_ways = (f.common_sites or type(f).leave_one_out is not Family.leave_one_out for f in rows.families.values())
    if any(own_ways) or 8 * numbers > limits.AT_ONCE_BYTES:
        X: Any = rows.arrays["x"] if models[0].single else rows.arrays
        tables = ((leave_one_out(m, part_of(X, slice(n)), own[:n]), own[:n]) for n in sizes for m in models)
        return np.array([-table[np.arange(len(y)), y].mean() for table, y in tables]).reshape(len(sizes), -1)
    # the rows of every training set, once for each model, each in a class of its own fit
    repeats = np.repeat(sizes, len(models))
    row, fit = np.concatenate([np.arange(n) for n in repeats]), np.repeat(np.arange(num_fits), repeats)
    each, label = np.arange(len(row)), fit * num_classes + own[row]
    terms: Any = np.log(fits.tables[0][label])
    if fits.prior.class_probs is None:
        terms += np.log1p(-1.0 / (fits.prior.class_concentration + fits.statistics.class_counts)[label])
    for name, family in fits.prior.families.items():
        cells = rows.arrays[name][row], label, np.ones(len(row))
        terms += compute_rows(sum_terms, (family, fits.statistics.blocks[name]), cells, terms="left_out_terms")
    table = score(rows.arrays).finite.reshape(len(own), num_fits, num_classes)[row, fit]
    table[each, own[row]] = terms
    losses = -LogProb(table, None).normalise()[each, own[row]]
    return (np.add.reduceat(losses, np.cumsum(repeats) - repeats) / repeats).reshape(len(sizes), -1)
