"""Fit a file of any size: one pass over its batches describes the columns, a second one counts the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from bayesnb.arrays.sparse import stack_rows
from bayesnb.arrays.typing import ArrayLike, ByColumn, ByLabel
from bayesnb.arrays.user_warnings import warn
from bayesnb.families import Family
from bayesnb.files.counting import Advance, progress, stream
from bayesnb.files.sources.batches import RowBatch, read_ahead
from bayesnb.files.sources.blocks import ArrayBlocks
from bayesnb.files.sources.parquet import row_batch
from bayesnb.files.sources.reading import BUILT_IN, RowData, as_pandas, open_data, require_finite_frame
from bayesnb.files.table import Description, choose, describe, require_target, summarise_rows
from bayesnb.frames.choices import AUTO
from bayesnb.frames.column_kinds import SKIP
from bayesnb.frames.inference import in_python, on_command_line
from bayesnb.frames.schema import FrameSchema
from bayesnb.frames.series import Array, DataError, Frame, label
from bayesnb.frames.summaries import Summary, summarise
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.rows.statistics import ModelStatistics
from bayesnb.sklearn.estimator import NaiveBayesClassifier
from bayesnb.sklearn.settings import plan, require, specification
from bayesnb.validation.left_out_evidence import one_in

KEPT_BYTES = 512 << 20
"""A file whose batches take at most so much memory is read once."""


def fit_file(
    data: str | os.PathLike[str],
    target: str | None = None,
    likelihoods: str | Family | NaiveBayes | Sequence[object] | ByColumn = AUTO,
    *,
    method: str = "posterior",
    class_prior: ArrayLike | ByLabel[float] | None = None,
    smoothing: float = 1.0,
    temper: bool | None = None,
    random_state: int | np.random.RandomState | None = None,
    num_samples: int = 1000,
    checkpoint: str | os.PathLike[str] | None = None,
    progress_bar: bool = True,
) -> NaiveBayesClassifier:
    """A classifier fitted to a CSV or Parquet file of any size, as `bayesnb fit` fits it.

    The first pass over the file finds the kinds, the categories and the classes, the second counts, a few batches of
    rows at a time; a file of less than 500 MB is read once. Rows without a class are left out. Up to 10,000 rows the
    result equals ``NaiveBayesClassifier.fit``; beyond, numbers in cells find these in the first 10,000 rows, which
    should be in no order. Categories that no row has, and a frame's type declares, do not count here. The powers of the
    default are learned on the rows that ``fit`` takes, for which a file of more than 500 MB is read once more.
    ``nb.temper(clf, X, y)`` tempers other fits if their rows fit in memory.

    Args:
        data: The path of the file, which has a header line if it is CSV.
        target: The column of classes; by default the last.
        likelihoods, method, class_prior, smoothing, random_state, num_samples: As for ``NaiveBayesClassifier``.
        temper: None, or False for Normal numbers without learned powers.
        checkpoint: A file from which the same call resumes when it is repeated, as for ``stream``.
        progress_bar: Whether to show a progress bar on stderr if that is a terminal.

    Raises:
        ValueError: if the file, the target or another argument does not fit.

    Example:
        >>> import tempfile, pandas as pd, bayesnb as nb
        >>> frame = pd.DataFrame({"leaf": [1.0, 1.2, 3.0, 3.1], "kind": ["rose", "rose", "lily", "lily"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     frame.to_csv(f"{folder}/plants.csv", index=False)
        ...     clf = nb.fit_file(f"{folder}/plants.csv", "kind", {"leaf": "normal"})
        >>> dict(clf.likelihoods_), clf.classes_.tolist(), clf.class_count_.tolist()
        ({'leaf': 'normal'}, ['lily', 'rose'], [2.0, 2.0])
    """
    require(method, smoothing)
    if temper:
        raise ValueError(
            f"fit_file takes temper=None or False, got {temper!r}: fit the file, then use nb.temper(clf, X, y) with "
            "its rows in memory"
        )
    if not isinstance(data, str | os.PathLike):
        raise DataError(
            f"fit_file takes the path of a file, got a {type(data).__name__}: fit rows in memory with "
            "NaiveBayesClassifier"
        )
    with progress(1.0, wanted=progress_bar) as advance:
        described = describe_file(os.fspath(data), target, likelihoods, advance, in_python)
    for warning in described.warnings:
        warn(warning)
    params: dict[str, Any] = {"method": method, "class_prior": class_prior, "smoothing": smoothing, "temper": temper}
    params |= {"random_state": random_state, "num_samples": num_samples}
    return fit_described(described, checkpoint=checkpoint, progress_bar=progress_bar, **params)


def describe_file(
    data: str,
    target: str | None = None,
    likelihoods: Any = AUTO,
    advance: Advance | None = None,
    how: Callable[..., str] = on_command_line,
) -> Description:
    """The features and the classes of a file, by the rules of ``compare``.

    Args:
        data: A CSV or Parquet file, or the name of one of scikit-learn's data sets.
        target: The column of classes; by default the last.
        likelihoods: As for ``NaiveBayesClassifier``.
        advance: Called after each batch.
        how: The words of warnings for choosing a likelihood, as for ``warnings_of``.

    Raises:
        DataError: if the file, the target or a likelihood does not fit.
    """
    source = open_data(data)
    target = source.names[-1] if target is None else target
    require_target(data, source.names, target)
    chosen, texts = choose(source.names, target, likelihoods), set[str]()
    names = [name for name in source.names if chosen.get(name) != SKIP]
    while (read := _summaries(source, names, target, chosen, texts, advance)) is None:
        pass  # a column of numbers contains text: start over
    found, kept = read
    summaries = {name: found.get(name) or Summary(name, 0, 0) for name in source.names}
    return replace(describe(data, target, summaries, likelihoods, source.warnings, how), kept=kept)


def _summaries(
    source: RowData,
    names: list[str],
    target: str,
    chosen: Mapping[str, Any],
    texts: set[str],
    advance: Advance | None,
) -> tuple[dict[str, Summary], tuple[RowBatch, ...]] | None:
    """The summaries of columns, and the batches if they are small enough to be kept for a second reading.

    Text columns are added to ``texts``. None if one was read as numbers in some batch.
    """
    summaries: dict[str, Summary] = {}
    kept: list[RowBatch] = []
    rows, again, room = 0, False, KEPT_BYTES
    for batch in read_ahead(source.read(names, texts)):
        room -= batch.rows.nbytes
        kept = [*kept, row_batch(batch.rows, 0, 1.0)] if room >= 0 else []  # without the bytes that tell the lines
        require_finite_frame(source.data, batch.frame, batch.place)
        for name, found in summarise_rows(batch.frame, batch.present(target), target, batch.place, chosen).items():
            before = summaries.get(name, found)
            # text in one batch, numbers in another, which was read before the text was known, or is being read
            again |= found.text != before.text and min(found.num_cells, before.num_cells) > 0
            if found.text:
                texts.add(name)
            summaries[name] = found if again or before is found else before.merge(found)
        rows += batch.rows.num_rows
        if advance is not None:
            advance(batch.done, rows)
    return None if again else (summaries, tuple(kept))


def fit_described(
    described: Description,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress_bar: bool = True,
    **params: Any,
) -> NaiveBayesClassifier:
    """A classifier fitted to the rows of a file.

    Args:
        described: The description of the file.
        checkpoint: A file from which the same call resumes when it is repeated, as for ``stream``.
        progress_bar: Whether to show a progress bar on stderr.
        **params: Parameters of the classifier other than ``likelihoods``, which are those that the user has chosen.

    Raises:
        StreamError: if a block does not fit the description; the rows counted before stay in the checkpoint.
    """
    schema, classes = described.schema, np.array(described.classes)
    classifier = NaiveBayesClassifier(described.chosen or AUTO, **params)
    given = classifier.method, classifier.smoothing, schema, classes, classifier.class_prior
    chosen = plan(schema, described.num_rows, len(classes), classifier.method, classifier.temper)
    model, rows = specification(*given, views=chosen.views), DescribedRows(described)
    statistics = stream(model, rows, num_classes=len(classes), checkpoint=checkpoint, progress_bar=progress_bar)
    some = _some_rows(described, statistics) if chosen.powers else None
    return classifier.learned(schema, classes, statistics, some)


def _some_rows(described: Description, statistics: ModelStatistics) -> tuple[Any, Array]:
    """One in ``one_in`` rows, sorted by class, on which powers are learned: encoded, and their classes' numbers."""
    every, counts = one_in(described.num_rows), statistics.class_counts
    place = (np.cumsum(counts) - counts).astype(int)  # of the next row of each class among all rows, sorted by class
    found: list[tuple[Any, Array]] = []
    for frame in _labelled_rows(described):
        codes = described.target.encode(frame[described.target.name])
        order = np.argsort(codes, kind="stable")
        before = np.concatenate(
            [place[k] + np.arange(n) for k, n in enumerate(np.bincount(codes, minlength=len(place)))]
        )
        place = place + np.bincount(codes, minlength=len(place))
        kept = np.sort(order[before % every == 0])
        if len(kept):
            found.append((described.schema.encode(frame[kept.tolist()]), codes[kept]))
    return jax.tree.map(stack_rows, *found)


class DescribedRows(ArrayBlocks):
    """The rows of a file as blocks of arrays; a checkpoint is valid only for the same file and description."""

    def __init__(self, described: Description) -> None:
        super().__init__(_encoded_blocks(described))
        self._described = described

    def description(self) -> Any:
        """The file and its description, as JSON."""
        described, path = self._described, Path(self._described.data)
        file = path.stat() if described.data not in BUILT_IN else None
        return {
            "file": described.data if file is None else [str(path.resolve()), file.st_size, file.st_mtime_ns],
            "target": described.target.name,
            "classes": [label(value) for value in described.classes],
            "columns": [[column.name, column.kind, [*map(label, column.values)]] for column in described.schema.used],
        }


def _encoded_blocks(described: Description) -> Iterator[tuple[Any, Array]]:
    for frame in _labelled_rows(described):
        yield described.schema.encode(frame), described.target.encode(frame[described.target.name])


def _labelled_rows(described: Description) -> Iterator[Frame]:
    used = [*described.schema.used, described.target]
    texts = {column.name for column in used if column.text}
    for batch in described.kept or open_data(described.data).read([column.name for column in used], texts):
        present = batch.present(described.target.name)
        if present.any():
            yield batch.frame if present.all() else batch.frame.filter(present.tolist())


def predict_file(classifier: NaiveBayesClassifier, data: str) -> Iterator[tuple[RowBatch, Array]]:
    """Yield each batch of rows of a file with its predictions p(y = k | x), [N, K].

    Raises:
        DataError: if the file cannot be read, or its columns or cells differ from those of the fit.
    """
    for batch in _batches_for(classifier, data):
        yield batch, np.asarray(classifier.fit_.predict_proba(_schema(classifier).encode(batch.frame)))


def row_of(classifier: NaiveBayesClassifier, data: str, row: int) -> pd.DataFrame:
    """One row of a file as a frame with the columns of the fit; rows are numbered from 1.

    Raises:
        DataError: if the file has no such row, or lacks columns of the fit.
    """
    before = 0
    for batch in _batches_for(classifier, data):
        if row <= before + batch.rows.num_rows:
            return as_pandas(batch)[row - before - 1 : row - before].reindex(columns=_schema(classifier).names)
        before += batch.rows.num_rows
    raise DataError(f"'{data}' has {before:,} rows, so there is no row {row:,}; the first is 1")


def _batches_for(classifier: NaiveBayesClassifier, data: str) -> Iterator[RowBatch]:
    """The columns of the fit, batch by batch."""
    source, schema = open_data(data), _schema(classifier)
    schema.require(source.names)
    schema.warn_of_extra(source.names)
    for batch in source.read([column.name for column in schema.used], schema.texts):
        require_finite_frame(source.data, batch.frame, batch.place)
        for column in schema.used:
            cells = batch.frame[column.name]
            if column.text is False and not cells.dtype.is_float():
                try:
                    column.encode(cells)
                except DataError as error:
                    _, place = summarise(cells, batch.place).odd or ("", "")  # numbers as text have no odd cell
                    file = f"{place.partition(' ')[2]} of '{data}'" if place else f"'{data}'"
                    raise DataError(f"{file}: {error}") from error
        yield batch


def _schema(classifier: NaiveBayesClassifier) -> FrameSchema:
    if not isinstance(classifier.schema_, FrameSchema):
        raise DataError("the model was fitted to an array, whose columns have no names: predict in Python")
    return classifier.schema_
