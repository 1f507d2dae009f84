"""Read a file, or a table in memory, as Arrow batches in order and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from bayesnb.files.streaming.blocks import at
from bayesnb.files.streaming.columns import Columns

BATCH_BYTES = 8 << 20
"""Bytes of the features of one batch, as float64."""

BUFFER_BYTES = 64 << 10
"""Buffer size for each column of a Parquet file; all columns have one at the same time."""

CSV_BYTES = 4 << 20
"""CSV bytes parsed at a time."""


class Part(NamedTuple):
    """A fragment of a dataset with the columns of ``schema``; ``name`` is for error messages."""

    name: str
    fragment: ds.Fragment
    schema: pa.Schema
    columns: Columns


class Batch(NamedTuple):
    """Rows starting at ``first``, their place in words, and the fraction of the part read so far, including them."""

    rows: pa.RecordBatch
    first: int
    place: str
    done: float


def batch_rows(columns: Columns) -> int:
    """The number of rows in a batch."""
    return max(BATCH_BYTES // (8 * len(columns.features)), 1)


def read(part: Part, names: list[str], start: int) -> Iterator[Batch]:
    """Yield the named columns from row ``start`` on; batches end at the same rows for every ``start``.

    Raises:
        StreamError: if the part cannot be read, lacks a column, or has a column of the wrong type.
    """
    reader = _scan
    if isinstance(part.fragment, ds.ParquetFileFragment):
        reader = _parquet
    elif isinstance(part.fragment, ds.FileFragment) and isinstance(part.fragment.format, ds.CsvFileFormat):
        reader = _csv
    with at(f"{part.name} cannot be read", pa.ArrowException):
        for batch in reader(part, names, start):
            skip = max(start - batch.first, 0)
            if skip < batch.rows.num_rows:
                yield batch._replace(rows=batch.rows.slice(skip), first=batch.first + skip)


def _parquet(part: Part, names: list[str], start: int) -> Iterator[Batch]:
    """Read row groups a batch at a time: Arrow's scanner would hold several whole row groups in memory."""
    keys, size = _keys(part), batch_rows(part.columns)
    names = [name for name in names if name not in keys]
    with part.fragment.open() as handle, pq.ParquetFile(handle, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:
        _check(part, file.schema_arrow)
        num_rows = file.metadata.num_rows
        for groups, first, last in _row_groups(file.metadata, size):
            if last <= start:
                continue
            which = f"row groups {groups[0]} to {groups[-1]}" if len(groups) > 1 else f"row group {groups[0]}"
            place = f"{part.name}, {which}"
            with at(place, pa.ArrowException):
                # each Arrow thread would keep its own memory; reading already runs in parallel with counting
                for rows in file.iter_batches(size, groups, names, use_threads=False):
                    last = first + rows.num_rows
                    yield Batch(_append(rows, keys), first, place, last / num_rows)
                    first = last


def _row_groups(metadata: pq.FileMetaData, size: int) -> Iterator[tuple[list[int], int, int]]:
    """Row groups to read together, combined up to ``size`` rows, with their first row and the row after their last."""
    groups: list[int] = []
    first = last = 0
    for group in range(metadata.num_row_groups):
        num_rows = metadata.row_group(group).num_rows
        if groups and last + num_rows - first > size:
            yield groups, first, last
            groups, first = [], last
        groups.append(group)
        last += num_rows
    if groups:
        yield groups, first, last


def _csv(part: Part, names: list[str], start: int) -> Iterator[Batch]:
    """Read CSV from the first row, because row offsets are unknown; types are the dataset's, as with its scanner."""
    del start
    _check(part, part.fragment.physical_schema)
    keys, fragment = _keys(part), part.fragment
    options = fragment.format.default_fragment_scan_options
    convert = options.convert_options
    convert.include_columns = [name for name in names if name not in keys]
    convert.column_types = {name: part.schema.field(name).type for name in convert.include_columns}
    size = max(fragment.filesystem.get_file_info(fragment.path).size or 1, 1)
    with fragment.filesystem.open_input_stream(fragment.path) as handle:
        batches = pa.csv.open_csv(handle, options.read_options, fragment.format.parse_options, convert)
        for index, (first, last, rows) in enumerate(_numbered(batches)):
            done = min((index + 1) * options.read_options.block_size / size, 1.0)
            yield Batch(_append(rows, keys), first, _place(part, first, last), done)


def _scan(part: Part, names: list[str], start: int) -> Iterator[Batch]:
    """Read tables in memory, and files of other kinds."""
    del start
    _check(part, part.fragment.physical_schema)
    size = batch_rows(part.columns)
    batches = part.fragment.to_batches(part.schema, names, batch_size=size, batch_readahead=2, fragment_readahead=1)
    for first, last, rows in _numbered(batches):
        yield Batch(rows, first, _place(part, first, last), 0.0)


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, pa.RecordBatch]]:
    """Yield each batch after its first row number and the row number after its last."""
    last = 0
    for rows in batches:
        first, last = last, last + rows.num_rows
        yield first, last, rows


def _place(part: Part, first: int, last: int) -> str:
    return f"{part.name}, rows {first:,} to {last - 1:,}"


def _keys(part: Part) -> dict[str, pa.Scalar]:
    """The columns given by the file's folder names, with their values."""
    keys = ds.get_partition_keys(part.fragment.partition_expression)
    return {name: pa.scalar(value, part.schema.field(name).type) for name, value in keys.items()}


def _append(rows: pa.RecordBatch, keys: dict[str, pa.Scalar]) -> pa.RecordBatch:
    for name, value in keys.items():
        rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
    return rows


def _check(part: Part, schema: pa.Schema) -> None:
    keys = [part.schema.field(name) for name in _keys(part) if name not in schema.names]
    part.columns.check(pa.schema([*schema, *keys]), part.name)
