"""Anything that holds a table, as a source: paths, frames, datasets, queries, and streams of Arrow.

Queries run again for each reading, and so do functions that open a stream. Any other stream, such as a reader, is read
once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.dataset as ds

from bayesnb.compute.arrays._memory import require_computed
from bayesnb.tables.files.sources._parquet import ParquetFile, rows_in_batch
from bayesnb.tables.files.sources._paths import open_data
from bayesnb.tables.files.sources._source import Part, RowBatch, Source, at, row_batch, words_of
from bayesnb.tables.frames._series import DataError, as_frame, to_arrow
from bayesnb.tables.frames._values import READING, Reading

READ_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}
"""What Arrow's scanner holds in memory."""


def _dask_tables(query: Any) -> Iterator[pa.Table]:
    """The partitions, computed one after the other."""
    return (pa.Table.from_pandas(part.compute(), preserve_index=False) for part in query.partitions)


def _spark_tables(query: Any) -> Iterator[pa.Table]:
    """The batches of Spark's workers, which come one partition after the other as bytes."""

    def as_bytes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.RecordBatch.from_pydict({"blob": [sink.getvalue().to_pybytes()]})

    for row in query.mapInArrow(as_bytes, "blob binary").toLocalIterator():
        yield pa.ipc.open_stream(bytes(row.blob)).read_all()


def _reader(tables: Callable[[Any], Iterator[pa.Table]]) -> Callable[[Any], pa.RecordBatchReader]:
    """Tables of a query as one stream, in the types of the first of no rows."""

    def read(query: Any) -> pa.RecordBatchReader:
        schema = _schema(query)
        batches = (batch for table in tables(query) for batch in table.cast(schema).to_batches())
        return pa.RecordBatchReader.from_batches(schema, batches)

    return read


QUERIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "duckdb": ("project", lambda query: query),
    "ibis": ("limit", lambda query: query),
    "polars": ("collect_batches", lambda query: query.collect_batches()),
    "sqlframe": ("toArrow", lambda query: query.toArrow(batch_size=rows_in_batch(query.columns))),
    "dask": ("partitions", _reader(_dask_tables)),
    "pyspark": ("mapInArrow", _reader(_spark_tables)),
}
"""For each library of queries what one has, and its rows as a stream."""


class ArrowStream:
    """Batches of Arrow from anything that streams them, opened for each reading if that may be read ``again``.

    ``opener`` is given the names of the columns, or none where there is no ``schema`` yet. Each reading closes what it
    has opened, also when it is stopped: a connection of DuckDB is free only then.
    """

    def __init__(self, opener: Callable[[Any], Any], schema: pa.Schema | None = None, *, again: bool = True) -> None:
        self._opener, self._again = opener, again
        self._ready = self._open([]) if schema is None else None
        self.schema: pa.Schema = schema if self._ready is None else self._ready[0].schema

    def _open(self, names: Sequence[str]) -> tuple[pa.RecordBatchReader, list[pa.RecordBatch], Any]:
        """A reader, its first batch, if it has one, which comes before its others, and the cursor to close after it."""
        opened = self._opener(names)
        try:
            cursor = hasattr(opened, "fetch_record_batch") and not hasattr(opened, "__arrow_c_stream__")
            given = opened.fetch_record_batch() if cursor else opened
            reader = given if isinstance(given, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(given)
        except (TypeError, pa.ArrowException) as error:
            raise DataError(
                f"a {type(opened).__name__} is no stream of rows with columns: {words_of(error)}"
            ) from error
        try:
            return reader, [*islice(reader, 1)], closing(opened) if cursor and self._again else nullcontext()
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"the stream cannot be read: {words_of(error)}") from error

    def batches(self, names: Sequence[str], texts: Collection[str] = ()) -> Iterator[RowBatch]:
        del texts
        if self._ready is None and not self._again:
            raise DataError(
                "the stream has been read before, and can be read once only: give a function that opens it again, or "
                "write its rows to a Parquet file"
            )
        (reader, head, cursor), self._ready = self._ready or self._open(names), None
        first, size = 0, rows_in_batch(names)
        with cursor, reader:
            try:
                for rows in chain(head, reader):
                    for place in range(0, rows.num_rows, size):
                        some = rows.select(list(names)).slice(place, size)
                        yield row_batch(some, first, 0.0)
                        first += some.num_rows
            except (OSError, pa.ArrowException) as error:
                raise DataError(f"the stream cannot be read after row {first:,}: {words_of(error)}") from error


