"""Arrow's tables, datasets and streams, and data frames, as sources; and what ``stream`` takes, as blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from bayesnb.arrays.memory import require_computed
from bayesnb.files.sources.arrays import ArrayBlocks
from bayesnb.files.sources.arrow_columns import ColumnChoice
from bayesnb.files.sources.batches import RowBatch, at, row_batch
from bayesnb.files.sources.parquet import ParquetFile, rows_in_batch
from bayesnb.files.sources.paths import open_files, with_types
from bayesnb.files.sources.source import EncodedRows, Part, Source
from bayesnb.frames.series import as_frame, to_arrow
from bayesnb.rows.labelled_rows import Specification

BlockSource = EncodedRows | ArrayBlocks

READ_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}
"""What Arrow's scanner holds in memory."""


class ScannedFile:
    """A table in memory, or a file of a kind that Arrow's scanner reads; ``full`` is the schema of the dataset."""

    def __init__(self, fragment: ds.Fragment, full: pa.Schema) -> None:
        self._fragment, self._full = fragment, full
        self.schema: pa.Schema = fragment.physical_schema

    def batches(self, names: Sequence[str], start: int = 0, texts: Collection[str] = ()) -> Iterator[RowBatch]:
        del start, texts
        first = 0
        for rows in self._fragment.to_batches(self._full, list(names), batch_size=rows_in_batch(names), **READ_AHEAD):
            yield row_batch(rows, first, 0.0)
            first += rows.num_rows


def open_source(
    model: Specification, source: Any, label: str | None, columns: Any, weight: str | None, classes: list[Any] | None
) -> BlockSource:
    """Blocks of a path, a frame, a dataset, a table, a stream of batches or an iterable of arrays.

    Raises:
        ValueError: if it is none of them, or the columns do not fit the model.
    """
    if not hasattr(source, "__arrow_c_stream__"):
        require_computed("source", source)
    kind = type(source).__module__.partition(".")[0]
    # a frame can be read twice, a stream of batches, such as DuckDB's relations, only once
    frame = None if kind.endswith("duckdb") else as_frame(source)
    if frame is not None:
        with at("the source"):
            source = to_arrow(frame)
    choose = partial(ColumnChoice.choose, model, label=label, columns=columns, weight=weight)
    if isinstance(source, str | os.PathLike):
        files = open_files(Path(source))
        chosen = choose(files.schema)
        files = with_types(files, chosen.choices)
        chosen.check(files.schema, f"'{files.data}'")
        return EncodedRows(files, chosen)
    if isinstance(source, pa.Table | pa.RecordBatch):
        source = ds.dataset(source)
    if isinstance(source, ds.Dataset):
        chosen = choose(source.schema)
        chosen.check(source.schema, "the source")
        try:
            fragments = list(source.get_fragments())
        except ValueError:  # a filtered dataset has no fragments
            size = rows_in_batch(chosen.names)
            source = source.scanner(columns=chosen.names, batch_size=size, **READ_AHEAD).to_reader()
        else:
            parts = [_fragment_part(fragment, index, source.schema) for index, fragment in enumerate(fragments)]
            return EncodedRows(Source("", "", source.schema, parts), chosen)
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        chosen = choose(reader.schema)
        chosen.check(reader.schema, "the source")
        return ArrayBlocks(_blocks_of(reader, chosen, classes))
    if not isinstance(source, Iterable) or isinstance(source, dict):
        raise ValueError(
            f"source must be a path, a data frame, Arrow data or an iterable of (X, y), got {type(source).__name__}"
        )
    if not (label is columns is weight is classes is None):
        raise ValueError("label, columns, weight and classes are for files, frames and Arrow data: a block is (X, y)")
    return ArrayBlocks(source)


def _fragment_part(fragment: ds.Fragment, index: int, schema: pa.Schema) -> Part:
    keys = ds.get_partition_keys(fragment.partition_expression)
    keys = {name: pa.scalar(value, schema.field(name).type) for name, value in keys.items()}
    scanned = partial(ScannedFile, fragment, schema)
    if not (isinstance(fragment, ds.FileFragment) and fragment.path):
        head = hashlib.blake2b(repr(fragment.head(256).to_pydict()).encode(), digest_size=16).hexdigest()
        name, num_rows = f"table {index}", fragment.count_rows()
        return Part(name, f"{num_rows} rows, {head}", num_rows, scanned, keys)
    info = fragment.filesystem.get_file_info(fragment.path)
    mark, name = f"{info.base_name} of {info.size} bytes, {info.mtime_ns}", f"'{fragment.path}'"
    parquet = isinstance(fragment, ds.ParquetFileFragment)
    opener: Any = partial(ParquetFile, fragment.path, fragment.open) if parquet else scanned
    return Part(name, mark, info.size or 0, opener, keys)


def _blocks_of(
    reader: pa.RecordBatchReader, columns: ColumnChoice, classes: Sequence[Any] | None
) -> Iterator[tuple[Any, Any, Any]]:
    """The batches of a stream as numpy blocks; large batches are split."""
    size = rows_in_batch(columns.names)
    for index, batch in enumerate(reader):
        for start in range(0, batch.num_rows, size):
            with at(f"batch {index}"):
                block = columns.encode(batch.slice(start, size), classes)
            yield block
