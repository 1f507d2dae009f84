"""Sufficient statistics of data larger than memory: one pass, block by block, that can stop and go on later."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from typing import Any

import numpy as np

from bayesnb.files.streaming.blocks import Arrays, Position, Source, StreamError, at
from bayesnb.files.streaming.checkpoint import Checkpoint, Counted
from bayesnb.files.streaming.progress import Progress
from bayesnb.rows import arguments
from bayesnb.rows.specification import Specification
from bayesnb.rows.statistics import ModelStatistics, merge, sufficient_statistics


def stream(
    model: Specification,
    source: Any,
    *,
    label: str | None = None,
    columns: Any = None,
    weight: str | None = None,
    classes: Sequence[Any] | None = None,
    num_classes: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress_bar: bool = True,
) -> ModelStatistics:
    """The sufficient statistics of rows that need not fit in memory, for any fit: ``statistics=nb.stream(...)``.

    They are those of ``sufficient_statistics`` on all rows at once, in float64, whatever the blocks. With files, null
    features are missing; columns of float32 are read as such; what a folder's names say, ``year=2020``, is a column.

    Args:
        model: Which blocks X has; its hyperparameters play no part.
        source: A Parquet or CSV file, or a folder of such files; a pyarrow Dataset or Table; a stream of Arrow's
            batches (RecordBatchReader, or what has ``__arrow_c_stream__``); or an iterable of blocks (X, y) or
            (X, y, sample_weight) of arrays as ``sufficient_statistics`` takes them, a few thousand rows or more each.
        label: The column of labels: text, or whole numbers 0..K-1; null only in rows of weight zero.
        columns: The columns of features: a list of names (the default: all others, in the order of the file), or
            a dict of lists by block; a pair (successes, totals) is a tuple of two lists.
        weight: The column of weights; a row of weight zero is as if it were not there.
        classes: What the labels 0..K-1 stand for, in this order. The default for text is the sorted distinct values
            of the whole column, for whole numbers the numbers themselves.
        num_classes: K. Where neither it, the model nor ``classes`` tell, a first pass over the labels does; what
            cannot be read twice, an iterator or a stream, needs it declared.
        checkpoint: A file to keep what has been counted, every few seconds. The same call continues from it, after
            any stop, to the same answer: of files it counts those that are new, of iterators (which must give
            the same blocks again) the blocks that follow; once it has ended it answers at once.
        progress_bar: Whether to show one on stderr where that is a terminal.

    Raises:
        StreamError: where the source cannot be read or its rows do not fit, naming file, row group or block. What
            was counted before stays usable: in its ``statistics``, and in the checkpoint.
        ValueError: where the arguments do not fit the model.
    """
    arguments.model(model)
    names, declared = _classes(model, classes, num_classes)
    rows = _open(model, source, label, columns, weight, names)
    kept = None if checkpoint is None else Checkpoint(checkpoint, model, rows)
    counted = None if kept is None else kept.load(declared, names)
    with Progress(rows.total, wanted=progress_bar) as progress:
        if counted is None:
            counted = Counted(None, Position(), *rows.classes(declared, names))
            if kept is not None:
                kept.save(counted)  # that it cannot be written is better known now
        if not (counted.finished and rows.final):
            counted = _count(model, rows, counted, kept, progress)
    if counted.statistics is None or not counted.position.rows:
        raise StreamError("the source has no rows")
    return counted.statistics


def _count(
    model: Specification, source: Source, counted: Counted, kept: Checkpoint | None, progress: Progress
) -> Counted:
    """Counts what follows, and keeps it at the end or wherever the source or the user stops."""
    num_classes = counted.num_classes
    try:
        with closing(source.blocks(counted.position, counted.classes)) as blocks:
            for X, y, weight, place, end, done in blocks:
                with at(place):
                    statistics = sufficient_statistics(model, X, y, sample_weight=weight, num_classes=num_classes)
                if counted.statistics is not None:
                    statistics = merge(counted.statistics, statistics)
                counted = counted._replace(statistics=statistics, position=end)
                if kept is not None:
                    kept.save_when_due(counted)
                progress.show(done, end.rows)
        counted = counted._replace(position=counted.position.done(), finished=True)
        if kept is not None:
            kept.save(counted)
    except BaseException as error:
        if isinstance(error, StreamError):
            error.statistics, error.rows = counted.statistics, counted.position.rows
        if kept is not None:
            with suppress(StreamError):  # what stopped it matters more
                kept.save(counted)
        raise
    return counted


def _classes(
    model: Specification, classes: Sequence[Any] | None, num_classes: int | None
) -> tuple[list[Any] | None, int | None]:
    """The classes as a list, and K, where they are declared."""
    declared = {arguments.num_classes(num_classes), model.num_classes} - {None}
    names: list[Any] | None = None
    if classes is not None:
        if isinstance(classes, str) or len(set(classes)) < max(len(classes), 1):
            raise ValueError(f"classes must be a list of different labels, got {classes!r}")
        names = np.asarray(classes).tolist()
        declared.add(len(classes))
    if len(declared) > 1:
        raise ValueError(
            f"the number of classes must be the same everywhere: num_classes is {num_classes}, the model has "
            f"{model.num_classes}, classes is {classes}"
        )
    return names, declared.pop() if declared else None


def _open(
    model: Specification, source: Any, label: str | None, columns: Any, weight: Any, classes: list[Any] | None
) -> Source:
    if isinstance(source, Arrays):  # rows that know what they are of
        return source
    kind = type(source).__module__.partition(".")[0]
    if isinstance(source, str | os.PathLike) or kind == "pyarrow" or hasattr(source, "__arrow_c_stream__"):
        try:
            from bayesnb.files.streaming.files import open_arrow
        except ModuleNotFoundError as error:
            if error.name != "pyarrow":
                raise
            raise StreamError("files and Arrow tables are read by pyarrow: pip install 'bayesnb[parquet]'") from error
        return open_arrow(model, source, label, columns, weight, classes)
    if not isinstance(source, Iterable) or isinstance(source, dict):
        raise ValueError(f"source must be a path, Arrow data or an iterable of (X, y), got {type(source).__name__}")
    if not (label is columns is weight is classes is None):
        raise ValueError("label, columns, weight and classes are for files and Arrow data: a block of arrays is (X, y)")
    return Arrays(source)
