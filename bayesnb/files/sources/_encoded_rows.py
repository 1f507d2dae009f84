"""The rows of a source as blocks, for sufficient statistics.

``ColumnChoice`` makes them of columns that the user names, ``Description`` of those of a table that was described.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Sequence
from typing import Any

import pyarrow as pa

from bayesnb.files.sources._source import Position, RowBatch, RowBlock, Source, at, at_row, read_ahead
from bayesnb.frames._series import Array


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
