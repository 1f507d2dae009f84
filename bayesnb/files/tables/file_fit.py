"""Fit a file of any size: one pass over its blocks describes the columns, a second one counts the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.files.streaming import stream
from bayesnb.files.streaming.blocks import Arrays
from bayesnb.files.tables.reading import BUILT_IN, read_blocks
from bayesnb.files.tables.source import Block, Wanted
from bayesnb.files.tables.summaries import Summary, classes_from, summarise
from bayesnb.files.tables.table import SKIP, Chosen, choose_columns, target_of
from bayesnb.frames.column_kinds import KINDS, Column
from bayesnb.frames.likelihoods import kind_for_column
from bayesnb.frames.schema import FrameSchema
from bayesnb.frames.series import LARGEST_INTEGER, Array, DataError, label
from bayesnb.sklearn.estimator import NaiveBayesClassifier
from bayesnb.sklearn.fit_methods import specification

Advance = Callable[[float, int], None]
"""Progress callback: takes the fraction of the file and the number of rows read so far."""


@dataclass(frozen=True, eq=False)
class Description:
    """The columns and classes of a file.

    Attributes:
        data: The file.
        target: The column of classes.
        classes: The K classes [K].
        chosen: The features and the columns left out.
        names: All column names, in file order.
        texts: The columns of text.
        num_rows: The number of rows with a class.
        num_unlabelled: The number of rows without a class, which are left out.
    """

    data: str
    target: str
    classes: Array
    chosen: Chosen
    names: tuple[str, ...]
    texts: frozenset[str]
    num_rows: int
    num_unlabelled: int

    @property
    def schema(self) -> FrameSchema:
        """The features, in file order.

        Two values other than 0 and 1 become two categories, which is the same model: later rows may show a third.
        """
        columns = sorted(self.chosen.columns, key=lambda column: self.names.index(column.name))
        return FrameSchema(
            tuple(
                replace(column, kind="categorical")
                if column.kind == "bernoulli" and {*column.values} != {0.0, 1.0}
                else column
                for column in columns
            )
        )


def describe_file(
    data: str, target: str | None = None, overrides: Mapping[str, str] | None = None, advance: Advance | None = None
) -> Description:
    """Choose the features and the classes of a file by the rules of ``compare``.

    Args:
        data: A CSV or Parquet file, or the name of one of scikit-learn's data sets.
        target: The column of classes; by default the last.
        overrides: Maps a column name, or a pattern, to one of the five kinds or `skip`.
        advance: Called after each block.

    Raises:
        DataError: if the file, the target or an override does not fit.
    """
    texts: set[str] = set()
    kinds, names = overrides or {}, dict[str, None]()  # a dict keeps the file order

    def wanted(name: str) -> bool:
        names[name] = None
        return name == target or kind_for_column(kinds, name) != SKIP

    while (summaries := _summaries(data, target, texts, wanted, advance)) is None:
        pass  # a column that began with numbers contains text: start over
    target = next(reversed(summaries)) if target is None else target
    labels = summaries.pop(target)
    classes = classes_from(labels)
    whole = not labels.text and labels.whole and max(map(abs, labels.span)) <= LARGEST_INTEGER
    # columns that were not read get an empty summary
    features = [summaries.get(name) or Summary(name, 0, 0, text=False) for name in names if name != target]
    chosen = choose_columns(data, target, features, kinds, KINDS)
    return Description(
        data=data,
        target=target,
        classes=np.array(classes, int) if whole else np.array(classes),
        chosen=chosen,
        names=tuple(names),
        texts=frozenset(texts),
        num_rows=labels.num_cells,
        num_unlabelled=labels.missing,
    )


def _summaries(
    data: str, target: str | None, texts: set[str], wanted: Wanted, advance: Advance | None
) -> dict[str, Summary] | None:
    """Summarise every column over the labelled rows.

    If a column assumed to be numeric contains text, add it to ``texts`` and return None: the caller starts over.
    """
    summaries: dict[str, Summary] = {}
    rows = 0
    for block in read_blocks(data, texts, wanted):
        frame = block.frame
        target = target_of(data, list(frame.columns), str(frame.columns[-1]) if target is None else target)
        labelled = frame[frame[target].notna()]
        for name in frame:
            found = summarise((frame if name == target else labelled)[name])
            before = summaries.get(name)
            if before is not None and before.num_cells and found.text and not before.text:
                texts.add(name)
                return None
            if found.text:
                texts.add(name)
            summaries[name] = found if before is None else before.merged(found)
        rows += len(frame)
        if advance is not None:
            advance(block.done, rows)
    return summaries


def fit_file(
    described: Description, *, checkpoint: Path | None = None, progress_bar: bool = True, **params: Any
) -> NaiveBayesClassifier:
    """Count the rows of a file and fit a classifier to them, with a few blocks in memory at a time.

    Args:
        described: The description of the file.
        checkpoint: A file from which the same call resumes when it is repeated, as for ``stream``.
        progress_bar: Whether to show a progress bar on stderr.
        **params: Parameters of the classifier other than ``likelihoods``, which come from ``described``.

    Raises:
        StreamError: if a block does not fit the description; the rows counted before stay in the checkpoint.
    """
    schema, classes = described.schema, described.classes
    classifier = NaiveBayesClassifier({column.name: column.kind for column in schema.columns}, **params)
    model = specification(classifier.method, classifier.smoothing, schema, len(classes), classifier.class_prior)
    rows = DescribedRows(described)
    statistics = stream(model, rows, num_classes=len(classes), checkpoint=checkpoint, progress_bar=progress_bar)
    return classifier.learned(schema, classes, statistics)


class DescribedRows(Arrays):
    """The rows of a file as blocks of arrays; a checkpoint is valid only for the same file and description."""

    def __init__(self, described: Description) -> None:
        super().__init__(_blocks(described))
        self._described = described

    def description(self) -> Any:
        """The file and its description, as JSON."""
        described, path = self._described, Path(self._described.data)
        file = path.stat() if described.data not in BUILT_IN else None
        return {
            "file": described.data if file is None else [str(path.resolve()), file.st_size, file.st_mtime_ns],
            "target": described.target,
            "classes": [label(value) for value in described.classes.tolist()],
            "columns": [
                [column.name, column.kind, [*map(label, column.values)]] for column in described.schema.columns
            ],
        }


def _blocks(described: Description) -> Iterator[tuple[Any, Array]]:
    text = described.target in described.texts
    labels = Column(described.target, "categorical", tuple(described.classes.tolist()), text)
    names = {*described.schema.names, described.target}
    for block in read_blocks(described.data, described.texts, names.__contains__):
        labelled = block.frame[block.frame[described.target].notna()]
        if len(labelled):
            yield described.schema.encode(nw.from_native(labelled)), labels.encode(labelled[described.target])


def predict_file(classifier: NaiveBayesClassifier, data: str) -> Iterator[tuple[Block, Array]]:
    """Yield each block of rows of a file with its predictions p(y = k | x), [N, K].

    Raises:
        DataError: if the file cannot be read, or its columns differ from those of the fit.
    """
    schema = _named(classifier)
    for block in read_blocks(data, schema.texts, {*schema.names}.__contains__):
        yield block, classifier.fit_.predict_proba(schema.encode(nw.from_native(block.frame)))


def row_of(classifier: NaiveBayesClassifier, data: str, row: int) -> Any:
    """One row of a file as a frame with the columns of the fit; rows are numbered from 1.

    Raises:
        DataError: if the file has no such row or lacks columns of the fit.
    """
    before, schema = 0, _named(classifier)
    for block in read_blocks(data, schema.texts, {*schema.names}.__contains__):
        schema.require(list(block.frame.columns))
        if before < row <= before + len(block.frame):
            return block.frame.iloc[row - before - 1 : row - before]
        before += len(block.frame)
    raise DataError(f"'{data}' has {before:,} rows, so there is no row {row:,}; the first is 1")


def _named(classifier: NaiveBayesClassifier) -> FrameSchema:
    schema = classifier.schema_
    if not isinstance(schema, FrameSchema):
        raise DataError("the model was fitted to an array, whose columns have no names: predict in Python")
    return schema
