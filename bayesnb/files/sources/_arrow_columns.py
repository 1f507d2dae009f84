"""The rows of a source as blocks for sufficient statistics, and those of columns that the user names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from bayesnb.files.sources._csv import TEXT
from bayesnb.files.sources._source import Position, RowBatch, RowBlock, Source, StreamError, at, at_row, read_ahead
from bayesnb.frames._series import Array, plain_text
from bayesnb.frames._texts import is_text
from bayesnb.rows._labelled_rows import Specification


class EncodedRows(ABC):
    """The rows of a source as blocks, with the methods of ``ArrayBlocks``; they can be read repeatedly.

    Attributes:
        source: Where the rows come from. A subclass chooses its columns, and makes blocks of its rows.
    """

    source: Source
    final = False  # a folder may get new files

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The columns that it reads."""

    @property
    def texts(self) -> Collection[str]:
        """Those of them to be read as text where a file has no types."""
        return ()

    @property
    def total(self) -> float | None:
        """The size of all parts; None if it is unknown."""
        return sum(part.size for part in self.source.parts) or None

    @abstractmethod
    def description(self) -> Any:
        """What a checkpoint must match to be valid, as JSON."""

    @abstractmethod
    def check(self, schema: pa.Schema, place: str) -> None:
        """Raise StreamError unless a file of this schema, called ``place``, has these columns, with usable types."""

    @abstractmethod
    def find_classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, list[Any] | None]:
        """K, and the labels that 0..K-1 encode (None if they are integers), given what the user declared."""

    @abstractmethod
    def empty(self) -> Any:
        """X without rows."""

    def labelled(self, batch: RowBatch) -> RowBatch:
        """The rows that count."""
        return batch

    @abstractmethod
    def encode(self, rows: pa.RecordBatch, classes: Sequence[Any] | None) -> tuple[Any, Array, Array | None]:
        """X, y and weights of rows that count."""

    def read(self, position: Position) -> Any:
        """Marks that change if the parts before this position change, as JSON."""
        parts = self.source.parts[: position.done().part]
        return [part.mark if isinstance(part.mark, str) else part.mark() for part in parts]

    def blocks(self, start: Position, classes: list[Any] | None) -> Generator[RowBlock]:
        """The blocks after this position."""
        yield from read_ahead(self._blocks(start, classes))

    def _blocks(self, start: Position, classes: list[Any] | None) -> Generator[RowBlock]:
        done, num_rows = 0.0, start.rows
        for index, part in enumerate(self.source.parts):
            if index >= start.part:
                first = start.row if index == start.part else 0
                with at(f"{part.name} cannot be read"):
                    for batch in part.batches(self.names, first, self.texts, self.check):
                        labelled = self.labelled(batch)
                        if not labelled.rows.num_rows:
                            continue

                        def encode(some: slice, rows: pa.RecordBatch = labelled.rows) -> Any:
                            return self.encode(rows[some], classes)

                        where = labelled.where(part.name)
                        with at_row(part.name, labelled.rows.num_rows, encode, where):
                            X, y, weight = encode(slice(None))
                        num_rows += len(y)
                        end = Position(index, batch.first + batch.rows.num_rows, num_rows)
                        yield RowBlock(X, y, weight, part.name, end, done + batch.done * part.size, where)
                pa.default_memory_pool().release_unused()  # Arrow may keep the memory of finished parts
            done += part.size


