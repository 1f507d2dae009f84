"""Cross-validation: statistics are summed once per fold, and each fold is predicted from those of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import memory
from bayesnb.arrays.host_calls import finalise
from bayesnb.arrays.masked import without_mask
from bayesnb.arrays.placement import Array, as_array, is_traced, to_host
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.families.parts.tied import Tied
from bayesnb.fits.closed_form import (
    fit_map,
    fit_mle,
    fit_posterior,
    likelihood_maximum,
    posterior_mode,
    require_maximum,
)
from bayesnb.model.naive_bayes import NaiveBayes, Sites, Tables
from bayesnb.model.nonconjugate import require_conjugacy
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.scoring import Score
from bayesnb.primitives.sums import Labels
from bayesnb.rows import arguments, checks
from bayesnb.rows.statistics import ModelStatistics, from_host, merge_alike, without_zero_weight

T = TypeVar("T")


def cross_validate(
    model: NaiveBayes | Sequence[NaiveBayes],
    X: Any,
    y: Any,
    *,
    folds: int | Any = 10,
    sample_weight: Any = None,
    fit: Callable[..., Any] = fit_posterior,
) -> Array:
    """log p(k | x_i, D without the fold of i) of every row, [N, K]; [G, N, K] for G models.

    Equal to refitting without each fold, with the prior resolved on all rows. One pass over the rows gives the
    statistics of every fold; for each fold those of the others are merged. Models that differ only in hyperparameters
    share that pass, and are updated and evaluated together.

    Args:
        model: The specification, or a list of them with the same families, for instance one per smoothing.
        X: An array [N, D], or a dict of arrays by block; NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        folds: The number of folds, to which the rows of each class are assigned in turn; or the fold of each row,
            integers [N].
        sample_weight: Weights [N].
        fit: The fit that predicts: ``nb.fit_posterior``, ``nb.fit_map`` or ``nb.fit_mle``.

    Raises:
        ValueError: if the data do not fit the model, for fewer than two folds or more folds than rows, for models
            that differ in more than hyperparameters, for another fit, and if a likelihood has no maximum.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1], [1], [0], [0], [0], [0]], [0, 0, 0, 1, 1, 1]
        >>> model = nb.NaiveBayes(nb.Bernoulli.laplace(1.0))
        >>> nb.cross_validate(model, X, y, folds=3, fit=nb.fit_map).shape
        (6, 2)
    """
    if not any(fit is known for known in PREDICTIONS):
        raise ValueError(f"fit is nb.fit_posterior, nb.fit_map or nb.fit_mle, got {fit!r}")
    models = list(model) if isinstance(model, Sequence) else [model]
    if not models:
        raise ValueError("give at least one model")
    for one in models:
        arguments.model(one)
        require_conjugacy(one)
    if is_traced(X, y, sample_weight):
        raise ValueError("cross_validate needs values that are known: call it outside of JAX's transformations")
    X, y, sample_weight = to_host((X, y, sample_weight))
    first = models[0]
    arrays = checks.blocks(first.families, first.single, X, sparse=True)
    checks.columns(first.families, arrays, first.columns)
    num_rows = next(iter(arrays.values())).shape[0]
    labels, num_classes = checks.labels(y, sample_weight, num_rows, first.num_classes)
    fold = _folds(folds, labels.y, num_rows)
    parts = in_threads(lambda f: _statistics(first, arrays, labels, fold == f, num_classes), range(fold.max() + 1))
    whole = _merged(parts)
    resolved = [to_host(one).resolve(statistics=whole) for one in models]
    structures = {jax.tree.structure(one) for one in resolved}
    if len(structures) > 1:
        raise ValueError("the models of one run differ in hyperparameters alone: same blocks, families and sizes")
    grid = _stacked(resolved)
    others = _all_but_one(parts)
    what = f"probabilities of {num_rows:,} rows and {num_classes:,} classes by {len(models):,} models"
    memory.require(8 * num_rows * len(models) * num_classes, what, "give fewer rows or models at once")
    table = np.empty((num_rows, len(models), num_classes))
    grid_bytes = sum(leaf.nbytes for leaf in jax.tree.leaves(grid))
    for some in row_blocks(len(others), grid_bytes, block_bytes=TABLE_BYTES):
        scores = PREDICTIONS[fit](grid, others[some])

        def predict(one: tuple[int, Score]) -> None:
            f, score = one
            rows = fold == f
            # normalise each of the G models separately
            wide = score({name: x[rows] for name, x in arrays.items()})
            parts = jax.tree.map(lambda part: part.reshape(-1, len(models), num_classes), wide)
            table[rows] = parts.normalised()

        in_threads(predict, enumerate(scores, some.start))
    return table.swapaxes(0, 1) if isinstance(model, Sequence) else table[:, 0]


TABLE_BYTES = 1 << 26
"""Bytes of hyperparameters of the folds that are finalised together."""


def _statistics(
    model: NaiveBayes, arrays: dict[str, Array], labels: Labels, rows: Array, num_classes: int
) -> ModelStatistics:
    some = without_zero_weight({name: x[rows] for name, x in arrays.items()}, labels.rows(rows))
    return from_host(model.families, *some, num_classes, evidence=False)


def _merged(parts: list[ModelStatistics]) -> ModelStatistics:
    *_, whole = accumulate(parts, merge_alike)
    return whole


def _all_but_one(parts: list[ModelStatistics]) -> list[ModelStatistics]:
    """For each part, the merged statistics of all others: from both ends, so that nothing is subtracted."""
    before, after = list(accumulate(parts, merge_alike)), list(accumulate(parts[::-1], merge_alike))[::-1]
    middle = [merge_alike(a, b) for a, b in zip(before[:-2], after[2:], strict=True)]
    return [after[1], *middle, before[-2]]


def _by_posteriors(grid: NaiveBayes, others: list[ModelStatistics]) -> list[Score]:
    """For each fold, a scorer of log p(y = k, x), [N, G K]: G posteriors of K classes are one of G K classes."""
    tables = finalise(_tables_of_posteriors, grid, _stacked(others))
    return [partial(_score, grid.predictive_scorer, of_fold) for of_fold in _unstacked(tables, len(others))]


def _by_estimates(
    estimate: Callable[[NaiveBayes, ModelStatistics], Sites], grid: NaiveBayes, others: list[ModelStatistics]
) -> list[Score]:
    """As ``_by_posteriors``, with point estimates of the parameters."""
    tables, params = finalise(_tables_of_estimates, grid, _stacked(others), estimate=estimate)
    if estimate is likelihood_maximum:
        for rest, of_fold in zip(others, _unstacked(params, len(others)), strict=True):
            for of_model in _unstacked(of_fold, len(of_fold["class_probs"])):
                require_maximum(grid, of_model, rest)
    by_tables = _untied(grid).likelihood_scorer
    return [partial(_score, by_tables, of_fold) for of_fold in _unstacked(tables, len(others))]


def _score(by_tables: Callable[[Tables], Score], tables: Tables, arrays: dict[str, Array]) -> LogProb:
    """Make the scorer in the fold's thread, as it may copy its tables to another layout, and score rows."""
    return by_tables(tables)(arrays)


