"""Arrow data as a source: Parquet and CSV files, folders of them, datasets, tables and streams of batches."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds

from bayesnb.files.sources.arrow_columns import ColumnChoice, is_text
from bayesnb.files.sources.batches import RowBatch, format_of, read_ahead
from bayesnb.files.sources.blocks import ArrayBlocks, Position, RowBlock, StreamError, at, at_row
from bayesnb.files.sources.csv import CsvFile
from bayesnb.files.sources.csv_cells import MISSING
from bayesnb.files.sources.parquet import ParquetFile, row_batch, rows_in_batch
from bayesnb.rows.labelled_rows import Specification

CSV_MISSING = MISSING | {*pa.csv.ConvertOptions().null_values}

READ_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}
"""What Arrow's scanner holds in memory."""

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What Hive writes in a folder's name for a missing value."""


class SourcePart(NamedTuple):
    """A file or a table: ``mark`` changes if it does, ``size`` is in bytes or rows; ``keys`` come from folder names.

    An opened part has a ``schema`` and ``batches(names, start)``: the named columns from row ``start`` or an earlier
    one on, in batches that begin at the same rows for any start.
    """

    name: str
    mark: str
    size: float
    keys: Mapping[str, pa.Scalar]
    open: Callable[[], Any]


class ScannedBatches:
    """A table in memory, or a file of a kind that Arrow's scanner reads; ``full`` is the schema of the dataset."""

    def __init__(self, fragment: ds.Fragment, full: pa.Schema) -> None:
        self._fragment, self._full = fragment, full
        self.schema: pa.Schema = fragment.physical_schema

    def batches(self, names: Sequence[str], start: int) -> Iterator[RowBatch]:
        del start
        first = 0
        for rows in self._fragment.to_batches(self._full, list(names), batch_size=rows_in_batch(names), **READ_AHEAD):
            yield row_batch(rows, first, 0.0)
            first += rows.num_rows


class ArrowSource:
    """A source made of files or tables, in order, with the methods of ``ArrayBlocks``; it can be read repeatedly."""

    final = False  # a folder may get new files

    def __init__(self, schema: pa.Schema, parts: Sequence[SourcePart], columns: ColumnChoice) -> None:
        self._label, self._parts, self._columns = schema.field(columns.label).type, parts, columns
        self.total: float | None = sum(part.size for part in parts)

    def description(self) -> Any:
        columns = self._columns
        return {"columns": columns.blocks, "label": columns.label, "weight": columns.weight}

    def read(self, position: Position) -> Any:
        return [part.mark for part in self._parts[: position.done().part]]

    def empty(self) -> Any:
        return self._columns.empty()

    def classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, list[Any] | None]:
        if classes is not None:
            return len(classes), classes
        text = is_text(self._label)
        if num_classes is not None and not text:
            return num_classes, None
        found: set[Any] = set()  # a pass over the labels
        for part in self._parts:
            for batch in self._batches(part, self._columns.targets, 0):
                with at(part.name):
                    found |= self._columns.labels(batch.rows, text)
        if not text:
            return max(found, default=0) + 1, None
        if num_classes is not None and num_classes < len(found):
            raise StreamError(f"column {self._columns.label!r} holds {len(found)} labels, num_classes is {num_classes}")
        return num_classes or max(len(found), 1), sorted(found)

    def blocks(self, start: Position, classes: list[Any] | None) -> Generator[RowBlock]:
        yield from read_ahead(self._blocks(start, classes))

    def _blocks(self, start: Position, classes: list[Any] | None) -> Iterator[RowBlock]:
        columns, done, rows = self._columns, 0.0, start.rows
        for index, part in enumerate(self._parts):
            if index >= start.part:
                first = start.row if index == start.part else 0
                for batch in self._batches(part, [*columns.features, *columns.targets], first):

                    def where(row: int, batch: RowBatch = batch, name: str = part.name) -> str:
                        return f"{name}, {batch.unit} {batch.numbers()[row]:,}"

                    def read(some: slice, batch: RowBatch = batch) -> Any:
                        return columns.rows(batch.rows[some], classes)

                    with at_row(part.name, batch.rows.num_rows, read, where):
                        X, y, weight = read(slice(None))
                    rows += len(y)
                    end = Position(index, batch.first + len(y), rows)
                    yield RowBlock(X, y, weight, part.name, end, done + batch.done * part.size, where)
                pa.default_memory_pool().release_unused()  # Arrow may keep the memory of finished parts
            done += part.size

    def _batches(self, part: SourcePart, names: Sequence[str], start: int) -> Iterator[RowBatch]:
        """The named columns of a part; StreamError if it cannot be read or its columns do not fit."""
        with at(f"{part.name} cannot be read"):
            file = part.open()
            keys = [pa.field(name, value.type) for name, value in part.keys.items() if name not in file.schema.names]
            self._columns.check(pa.schema([*file.schema, *keys]), part.name)
            for batch in file.batches([name for name in names if name not in part.keys], start):
                skip = max(start - batch.first, 0)
                if skip >= batch.rows.num_rows:
                    continue
                batch = batch.drop(skip)
                rows = batch.rows
                for name in part.keys.keys() & {*names}:
                    rows = rows.append_column(name, pa.repeat(part.keys[name], rows.num_rows))
                yield replace(batch, rows=rows)