@dataclass(frozen=True)
class ColumnChoice(EncodedRows):
    """The names of columns: for each block a list of names for each array it takes.

    Attributes:
        source: Where the rows come from.
        single: True if X is an array, not a dict of arrays by block.
        lists: For each block a list of features for each array that it takes.
        label: The column of labels.
        weight: The column of weights, or None.
    """

    source: Source
    single: bool
    lists: dict[str, tuple[list[str], ...]]
    label: str
    weight: str | None

    @classmethod
    def choose(cls, model: Specification, source: Source, label: str | None, columns: Any, weight: Any) -> Self:
        """The columns of a model's blocks, as declared; for a single block, by default all remaining columns.

        ValueError if they do not fit the model.
        """
        schema = source.schema
        if label is None:
            raise ValueError(f"label is missing: give the name of the column of labels, one of {schema.names}")
        if columns is None and model.single:
            # pandas writes the index as a column, which is not a feature
            index = (schema.pandas_metadata or {}).get("index_columns", [])
            columns = [name for name in schema.names if name not in (label, weight, *map(str, index))]
        blocks = {"x": columns} if model.single else columns
        wanted = "a list of names" if model.single else f"a dict, a list of names for each of {list(model.families)}"
        if not isinstance(blocks, Mapping) or (model.single and isinstance(columns, Mapping)):
            raise ValueError(f"columns must be {wanted}, got {columns!r}")
        if set(blocks) != set(model.families):
            raise ValueError(f"columns must be {wanted}, got names for {list(blocks)}")
        chosen = cls(source, model.single, {b: _lists(b, blocks[b], wanted) for b in model.families}, label, weight)
        for name in (label, weight):
            if name in chosen.features:
                raise ValueError(f"column {name!r} is a feature as well as the label or the weight")
        return chosen

    @property
    def features(self) -> list[str]:
        """The distinct names of all features."""
        names = (name for lists in self.lists.values() for some in lists for name in some)
        return list(dict.fromkeys(names))

    @property
    def targets(self) -> list[str]:
        """The columns of labels and weights."""
        return [self.label] if self.weight is None else [self.label, self.weight]

    @property
    def names(self) -> list[str]:
        return [*self.features, *self.targets]

    @property
    def choices(self) -> dict[str, list[pa.DataType]]:
        """The types that each column may have in files without types; whole numbers may be followed by fractions."""
        labels = [pa.int64(), pa.float64(), pa.bool_(), TEXT]
        return {name: [pa.float64(), pa.bool_()] for name in self.names} | {self.label: labels}

    def description(self) -> Any:
        return {"columns": self.lists, "label": self.label, "weight": self.weight}

    def check(self, schema: pa.Schema, place: str) -> None:
        names = Counter(schema.names)
        for name in self.names:
            if names[name] != 1:
                found = f"{names[name]} columns" if names[name] else "no column"
                raise StreamError(f"{place} has {found} {name!r}, its columns are {list(names)}")
            held = schema.field(name).type
            kind = held.value_type if types.is_dictionary(held) else held
            whole = types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind)
            if name != self.label and not (whole or types.is_floating(kind) or types.is_decimal(kind)):
                advice = "integer codes, numbers such as 1.5 for 1,5, or the file to nb.fit_file, which encodes text"
                advice = advice if is_text(kind) else "numbers, such as days"
                raise StreamError(
                    f"{place}: column {name!r} holds {held} where numbers are expected; give {advice}, or leave it out "
                    "with columns=[...]"
                )
            if name == self.label and not (is_text(kind) or whole):
                raise StreamError(f"{place}: the label column {name!r} holds {held}, expected whole numbers or text")

    def find_classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, list[Any] | None]:
        if classes is not None:
            return len(classes), classes
        text = is_text(self.source.schema.field(self.label).type)
        if num_classes is not None and not text:
            return num_classes, None
        if not all(part.again for part in self.source.parts):
            raise StreamError(
                f"{self.source.title} cannot be read twice to find the classes: declare their number, num_classes=K, "
                "or labels of text, classes=[...]"
            )
        found: set[Any] = set()  # a pass over the labels
        for part in self.source.parts:
            with at(f"{part.name} cannot be read"):
                for batch in part.batches(self.targets, check=self.check):
                    with at(part.name):
                        found |= self._labels(batch.rows, text)
        if not text:
            return max(found, default=0) + 1, None
        if num_classes is not None and num_classes < len(found):
            raise StreamError(f"column {self.label!r} holds {len(found)} labels, num_classes is {num_classes}")
        return num_classes or max(len(found), 1), sorted(found)

    def empty(self) -> Any:
        return self._arrays(lambda names: np.zeros((0, len(names))))

    def encode(self, rows: pa.RecordBatch, classes: Sequence[Any] | None) -> tuple[Any, Array, Array | None]:
        """X, y and weights of a batch: null features are NaN; ValueError for a label that is null or unknown.

        Such a label is allowed in a row of weight zero.
        """
        weight = None if self.weight is None else _dense([rows.column(self.weight)])[:, 0]
        y = self._codes(rows.column(self.label), classes, weight)
        return self._arrays(lambda names: _dense([rows.column(name) for name in names])), y, weight

    def _labels(self, batch: pa.RecordBatch, text: bool) -> set[Any]:
        """The distinct labels of a batch in rows of positive weight; ValueError unless they are text, if ``text``."""
        column = plain_text(batch.column(self.label))
        if is_text(column.type) != text:
            raise ValueError(f"column {self.label!r} holds {column.type}, which differs from the files before")
        if self.weight is not None:
            column = column.filter(pc.greater(_plain(batch.column(self.weight)), 0.0))
        return set(column.unique().to_pylist()) - {None}

    def _arrays(self, read: Callable[[list[str]], Array]) -> Any:
        arrays = {block: tuple(map(read, lists)) for block, lists in self.lists.items()}
        X = {block: parts[0] if len(parts) == 1 else parts for block, parts in arrays.items()}
        return X["x"] if self.single else X

    def _codes(self, column: pa.Array, classes: Sequence[Any] | None, weight: Array | None) -> Array:
        """Labels as integers 0..K-1; -1 for an unknown label in a row of weight zero."""
        column = plain_text(column)
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if classes is None and is_text(column.type):
            raise ValueError(f"column {self.label!r} holds text: give its labels as classes=[...]")
        found = column
        if classes is not None:
            try:
                found = pc.index_in(column, value_set=pa.array(classes, type=column.type))
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise ValueError(f"the classes are {list(classes)}, the label column holds {column.type}") from error
        if types.is_boolean(found.type) or types.is_null(found.type):
            found = found.cast(pa.int64())
        if found.null_count == 0:
            return found.to_numpy()
        counts = np.ones(len(column), bool) if weight is None else weight > 0
        bad = column.filter(pa.array(found.is_null().to_numpy(zero_copy_only=False) & counts))
        if bad.null_count:
            raise ValueError(
                f"the label in column {self.label!r} is missing: leave the row out, or give it the weight zero"
            )
        if len(bad):
            raise ValueError(
                f"the label {bad[0].as_py()!r} in column {self.label!r} is not one of {list(classes or ())}"
            )
        return found.fill_null(-1).to_numpy()


def _dense(columns: list[pa.Array]) -> Array:
    """Columns as a matrix [N, D], in a type that can represent all of them; null becomes NaN."""
    columns = [_plain(column) for column in columns]
    batch = pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])
    return batch.to_tensor(null_to_nan=any(column.null_count for column in columns)).to_numpy()


def _plain(column: pa.Array) -> pa.Array:
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_boolean(column.type):
        return column.cast(pa.uint8())
    if types.is_float16(column.type):
        return column.cast(pa.float32())
    if types.is_integer(column.type) or types.is_floating(column.type):
        return column
    return column.cast(pa.float64())


def _lists(block: str, given: Any, wanted: str) -> tuple[list[str], ...]:
    lists = given if isinstance(given, tuple) and not all(isinstance(name, str) for name in given) else (given,)
    if any(isinstance(some, str) or not isinstance(some, Sequence) for some in lists):
        raise ValueError(f"columns must be {wanted}, got {given!r} for block {block!r}")
    chosen = tuple(list(some) for some in lists)
    if not all(chosen) or not all(isinstance(name, str) for some in chosen for name in some):
        raise ValueError(f"columns must be {wanted}, got {given!r} for block {block!r}")
    return chosen