def open_table(data: Any, reading: Reading = READING) -> Source:
    """The rows of a path, a frame, a dataset, a query or a stream, or of a list of these, one after the other.

    Whole numbers that float64 would round are text, as are columns of CSV that hold text.

    Raises:
        ValueError: if it is none of these, or cannot be read.
    """
    data = list(data) if isinstance(data, tuple) else data
    found = open_rows(data, reading)
    if found is None:
        held = ", ".join(type(one).__name__ for one in data[:3]) if isinstance(data, list) else ""
        got = f"a list of {held or 'nothing'}" if isinstance(data, list) else f"a {type(data).__name__}"
        raise DataError(
            f"expected a path, a data frame, a query or a stream of Arrow, or a list of them, got {got}: fit arrays "
            "with NaiveBayesClassifier"
        )
    return found


def open_rows(data: Any, reading: Reading = READING) -> Source | None:
    """The rows of a path, a frame, a dataset, a query or a stream, or of a list of these; None for something else."""
    if not isinstance(data, list):
        path = isinstance(data, str | os.PathLike)
        found = open_data(os.fspath(data), reading) if path else _open_arrow(data, reading)
        return found and found.read_as(reading)
    sources: list[Source] = []
    for one in data:
        source = None if isinstance(one, list) else open_rows(one, reading)
        if source is None:
            return None
        sources.append(source)
    parts = [
        part if part.name.startswith("'") else replace(part, name=f"{part.name} {index}")
        for index, source in enumerate(sources)
        for part in source.parts
    ]
    more = f" and {len(sources) - 1} more"
    return replace(sources[0], data=sources[0].data + more, parts=parts) if sources else None


def _open_arrow(data: Any, reading: Reading) -> Source | None:
    library = type(data).__module__.partition(".")[0].lstrip("_")
    if library in QUERIES and hasattr(data, QUERIES[library][0]):
        return _of_stream("the query", lambda names: QUERIES[library][1](_columns(data, names)), _schema(data))
    if not hasattr(data, "__arrow_c_stream__"):
        require_computed("source", data)
    frame = None if library == "duckdb" else as_frame(data)
    if frame is not None:
        with at("the data frame"):
            data = to_arrow(frame, reading.missing).select(frame.columns)  # without the index of pandas
    if isinstance(data, pa.Table | pa.RecordBatch):
        data = ds.dataset(data)
    if isinstance(data, ds.Dataset):
        name, schema = "the table" if frame is None else "the data frame", data.schema
        try:
            fragments = list(data.get_fragments())
        except ValueError:  # a filtered dataset has no fragments
            return _of_stream("the dataset", partial(_scan, data), schema)
        numbered = [f"{name} {index}" for index in range(len(fragments))] if len(fragments) > 1 else [name]
        parts = [_fragment_part(one, of, schema) for one, of in zip(fragments, numbered, strict=False)]
        return Source(name, name, schema, parts)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "fetch_record_batch"):
        return _of_stream("the stream", lambda _: data, again=False)
    opens = callable(data) and not isinstance(data, type | Iterable)
    return _of_stream("the stream", lambda _: data()) if opens else None


def _of_stream(
    name: str, opener: Callable[[Any], Any], schema: pa.Schema | None = None, *, again: bool = True
) -> Source:
    stream = ArrowStream(opener, schema, again=again)
    return Source(name, name, stream.schema, [Part(name, 0, lambda: stream, again=again)])


def _fragment_part(fragment: ds.Fragment, name: str, schema: pa.Schema) -> Part:
    keys = ds.get_partition_keys(fragment.partition_expression)
    keys = {name: pa.scalar(value, schema.field(name).type) for name, value in keys.items()}

    def scanned() -> ArrowStream:
        return ArrowStream(partial(_scan, fragment, schema=schema), schema)

    if not (isinstance(fragment, ds.FileFragment) and fragment.path):
        return Part(name, fragment.count_rows(), scanned, keys)
    info = fragment.filesystem.get_file_info(fragment.path)
    parquet = isinstance(fragment, ds.ParquetFileFragment)
    opener: Any = partial(ParquetFile, fragment.path, fragment.open) if parquet else scanned
    return Part(f"'{fragment.path}'", info.size or 0, opener, keys)


def _scan(rows: Any, names: Sequence[str], **options: Any) -> pa.RecordBatchReader:
    """The rows of a dataset or a fragment of one."""
    return rows.scanner(columns=names, batch_size=rows_in_batch(names), **READ_AHEAD, **options).to_reader()


def _columns(query: Any, names: Sequence[str]) -> Any:
    return nw.from_native(query).select(*names).to_native()


def _schema(query: Any) -> pa.Schema:
    """The columns of a query, which is asked for no rows; text where a column of Dask may hold anything."""
    if type(query).__module__.startswith("dask"):  # head(0) would compute all partitions
        found = pa.Table.from_pandas(query._meta, preserve_index=False).schema
        text = pa.large_string()
        return pa.schema([field.with_type(text) if pa.types.is_null(field.type) else field for field in found])
    lazy: Any = nw.from_native(query)
    return lazy.head(0).collect(backend="pyarrow").to_native().schema