@jax.jit
def _tables_of_posteriors(grid: NaiveBayes, others: ModelStatistics) -> Tables:
    """The tables of each fold; values that the classes of a model share are repeated for each class."""

    def of_fold(rest: ModelStatistics) -> Tables:
        posteriors = jax.vmap(lambda model: model.update(rest))(grid)
        return _as_one(posteriors, rest.num_classes).predictive_tables()

    return jax.vmap(of_fold)(others)


@partial(jax.jit, static_argnames="estimate")
def _tables_of_estimates(
    grid: NaiveBayes, others: ModelStatistics, estimate: Callable[[NaiveBayes, ModelStatistics], Sites]
) -> tuple[Tables, Sites]:
    """The tables of each fold, and the parameters for the MLE, whose maximum must be checked."""
    common = grid.common_sites()

    def of_fold(rest: ModelStatistics) -> tuple[Tables, Sites]:
        params = jax.vmap(lambda model: estimate(model, rest))(grid)
        own = {site: value[:, None] if site in common else value for site, value in params.items()}
        return _untied(grid).likelihood_tables(
            _as_one(own, rest.num_classes)
        ), params if estimate is likelihood_maximum else {}

    return jax.vmap(of_fold)(others)


def _untied(grid: NaiveBayes) -> NaiveBayes:
    families = {name: f.untied() if isinstance(f, Tied) else f for name, f in grid.families.items()}
    return grid.with_hyperparameters(families, grid.class_concentration)


def _as_one(tree: Any, num_classes: int) -> Any:
    """Reshape leaves [G, K, ...], or [G, 1, ...] if classes share them, to [G K, ...]; leaves [G] are unchanged."""

    def of_leaf(leaf: Array) -> Array:
        if leaf.ndim < 2:
            return leaf
        whole = jnp.broadcast_to(leaf, (leaf.shape[0], num_classes, *leaf.shape[2:]))
        return whole.reshape(leaf.shape[0] * num_classes, *leaf.shape[2:])

    return jax.tree.map(of_leaf, tree)


def _stacked(trees: list[T]) -> T:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def _unstacked(tree: T, size: int) -> list[T]:
    return [jax.tree.map(lambda leaf, i=i: leaf[i], tree) for i in range(size)]


PREDICTIONS: dict[Callable[..., Any], Callable[[NaiveBayes, list[ModelStatistics]], list[Score]]] = {
    fit_posterior: _by_posteriors,
    fit_map: partial(_by_estimates, posterior_mode),
    fit_mle: partial(_by_estimates, likelihood_maximum),
}


def _folds(folds: Any, y: Array, num_rows: int) -> Array:
    """The fold of each row, integers [N]."""
    fold = as_array(without_mask("folds", folds))
    if fold.ndim == 0:
        if not isinstance(folds, int | np.integer) or not 2 <= folds <= num_rows:
            raise ValueError(f"folds is a number from 2 to the {num_rows} rows, or the fold of each row, got {folds!r}")
        classes = y.argmax(axis=1) if y.ndim == 2 else y
        # continuing the turn from class to class makes fold sizes differ by at most one row
        fold = np.empty(num_rows, int)
        fold[np.argsort(classes, kind="stable")] = np.arange(num_rows) % folds
        return fold
    if fold.shape != (num_rows,) or not np.issubdtype(fold.dtype, np.integer) or fold.min(initial=0) < 0:
        raise ValueError(f"fold ids are integers 0, 1, ... [{num_rows}], one a row, got {fold.dtype} of {fold.shape}")
    used, fold = np.unique(fold, return_inverse=True)
    if len(used) < 2:
        raise ValueError("cross_validate needs at least two folds: with one nothing is left to learn from")
    return fold.reshape(-1)
