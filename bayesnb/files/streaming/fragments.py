"""The fragments of an Arrow dataset, files or tables in memory, as a source; they are read one after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from bayesnb.files.streaming.blocks import Block, Position, StreamError, at
from bayesnb.files.streaming.columns import Columns, is_text
from bayesnb.files.streaming.readers import Part, read


class Fragments:
    """A source made of the fragments of a dataset, in order; it can be read repeatedly."""

    final = False

    def __init__(self, schema: pa.Schema, fragments: Iterable[ds.Fragment], columns: Columns) -> None:
        self._columns = columns
        self._label = schema.field(columns.label).type
        self._parts, self._marks, self._sizes = [], [], []
        for index, fragment in enumerate(fragments):
            name, mark, size = _identity(fragment, index)
            self._parts.append(Part(name, fragment, schema, columns))
            self._marks.append(mark)
            self._sizes.append(size)
        self.total: float | None = sum(self._sizes)

    def description(self) -> Any:
        """The names of the columns."""
        columns = self._columns
        return {"columns": columns.blocks, "label": columns.label, "weight": columns.weight}

    def read(self, position: Position) -> Any:
        """The files read up to this position, with their sizes and modification times."""
        return self._marks[: position.done().part]

    def empty(self) -> Any:
        """X without rows."""
        return self._columns.empty()

    def classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, list[Any] | None]:
        """K and the labels that 0..K-1 encode; unless they are declared, a pass over the labels finds them."""
        if classes is not None:
            return len(classes), classes
        text = is_text(self._label)
        if num_classes is not None and not text:
            return num_classes, None
        found: set[Any] = set()
        for part in self._parts:
            for batch in read(part, self._columns.targets, 0):
                with at(batch.place, pa.ArrowException):
                    found |= self._columns.labels(batch.rows, text)
        if not text:
            return max(found, default=0) + 1, None
        if num_classes is not None and num_classes < len(found):
            raise StreamError(f"column {self._columns.label!r} holds {len(found)} labels, num_classes is {num_classes}")
        return num_classes or max(len(found), 1), sorted(found)

    def blocks(self, start: Position, classes: list[Any] | None) -> Generator[Block]:
        """The blocks after this position; each is read while the previous one is counted."""
        return _ahead(self._blocks(start, classes))

    def _blocks(self, start: Position, classes: list[Any] | None) -> Iterator[Block]:
        names = [*self._columns.features, *self._columns.targets]
        done, rows = 0.0, start.rows
        for index, (part, size) in enumerate(zip(self._parts, self._sizes, strict=True)):
            if index >= start.part:
                for batch in read(part, names, start.row if index == start.part else 0):
                    with at(batch.place, pa.ArrowException):
                        X, y, weight = self._columns.rows(batch.rows, classes)
                    rows += len(y)
                    end = Position(index, batch.first + len(y), rows)
                    yield Block(X, y, weight, batch.place, end, done + batch.done * size)
                pa.default_memory_pool().release_unused()
            done += size


def _identity(fragment: ds.Fragment, index: int) -> tuple[str, str, float]:
    """Name, a mark that changes if the data change, and size: in bytes for a file, in rows for a table."""
    if isinstance(fragment, ds.FileFragment) and fragment.path:
        info = fragment.filesystem.get_file_info(fragment.path)
        return f"'{fragment.path}'", f"{info.base_name} of {info.size} bytes, {info.mtime}", info.size or 0
    head = hashlib.blake2b(repr(fragment.head(256).to_pydict()).encode(), digest_size=16).hexdigest()
    num_rows = fragment.count_rows()
    return f"table {index}", f"{num_rows} rows, {head}", num_rows


def _ahead(blocks: Iterator[Block]) -> Generator[Block]:
    """Yield the same blocks, reading each in a thread while the previous one is used."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block
