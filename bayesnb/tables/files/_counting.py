"""Sufficient statistics of data larger than memory: one pass, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from copy import deepcopy
from functools import partial
from itertools import chain
from typing import Any

import jax
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import stack_rows
from bayesnb.core.families._views import generative
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._labelled_rows import Specification, label_rows
from bayesnb.core.rows._model_statistics import ModelStatistics, check_classes, merge
from bayesnb.core.rows._sufficient_statistics import follow, sufficient_statistics
from bayesnb.learned.forests._fit import forest_statistics
from bayesnb.tables.files._progress import progress
from bayesnb.tables.files.sources._source import RowBlock, StreamError, at_row
from bayesnb.tables.files.sources._streams import BlockSource, open_source


def stream(
    model: Specification,
    source: object,
    *,
    label: str | None = None,
    columns: Sequence[str] | Mapping[str, Sequence[str] | tuple[Sequence[str], Sequence[str]]] | None = None,
    weight: str | None = None,
    classes: Sequence[object] | None = None,
    num_classes: int | None = None,
    progress_bar: bool = True,
    pairs: bool = False,
) -> ModelStatistics:
    """The sufficient statistics of rows that need not fit in memory, for any fit: ``statistics=nb.stream(...)``.

    They equal those of ``sufficient_statistics`` on all rows at once, in float64. In files, null features are missing,
    and folder names such as ``year=2020`` become columns.
    A Histogram or a Likelihood without bins takes those of the first 10,000 rows, whatever the blocks: let them be in
    no order.

    Args:
        model: The model, for its blocks; its hyperparameters do not matter.
        source: Any source of ``fit_table``, which also encodes text: a path, a frame, a dataset, a query, a stream of
            Arrow batches, or a list of these; or an iterable of blocks (X, y) or (X, y, sample_weight) of arrays as
            ``sufficient_statistics`` takes them, a few thousand rows or more each.
        label: The column of labels: text, or whole numbers 0..K-1; null only in rows of weight zero.
        columns: The columns of features: a list of names (the default: all others, in the order of the file), or
            a dict of lists by block; a pair (successes, totals) is a tuple of two lists.
        weight: The column of weights; rows of weight zero are ignored.
        classes: The labels that 0..K-1 encode, in this order. The default for text is the sorted distinct values
            of the whole column, for whole numbers the numbers themselves. Statistics with labels name their classes, so
            that ``nb.merge`` aligns them with those of a stream that has others.
        num_classes: K. If neither it, the model nor ``classes`` gives K, a first pass over the labels finds it; it must
            be declared for sources that can be read only once, such as an iterator or a stream.
        progress_bar: Whether to show a progress bar on stderr if that is a terminal.
        pairs: Whether to count all pairs of columns in the same pass, for ``nb.fit_forests(model, statistics=...)``.

    Raises:
        StreamError: if the source cannot be read or its rows do not fit, naming file, row group or block. The
            counts so far are kept in its ``statistics``.
        ValueError: if the arguments do not fit the model.

    Example:
        >>> import bayesnb as nb
        >>> model, blocks = nb.NaiveBayes(nb.Normal()), [([[1.0], [3.0]], [0, 0]), ([[7.0]], [1])]
        >>> total = nb.stream(model, blocks, num_classes=2)
        >>> nb.fit_mle(model, statistics=total).params["x_loc"].tolist()
        [[2.0], [7.0]]
    """
    arguments.check_model(model)
    names, declared = _classes(model, classes, num_classes)
    rows = open_source(model, source, label, columns, weight, names)
    return count(model, rows, num_classes=declared, classes=names, progress_bar=progress_bar, pairs=pairs)


def count(
    model: Specification,
    source: BlockSource,
    *,
    num_classes: int | None = None,
    classes: list[Any] | None = None,
    progress_bar: bool = True,
    pairs: bool = False,
    none: ModelStatistics | None = None,
) -> ModelStatistics:
    """The statistics of all blocks of a source, or ``none`` if it has no rows; see ``stream``."""
    summarise = forest_statistics if pairs else sufficient_statistics
    total: ModelStatistics | None = None
    num_rows = 0
    with progress("counting", source.total, wanted=progress_bar) as show:
        num_classes, classes = source.find_classes(num_classes, classes)
        try:
            with closing(source.blocks(classes)) as blocks:
                model, ahead = _find_edges(model, blocks, num_classes)
                for X, y, weight, place, done, where in ahead:
                    part = partial(_summarise_part, summarise, model, (X, y, weight), num_classes)
                    with at_row(place, len(y), part, where):
                        statistics = summarise(model, X, y, sample_weight=weight, num_classes=num_classes)
                    model = follow(model, statistics) if total is None else model
                    total = statistics if total is None else merge(total, statistics)
                    num_rows += len(y)
                    show(done, num_rows)
        except StreamError as error:
            error.statistics, error.rows = _name_classes(total, classes, num_classes), num_rows
            raise
    if none is not None and total is None:
        return none
    if total is None or not num_rows:
        raise StreamError("the source has no rows")
    return _name_classes(total, classes, num_classes)


def _summarise_part(
    summarise: Callable[..., ModelStatistics], model: Specification, block: Any, num_classes: int, rows: slice
) -> ModelStatistics:
    X, y, weight = jax.tree.map(lambda array: array[rows], block)
    return summarise(model, X, y, sample_weight=weight, num_classes=num_classes)


def _name_classes(total: Any, classes: list[Any] | None, num_classes: int) -> Any:
    """The statistics with the labels of their classes, unless more classes were declared than have labels."""
    known = classes is not None and len(classes) == num_classes
    return total.named(classes) if total is not None and known else total


def _find_edges(
    model: Specification, blocks: Iterator[RowBlock], num_classes: int
) -> tuple[Specification, Iterator[RowBlock]]:
    """The model, with bins from the first rows where a Histogram or a Likelihood has none, and all the blocks."""
    bins = (getattr(generative(one), name, ()) for one in model.families.values() for name in ("edges", "frame"))
    if not any(own is None for own in bins):
        return model, blocks
    first: list[RowBlock] = []
    while sum(len(block.y) for block in first) < limits.EDGE_ROWS and (block := next(blocks, None)) is not None:
        first.append(deepcopy(block))  # the source may fill the same arrays again
    parts = [(b.X, b.y, np.ones(len(b.y)) if b.weight is None else b.weight) for b in first]
    if parts:
        with suppress(ValueError):  # the block that does not fit is refused by its name, when it is counted
            X, y, weight = jax.tree.map(lambda *arrays: stack_rows(*arrays)[: limits.EDGE_ROWS], *parts)
            families = label_rows(model, X, y, weight, num_classes).families
            model = model.with_hyperparameters(families, model.class_concentration)
    return model, chain(first, blocks)


def _classes(
    model: Specification, classes: Sequence[Any] | None, num_classes: int | None
) -> tuple[list[Any] | None, int | None]:
    declared = {arguments.check_num_classes(num_classes), model.num_classes} - {None}
    names: list[Any] | None = None
    if classes is not None:
        names = [*check_classes(classes)]
        declared.add(len(names))
    if len(declared) > 1:
        raise ValueError(
            f"the number of classes must be the same everywhere: num_classes is {num_classes}, the model has "
            f"{model.num_classes}, classes is {classes}"
        )
    return names, declared.pop() if declared else None
