"""Fit a file of any size: one pass over its blocks describes the columns, a second one counts the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from bayesnb.files.streaming import stream
from bayesnb.files.streaming.blocks import ArrayBlocks
from bayesnb.files.streaming.counting import Advance
from bayesnb.files.tables.description import SKIP, Description, describe, require_target
from bayesnb.files.tables.reading import BUILT_IN, FrameBlock, RowData, open_data, require_finite
from bayesnb.files.tables.summaries import Summary, summarise, summarise_frame
from bayesnb.frames.column_kinds import KINDS
from bayesnb.frames.likelihoods import kind_for_column
from bayesnb.frames.schema import FrameSchema
from bayesnb.frames.series import Array, DataError, label
from bayesnb.sklearn.estimator import NaiveBayesClassifier
from bayesnb.sklearn.fit_methods import specification


def describe_file(
    data: str, target: str | None = None, overrides: Mapping[str, str] | None = None, advance: Advance | None = None
) -> Description:
    """The features and the classes of a file, by the rules of ``compare``.

    Args:
        data: A CSV or Parquet file, or the name of one of scikit-learn's data sets.
        target: The column of classes; by default the last.
        overrides: Maps a column name, or a pattern, to one of the five kinds or `skip`.
        advance: Called after each block.

    Raises:
        DataError: if the file, the target or an override does not fit.
    """
    source, kinds = open_data(data), overrides or {}
    target = source.names[-1] if target is None else target
    require_target(data, source.names, target)
    skipped = {name for name in source.names if name != target and kind_for_column(kinds, name) == SKIP}
    texts: set[str] = set()
    while (read := _summaries(source, [n for n in source.names if n not in skipped], target, texts, advance)) is None:
        pass  # a column that began with numbers contains text: start over
    summaries = {name: read.get(name) or Summary(name, 0, 0, text=False) for name in source.names}
    return describe(data, target, summaries, kinds, KINDS, source.warnings)


def _summaries(
    source: RowData, names: list[str], target: str, texts: set[str], advance: Advance | None
) -> dict[str, Summary] | None:
    """The summaries of columns; text columns are added to ``texts``. None if one was read as numbers before."""
    summaries: dict[str, Summary] = {}
    rows, again = 0, False
    for block in source.read(names, texts):
        require_finite(source.data, block.frame)
        for name, found in summarise_frame(block.frame, target).items():
            before = summaries.get(name, found)
            again |= found.text and not before.text and before.num_cells > 0
            if found.text:
                texts.add(name)
            summaries[name] = found if again or before is found else before.merged(found)
        rows += len(block.frame)
        if advance is not None:
            advance(block.done, rows)
    return None if again else summaries


def fit_file(
    described: Description, *, checkpoint: Path | None = None, progress_bar: bool = True, **params: Any
) -> NaiveBayesClassifier:
    """A classifier fitted to the rows of a file, with a few blocks in memory at a time.

    Args:
        described: The description of the file.
        checkpoint: A file from which the same call resumes when it is repeated, as for ``stream``.
        progress_bar: Whether to show a progress bar on stderr.
        **params: Parameters of the classifier other than ``likelihoods``, which come from ``described``.

    Raises:
        StreamError: if a block does not fit the description; the rows counted before stay in the checkpoint.
    """
    schema, classes = described.schema, np.array(described.classes)
    classifier = NaiveBayesClassifier({column.name: column.kind for column in schema.columns}, **params)
    model = specification(classifier.method, classifier.smoothing, schema, len(classes), classifier.class_prior)
    rows = DescribedRows(described)
    statistics = stream(model, rows, num_classes=len(classes), checkpoint=checkpoint, progress_bar=progress_bar)
    return classifier.learned(schema, classes, statistics)


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
            "columns": [
                [column.name, column.kind, [*map(label, column.values)]] for column in described.schema.columns
            ],
        }


def _encoded_blocks(described: Description) -> Iterator[tuple[Any, Array]]:
    schema, target = described.schema, described.target
    texts = {column.name for column in (*schema.columns, target) if column.text}
    for block in open_data(described.data).read([*schema.names, target.name], texts):
        labelled = block.frame[block.frame[target.name].notna()]
        if len(labelled):
            yield schema.encode(nw.from_native(labelled)), target.encode(labelled[target.name])


def predict_file(classifier: NaiveBayesClassifier, data: str) -> Iterator[tuple[FrameBlock, Array]]:
    """Yield each block of rows of a file with its predictions p(y = k | x), [N, K].

    Raises:
        DataError: if the file cannot be read, or its columns or cells differ from those of the fit.
    """
    for block in _blocks_for(classifier, data):
        yield block, classifier.fit_.predict_proba(_schema(classifier).encode(nw.from_native(block.frame)))


def row_of(classifier: NaiveBayesClassifier, data: str, row: int) -> pd.DataFrame:
    """One row of a file as a frame with the columns of the fit; rows are numbered from 1.

    Raises:
        DataError: if the file has no such row, or lacks columns of the fit.
    """
    before = 0
    for block in _blocks_for(classifier, data):
        if row <= before + len(block.frame):
            return block.frame.iloc[row - before - 1 : row - before]
        before += len(block.frame)
    raise DataError(f"'{data}' has {before:,} rows, so there is no row {row:,}; the first is 1")


def _blocks_for(classifier: NaiveBayesClassifier, data: str) -> Iterator[FrameBlock]:
    """The columns of the fit, block by block."""
    source, schema = open_data(data), _schema(classifier)
    schema.require(source.names)
    for block in source.read(schema.names, schema.texts):
        require_finite(source.data, block.frame)
        for column in schema.columns:
            cells = block.frame[column.name]
            if column.text is False and cells.dtype == object:
                _, place = summarise(cells).odd or ("", "")
                try:
                    column.encode(cells)
                except DataError as error:
                    raise DataError(f"{place} of '{data}': {error}") from error
        yield block


def _schema(classifier: NaiveBayesClassifier) -> FrameSchema:
    if not isinstance(classifier.schema_, FrameSchema):
        raise DataError("the model was fitted to an array, whose columns have no names: predict in Python")
    return classifier.schema_
