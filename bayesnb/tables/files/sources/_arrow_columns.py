"""The rows of a source as blocks for sufficient statistics, and those of columns that the user names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from bayesnb.core.rows._labelled_rows import Specification
from bayesnb.tables.files.sources._places import require_columns
from bayesnb.tables.files.sources._source import RowBatch, RowBlock, Source, StreamError, at, read_ahead
from bayesnb.tables.frames._series import Array, as_series, numbers, plain_text
from bayesnb.tables.frames._texts import NUMBER, factorise, is_text, match
from bayesnb.tables.frames._values import FLAGS, why_text


class EncodedRows(ABC):
    """The rows of a source as blocks, with the methods of ``ArrayBlocks``; they can be read repeatedly.

    Attributes:
        source: Where the rows come from. A subclass chooses its columns, and makes blocks of its rows.
    """

    source: Source

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
    def find_classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, list[Any] | None]:
        """K, and the labels that 0..K-1 encode (None if they are integers), given what the user declared."""

    def labelled(self, batch: RowBatch) -> RowBatch:
        """The rows that count."""
        return batch

    @abstractmethod
    def encode(self, rows: pa.RecordBatch, classes: Sequence[Any] | None) -> tuple[Any, Array, Array | None]:
        """X, y and weights of rows that count."""

    def blocks(self, classes: list[Any] | None) -> Generator[RowBlock]:
        """The blocks."""
        yield from read_ahead(self._blocks(classes))

    def _blocks(self, classes: list[Any] | None) -> Generator[RowBlock]:
        done = 0.0
        for part in self.source.parts:
            with at(f"{part.name} cannot be read"):
                for batch in part.batches(self.names, self.texts):
                    labelled = self.labelled(batch)
                    if not labelled.rows.num_rows:
                        continue
                    X, y, weight = labelled.read(part.name, lambda rows: self.encode(rows, classes))
                    read = done + batch.done * part.size
                    yield RowBlock(X, y, weight, part.name, read, labelled.where(part.name))
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
        text: Whether the labels are text; in files without types, whether the first ones are.
    """

    source: Source
    single: bool
    lists: dict[str, tuple[list[str], ...]]
    label: str
    weight: str | None
    text: bool = False

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
        with at(f"{source.title} cannot be read"):
            require_columns(source.title, schema.names, chosen.names)
            kind = schema.field(label).type
            if types.is_null(kind):
                kind = next((batch.rows[label].type for batch in source.batches([label], some=False)), kind)
        return replace(chosen, text=is_text(kind))

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
    def texts(self) -> list[str]:
        return [self.label] if self.text else []

    def find_classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, list[Any] | None]:
        if classes is not None:
            return len(classes), classes
        if num_classes is not None and not self.text:
            return num_classes, None
        if not all(part.again for part in self.source.parts):
            raise StreamError(
                f"{self.source.title} cannot be read twice to find the classes: declare their number, num_classes=K, "
                "or labels of text, classes=[...]"
            )
        found: set[Any] = set()  # a pass over the labels
        with at(f"{self.source.title} cannot be read"):
            for batch in self.source.batches(self.targets, self.texts, some=False):
                found |= batch.read((batch.part or self.source.parts[0]).name, self._labels)
        if not self.text:
            return max(found, default=0) + 1, None
        if num_classes is not None and num_classes < len(found):
            raise StreamError(f"column {self.label!r} holds {len(found)} labels, num_classes is {num_classes}")
        return num_classes or max(len(found), 1), sorted(found)

    def encode(self, rows: pa.RecordBatch, classes: Sequence[Any] | None) -> tuple[Any, Array, Array | None]:
        """X, y and weights of a batch: null features are NaN; ValueError for a label that is null or unknown.

        Such a label is allowed in a row of weight zero.
        """
        weight = None if self.weight is None else _dense(rows, [self.weight])[:, 0]
        y = self._codes(self._plain_labels(rows), classes, weight)
        return self._arrays(lambda names: _dense(rows, names)), y, weight

    def _labels(self, rows: pa.RecordBatch) -> set[Any]:
        """The distinct labels in rows of positive weight."""
        column = self._plain_labels(rows)
        if self.weight is not None:
            column = column.filter(pc.greater(_as_numbers(rows, self.weight), 0.0))
        return set(column.unique().to_pylist()) - {None}

    def _arrays(self, read: Callable[[list[str]], Array]) -> Any:
        arrays = {block: tuple(map(read, lists)) for block, lists in self.lists.items()}
        X = {block: parts[0] if len(parts) == 1 else parts for block, parts in arrays.items()}
        return X["x"] if self.single else X

    def _plain_labels(self, rows: pa.RecordBatch) -> pa.Array:
        """The labels as text, or as whole numbers; ValueError if they are neither."""
        column = _decoded(rows.column(self.label))
        kind = column.type
        if types.is_null(kind):
            return column.cast(pa.string() if self.text else pa.int64())
        if is_text(kind) != self.text:
            held, before = ("text" if text else "numbers" for text in (is_text(kind), self.text))
            raise ValueError(f"column {self.label!r} holds {held}, and {before} before: give the whole column one type")
        if is_text(kind) or types.is_integer(kind):
            return column
        whole = types.is_floating(kind) and pc.all(pc.equal(column, pc.round(column))).as_py() is not False
        if not (types.is_boolean(kind) or whole):
            raise ValueError(f"the label column {self.label!r} holds {kind}, expected whole numbers or text")
        return column.cast(pa.int64())

    def _codes(self, column: pa.Array, classes: Sequence[Any] | None, weight: Array | None) -> Array:
        """Labels as integers 0..K-1; -1 for an unknown label in a row of weight zero."""
        found = column
        if classes is not None:
            try:
                found = pc.index_in(column, value_set=pa.array(classes, type=column.type))
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise ValueError(f"the classes are {list(classes)}, the label column holds {column.type}") from error
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


