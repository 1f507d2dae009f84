"""Folds of rows, each predicted from the others: statistics are summed once a fold, and merged without it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb import check
from bayesnb.arrays import Array, finalise, in_threads, is_traced, to_host
from bayesnb.model import NaiveBayes
from bayesnb.own_priors import require_conjugacy
from bayesnb.statistics import ModelStatistics, from_host, merge, without_zero_weight
from bayesnb.sums.labels import Labels


def cross_validate(
    model: NaiveBayes | Sequence[NaiveBayes],
    X: Any,
    y: Any,
    *,
    folds: int | Any = 10,
    sample_weight: Any = None,
) -> Array:
    """log p(k | x_i, D without the fold of i) of every row by the exact posterior, [N, K]; [G, N, K] for G models.

    Equal to refitting without each fold, with the prior resolved on all rows. One pass over the rows gives the
    statistics of every fold; those of the others merge. Models that differ in hyperparameters alone share that pass,
    and are updated and evaluated in one mapped run.

    Args:
        model: The specification, or a list of them with the same families, for instance one for each smoothing.
        X: An array [N, D], or a dict of arrays by block; NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        folds: A number: the rows of each class go to the folds in turn; or the fold of each row, integers [N].
        sample_weight: Weights [N].

    Raises:
        ValueError: where the data do not fit the model, for fewer than two folds or more than rows, and for models
            that differ in more than hyperparameters.
    """
    models = list(model) if isinstance(model, Sequence) else [model]
    if not models:
        raise ValueError("give at least one model")
    for one in models:
        check.model(one)
        require_conjugacy(one)
    if is_traced(X, y, sample_weight):
        raise ValueError("cross_validate needs values that are known: call it outside of JAX's transformations")
    X, y, sample_weight = to_host((X, y, sample_weight))
    first = models[0]
    arrays = check.blocks(first.families, first.single, X, sparse=True)
    check.columns(first.families, arrays, first.columns)
    num_rows = next(iter(arrays.values())).shape[0]
    labels, num_classes = check.labels(y, sample_weight, num_rows, first.num_classes)
    fold = _folds(folds, labels.y, num_rows)
    parts = [_statistics(first, arrays, labels, fold == f, num_classes) for f in range(fold.max() + 1)]
    whole = _merged(parts)
    resolved = [to_host(one).resolve(statistics=whole) for one in models]
    structures = {jax.tree.structure(one) for one in resolved}
    if len(structures) > 1:
        raise ValueError("the models of one run differ in hyperparameters alone: same blocks, families and sizes")
    grid = jax.tree.map(lambda *leaves: np.stack(leaves), *resolved)
    table = np.empty((len(models), num_rows, num_classes))

    def predict(one: tuple[int, ModelStatistics]) -> None:
        f, rest = one
        rows = fold == f
        table[:, rows] = _predict(finalise(_updated, grid, rest), {name: x[rows] for name, x in arrays.items()})

    in_threads(predict, enumerate(_all_but_one(parts)))
    return table if isinstance(model, Sequence) else table[0]


def _statistics(
    model: NaiveBayes, arrays: dict[str, Array], labels: Labels, rows: Array, num_classes: int
) -> ModelStatistics:
    some = without_zero_weight({name: x[rows] for name, x in arrays.items()}, labels.rows(rows))
    return from_host(model.families, *some, num_classes)


def _merged(parts: list[ModelStatistics]) -> ModelStatistics:
    *_, whole = accumulate(parts, merge)
    return whole


def _all_but_one(parts: list[ModelStatistics]) -> list[ModelStatistics]:
    """The statistics of all parts but each in turn: merged from both ends, so that nothing is subtracted."""
    before, after = list(accumulate(parts, merge)), list(accumulate(parts[::-1], merge))[::-1]
    middle = [merge(a, b) for a, b in zip(before[:-2], after[2:], strict=True)]
    return [after[1], *middle, before[-2]]


@jax.jit
def _updated(grid: NaiveBayes, statistics: ModelStatistics) -> NaiveBayes:
    """The posterior of every model, leaves [G, K, ...]; what its classes share is repeated for each."""
    num_classes = statistics.num_classes

    def repeated(leaf: Array) -> Array:
        return jnp.broadcast_to(leaf, (leaf.shape[0], num_classes, *leaf.shape[2:]))

    return jax.tree.map(repeated, jax.vmap(lambda model: model.update(statistics))(grid))


def _predict(posteriors: NaiveBayes, arrays: dict[str, Array]) -> Array:
    """log p(k | x) of every model, [G, N, K]: G models of K classes are one of G·K, normalised in G parts."""
    shape = posteriors.class_concentration.shape
    wide = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), posteriors)
    scores = jax.tree.map(lambda part: part.reshape(-1, *shape), wide.log_predictive(arrays))
    return np.moveaxis(scores.normalised(), 1, 0)


def _folds(folds: Any, y: Array, num_rows: int) -> Array:
    """The fold of each row, integers [N]."""
    if np.ndim(folds) == 0:
        if not isinstance(folds, int | np.integer) or not 2 <= folds <= num_rows:
            raise ValueError(f"folds is a number from 2 to the {num_rows} rows, or the fold of each row, got {folds!r}")
        classes = y.argmax(axis=1) if y.ndim == 2 else y
        # the rows of each class in turn, and the classes one after another, so that folds are equal to one row
        fold = np.empty(num_rows, int)
        fold[np.argsort(classes, kind="stable")] = np.arange(num_rows) % folds
        return fold
    fold = np.asarray(folds)
    if fold.shape != (num_rows,) or not np.issubdtype(fold.dtype, np.integer) or fold.min(initial=0) < 0:
        raise ValueError(f"fold ids are integers 0, 1, ... [{num_rows}], one a row, got {fold.dtype} of {fold.shape}")
    used, fold = np.unique(fold, return_inverse=True)
    if len(used) < 2:
        raise ValueError("cross_validate needs at least two folds: with one nothing is left to learn from")
    return fold.reshape(-1)
