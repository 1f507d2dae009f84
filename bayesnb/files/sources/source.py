"""A source of rows: files or tables with the same columns, read one after the other in batches, and encoded as blocks.

Whatever rows come from, they are read as a ``Source``. ``EncodedRows`` choose its columns and make blocks of them:
``ColumnChoice`` of columns that the user names, ``Description`` of those of a file that was described.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from bayesnb.files.sources.batches import Position, RowBatch, RowBlock, at, at_row, format_of, read_ahead
from bayesnb.frames.series import Array, DataError


class File(Protocol):
    """An opened file or table."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns and their types."""

    def batches(self, names: Sequence[str], start: int = 0, texts: Collection[str] = ()) -> Iterator[RowBatch]:
        """The named columns from row ``start`` or an earlier one on; batches begin at the same rows for any start.

        ``texts`` are the columns to be read as text where the file has no types.
        """


@dataclass(frozen=True, eq=False)
class Part:
    """A file or a table of a source.

    Attributes:
        name: Its name in messages.
        mark: A text that changes if the part does.
        size: Its size, in bytes or rows.
        open: Opens it.
        keys: Columns of one value, from the names of folders.
    """

    name: str
    mark: str
    size: float
    open: Callable[[], File]
    keys: Mapping[str, pa.Scalar] = field(default_factory=dict)

    def batches(
        self,
        names: Sequence[str],
        start: int = 0,
        texts: Collection[str] = (),
        check: Callable[[pa.Schema, str], None] | None = None,
    ) -> Iterator[RowBatch]:
        """The named columns from row ``start`` on, once ``check`` has accepted the types of all columns."""
        file = self.open()
        keys = [pa.field(name, value.type) for name, value in self.keys.items() if name not in file.schema.names]
        if check is not None:
            check(pa.schema([*file.schema, *keys]), self.name)
        for batch in file.batches([name for name in names if name not in self.keys], start, texts):
            skip = max(start - batch.first, 0)
            if skip >= batch.rows.num_rows:
                continue
            batch = batch.drop(skip)
            rows = batch.rows
            for name in self.keys.keys() & {*names}:
                rows = rows.append_column(name, pa.repeat(self.keys[name], rows.num_rows))
            yield replace(batch, rows=rows)


def file_part(file: Path, opener: Callable[[], Any], keys: Mapping[str, pa.Scalar] | None = None) -> Part:
    """A file at a path of this machine as a part of a source."""
    info = file.stat()
    mark = f"{file.name} of {info.st_size} bytes, {info.st_mtime_ns}"
    return Part(f"'{file}'", mark, info.st_size, opener, keys or {})


@dataclass(frozen=True, eq=False)
class Source:
    """Files or tables with the same columns.

    Attributes:
        data: The path, or what else messages call it.
        name: The name without folders and ending; a report's default folder is named after it.
        schema: The columns with their types; null if any type will do.
        parts: The files or tables, in order.
        warnings: Sentences about a header that looks wrong.
    """

    data: str
    name: str
    schema: pa.Schema
    parts: Sequence[Part]
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def batches(self, names: Sequence[str], texts: Collection[str] = ()) -> Iterator[RowBatch]:
        """The named columns of all rows; ``texts`` may grow while batches are read, for those that follow.

        Raises:
            DataError: if there are no rows.
        """
        given = False
        for part in self.parts:
            for batch in part.batches(names, texts=texts):
                given = True
                yield batch
        if not given:
            header = "" if format_of(Path(self.data)) == "parquet" else "a header and "
            raise DataError(f"'{self.data}' has {header}no rows")


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
    def total(self) -> float:
        """The size of all parts."""
        return sum(part.size for part in self.source.parts)

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
        return [part.mark for part in self.source.parts[: position.done().part]]

    def blocks(self, start: Position, classes: list[Any] | None) -> Generator[RowBlock]:
        """The blocks after this position."""
        yield from read_ahead(self._blocks(start, classes))

    def _blocks(self, start: Position, classes: list[Any] | None) -> Iterator[RowBlock]:
        done, num_rows = 0.0, start.rows
        for index, part in enumerate(self.source.parts):
            if index >= start.part:
                first = start.row if index == start.part else 0
                with at(f"{part.name} cannot be read"):
                    for batch in part.batches(self.names, first, self.texts, self.check):
                        labelled = self.labelled(batch)
                        if not labelled.rows.num_rows:
                            continue

                        def where(row: int, batch: RowBatch = labelled, name: str = part.name) -> str:
                            return f"{name}, {batch.unit} {batch.numbers()[row]:,}"

                        def encode(some: slice, rows: pa.RecordBatch = labelled.rows) -> Any:
                            return self.encode(rows[some], classes)

                        with at_row(part.name, labelled.rows.num_rows, encode, where):
                            X, y, weight = encode(slice(None))
                        num_rows += len(y)
                        end = Position(index, batch.first + batch.rows.num_rows, num_rows)
                        yield RowBlock(X, y, weight, part.name, end, done + batch.done * part.size, where)
                pa.default_memory_pool().release_unused()  # Arrow may keep the memory of finished parts
            done += part.size