def _dense(rows: pa.RecordBatch, names: Sequence[str]) -> Array:
    """Columns as a matrix [N, D], in a type that can represent all of them; null becomes NaN."""
    columns = [_as_numbers(rows, name) for name in names]
    batch = pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])
    return batch.to_tensor(null_to_nan=any(column.null_count for column in columns)).to_numpy()


def _decoded(column: pa.Array) -> pa.Array:
    column = plain_text(column)
    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def _as_numbers(rows: pa.RecordBatch, name: str) -> pa.Array:
    """A column as numbers; in files without types also text of numbers, or of true and false.

    Raises:
        ValueError: if it is neither, naming what it holds.
    """
    column = _decoded(rows.column(name))
    kind = column.type
    if types.is_boolean(kind):
        return column.cast(pa.uint8())
    if types.is_float16(kind):
        return column.cast(pa.float32())
    if types.is_integer(kind) or types.is_floating(kind):
        return column
    if types.is_decimal(kind) or types.is_null(kind):
        return pa.array(numbers(as_series(column).alias(name)), from_pandas=True)
    held = str(kind)
    if is_text(kind):
        positions, texts = factorise(as_series(column))
        found, odd = texts.to_pylist(), np.flatnonzero(~match(texts, NUMBER))
        flags = {*found} <= {*FLAGS.values()}
        if flags or not len(odd):
            cells = [*(text == FLAGS["true"] if flags else float(text) for text in found), np.nan]
            return pa.array(np.array(cells, np.float64)[positions], from_pandas=True)
        wrong = min((found[place] for place in odd), key=[*FLAGS.values()].__contains__)  # these alone would be none
        held = f"{wrong!r}, which {why_text(wrong)}"
    raise ValueError(
        f"column {name!r} holds {held}; a model takes numbers, such as codes or days: change the cells, leave the "
        "column out with columns=[...], or give the source to nb.fit_table, which encodes text"
    )


def _lists(block: str, given: Any, wanted: str) -> tuple[list[str], ...]:
    lists = given if isinstance(given, tuple) and not all(isinstance(name, str) for name in given) else (given,)
    if any(isinstance(some, str) or not isinstance(some, Sequence) for some in lists):
        raise ValueError(f"columns must be {wanted}, got {given!r} for block {block!r}")
    chosen = tuple(list(some) for some in lists)
    if not all(chosen) or not all(isinstance(name, str) for some in chosen for name in some):
        raise ValueError(f"columns must be {wanted}, got {given!r} for block {block!r}")
    return chosen