BlockSource = ArrowSource | ArrayBlocks


def open_arrow(
    model: Specification, source: Any, label: str | None, columns: Any, weight: str | None, classes: list[Any] | None
) -> BlockSource:
    """A path, a dataset, a table or a stream of batches as a source; ValueError if the columns do not fit the model."""
    if isinstance(source, str | os.PathLike):
        return _open_path(model, Path(source), label, columns, weight)
    if isinstance(source, pa.Table | pa.RecordBatch):
        source = ds.dataset(source)
    if isinstance(source, ds.Dataset):
        chosen = ColumnChoice.choose(model, source.schema, label, columns, weight)
        chosen.check(source.schema, "the source")
        try:
            fragments = list(source.get_fragments())
        except ValueError:  # a filtered dataset has no fragments
            names = [*chosen.features, *chosen.targets]
            source = source.scanner(columns=names, batch_size=rows_in_batch(names), **READ_AHEAD).to_reader()
        else:
            parts = [_fragment_part(fragment, index, source.schema) for index, fragment in enumerate(fragments)]
            return ArrowSource(source.schema, parts, chosen)
    if not hasattr(source, "__arrow_c_stream__"):
        raise ValueError(
            f"source must be a path, a Dataset, a Table or a stream of batches, got {type(source).__name__}"
        )
    reader = pa.RecordBatchReader.from_stream(source)
    chosen = ColumnChoice.choose(model, reader.schema, label, columns, weight)
    chosen.check(reader.schema, "the source")
    return ArrayBlocks(_blocks_of(reader, chosen, classes))


def _open_path(model: Specification, path: Path, label: str | None, columns: Any, weight: str | None) -> ArrowSource:
    """The rows of a file, or of all Parquet or all CSV files under a folder, sorted by name.

    Folder names such as ``year=2020`` in ``year=2020/part.parquet`` become columns.
    """
    if not path.exists():
        raise StreamError(f"there is no file or folder '{path}'; pyarrow.dataset.dataset opens what lies elsewhere")
    files = [path]
    if not path.is_file():
        shown = (
            file for file in path.rglob("*") if not any(p.startswith((".", "_")) for p in file.relative_to(path).parts)
        )
        files = sorted(file for file in shown if format_of(file))
    kinds = {format_of(file) for file in files} - {""}
    if len(kinds) != 1:
        if kinds:
            raise StreamError(
                f"'{path}' holds {' and '.join(sorted(kinds))} files: give a folder with files of one kind"
            )
        what = "is not a file that ends in" if path.is_file() else "holds no files that end in"
        raise StreamError(f"'{path}' {what} .parquet, .csv or .tsv")
    keys = _folder_keys([file if path.is_file() else file.relative_to(path) for file in files])
    with at(f"'{path}' cannot be read"):
        if kinds == {"parquet"}:
            openers: list[Callable[[], Any]] = [partial(ParquetFile, file) for file in files]
            schema = openers[0]().schema
        else:
            first = CsvFile(files[0], CSV_MISSING)
            schema = pa.schema([(name, pa.null()) for name in first.names])
        for name, value in keys[0].items():
            schema = schema if name in schema.names else schema.append(pa.field(name, value.type))
        chosen = ColumnChoice.choose(model, schema, label, columns, weight)
        if kinds != {"parquet"}:
            # whole numbers may be followed by fractions
            choices = {name: [pa.float64(), pa.bool_()] for name in (*chosen.features, *chosen.targets)}
            choices[chosen.label] = [pa.int64(), pa.float64(), pa.bool_(), pa.string()]
            types = first.infer_types({name: some for name, some in choices.items() if name in first.names})
            schema = pa.schema([field.with_type(types.get(field.name, field.type)) for field in schema])
            openers = [partial(CsvFile, file, CSV_MISSING, types=types) for file in files]
    chosen.check(schema, f"'{path}'")
    parts = []
    for file, some, opener in zip(files, keys, openers, strict=True):
        info = file.stat()
        mark = f"{file.name} of {info.st_size} bytes, {info.st_mtime_ns}"
        parts.append(SourcePart(f"'{file}'", mark, info.st_size, some, opener))
    return ArrowSource(schema, parts, chosen)


def _folder_keys(files: Sequence[Path]) -> list[dict[str, pa.Scalar]]:
    """The columns in each file's folder names: whole numbers if they are so in all files, otherwise text."""
    pairs = [[part.partition("=") for part in file.parent.parts if "=" in part] for file in files]
    keys = [{unquote(name): unquote(value) for name, _, value in some} for some in pairs]
    texts = {name for some in keys for name, value in some.items() if not value.isdecimal() and value != NULL_FOLDER}

    def scalar(name: str, value: str) -> pa.Scalar:
        text = pa.scalar(None if value == NULL_FOLDER else value, pa.string())
        return text if name in texts else text.cast(pa.int32())

    return [{name: scalar(name, value) for name, value in some.items()} for some in keys]


def _fragment_part(fragment: ds.Fragment, index: int, schema: pa.Schema) -> SourcePart:
    keys = ds.get_partition_keys(fragment.partition_expression)
    keys = {name: pa.scalar(value, schema.field(name).type) for name, value in keys.items()}
    scanned = partial(ScannedBatches, fragment, schema)
    if not (isinstance(fragment, ds.FileFragment) and fragment.path):
        head = hashlib.blake2b(repr(fragment.head(256).to_pydict()).encode(), digest_size=16).hexdigest()
        name, num_rows = f"table {index}", fragment.count_rows()
        return SourcePart(name, f"{num_rows} rows, {head}", num_rows, keys, scanned)
    info = fragment.filesystem.get_file_info(fragment.path)
    mark, name = f"{info.base_name} of {info.size} bytes, {info.mtime_ns}", f"'{fragment.path}'"
    parquet = isinstance(fragment, ds.ParquetFileFragment)
    opener: Any = partial(ParquetFile, fragment.path, fragment.open) if parquet else scanned
    return SourcePart(name, mark, info.size or 0, keys, opener)


def _blocks_of(
    reader: pa.RecordBatchReader, columns: ColumnChoice, classes: Sequence[Any] | None
) -> Iterator[tuple[Any, Any, Any]]:
    """The batches of a stream as numpy blocks; large batches are split."""
    size = rows_in_batch([*columns.features, *columns.targets])
    for index, batch in enumerate(reader):
        for start in range(0, batch.num_rows, size):
            with at(f"batch {index}"):
                block = columns.rows(batch.slice(start, size), classes)
            yield block
