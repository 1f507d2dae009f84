"""Arrow data as a source: Parquet and CSV files, folders of them, datasets, tables and streams of batches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds

from bayesnb.files.streaming.blocks import Arrays, Source, StreamError, at
from bayesnb.files.streaming.columns import Columns
from bayesnb.files.streaming.fragments import Fragments
from bayesnb.files.streaming.readers import CSV_BYTES, batch_rows
from bayesnb.files.tables.file_kinds import require_csv, require_parquet
from bayesnb.frames.series import DataError
from bayesnb.rows.specification import Specification

FORMATS = re.compile(r"\.(parquet|pq|csv|tsv)(\.gz|\.bz2|\.zst)?$")


def open_arrow(
    model: Specification,
    source: Any,
    label: str | None,
    columns: Any,
    weight: str | None,
    classes: Sequence[Any] | None,
) -> Source:
    """Open a path, a dataset, a table, or a stream of Arrow batches as a source of blocks.

    Raises:
        ValueError: if the path or the columns cannot be read or do not fit the model.
    """
    name = "the source"
    if isinstance(source, str | os.PathLike):
        name = f"'{source}'"
        if not Path(source).exists():
            raise StreamError(f"there is no file or folder {name}; pyarrow.dataset.dataset opens what lies elsewhere")
        source = _dataset_of(Path(source), label)
    elif isinstance(source, pa.Table | pa.RecordBatch):
        source = ds.dataset(source)
    if isinstance(source, ds.Dataset):
        chosen = Columns.choose(model, source.schema, label, columns, weight)
        chosen.check(source.schema, name)
        try:
            fragments = source.get_fragments()
        except ValueError:  # a filtered dataset has no fragments
            names = [*chosen.features, *chosen.targets]
            ahead = {"batch_readahead": 2, "fragment_readahead": 1}
            source = source.scanner(columns=names, batch_size=batch_rows(chosen), **ahead).to_reader()
        else:
            return Fragments(source.schema, fragments, chosen)
    if not hasattr(source, "__arrow_c_stream__"):
        raise ValueError(
            f"source must be a path, a Dataset, a Table or a stream of batches, got {type(source).__name__}"
        )
    reader = pa.RecordBatchReader.from_stream(source)
    chosen = Columns.choose(model, reader.schema, label, columns, weight)
    chosen.check(reader.schema, name)
    return Arrays(_blocks_of(reader, chosen, classes))


def _blocks_of(reader: pa.RecordBatchReader, columns: Columns, classes: Sequence[Any] | None) -> Iterator[Any]:
    """The batches of a stream as numpy blocks; large batches are split."""
    rows = batch_rows(columns)
    for index, batch in enumerate(reader):
        for start in range(0, batch.num_rows, rows):
            with at(f"batch {index}", pa.ArrowException):
                block = columns.rows(batch.slice(start, rows), classes)
            yield block


def _dataset_of(path: Path, label: str | None) -> ds.Dataset:
    """The dataset of a file, or of all Parquet or all CSV files under a folder, sorted by name.

    Folder names such as ``year=2020`` in ``year=2020/part.parquet`` become columns.
    """
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _is_data(file.relative_to(path)))
    kinds = {found[1] for file in files if (found := FORMATS.search(file.name))}
    kinds = {"parquet" if kind == "pq" else kind for kind in kinds}
    if len(kinds) != 1:
        what = f"{' and '.join(sorted(kinds))} files" if kinds else "no .parquet or .csv file"
        raise StreamError(f"'{path}' {'is' if path.is_file() else 'holds'} {what}, expected those of one kind")
    options: dict[str, Any] = {"partitioning": ds.partitioning(flavor="hive")}
    if path.is_dir():
        options["partition_base_dir"] = str(path)
    names = [str(file) for file in files]
    for file in files:
        _require_kind(file)
    with at(f"'{path}' cannot be read", pa.ArrowException):
        if kinds == {"parquet"}:
            return ds.dataset(names, format="parquet", **options)
        csv = _csv_format(names[0], kinds.pop())
        schema = ds.dataset(names, format=csv, **options).schema
        return ds.dataset(names, format=csv, schema=_measured(schema, label), **options)


def _require_kind(file: Path) -> None:
    """Raise StreamError if a file's first bytes contradict its name."""
    found = FORMATS.search(file.name)
    kind, packed = found.groups() if found else ("", None)
    try:
        if kind in ("parquet", "pq"):
            require_parquet(file)
        elif not packed:
            with file.open("rb") as handle:
                require_csv(file, handle.read(16))
    except DataError as error:
        raise StreamError(str(error)) from error
    except OSError as error:
        raise StreamError(f"'{file}' cannot be read: {error.strerror or error}") from error


def _is_data(path: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.parts)
    return not hidden and FORMATS.search(path.name) is not None


def _csv_format(name: str, kind: str) -> ds.CsvFileFormat:
    """The CSV dialect: the delimiter is the most frequent of comma, semicolon and tab in the first line.

    Missing cells are ``?`` and Arrow's defaults, which follow those of pandas.
    """
    with pa.input_stream(name) as handle:
        line = handle.read(1 << 16).partition(b"\n")[0]
    convert = pa.csv.ConvertOptions(strings_can_be_null=True)
    convert.null_values = [*convert.null_values, "?"]
    return ds.CsvFileFormat(
        pa.csv.ParseOptions(delimiter="\t" if kind == "tsv" else max(",;\t", key=lambda d: line.count(d.encode()))),
        default_fragment_scan_options=ds.CsvFragmentScanOptions(convert, pa.csv.ReadOptions(block_size=CSV_BYTES)),
    )


def _measured(schema: pa.Schema, label: str | None) -> pa.Schema:
    """The types inferred from the first rows, but with whole numbers as float64: later rows may have fractions."""

    def measured(field: pa.Field) -> pa.Field:
        narrow = pa.types.is_integer(field.type) or pa.types.is_null(field.type)
        return field.with_type(pa.float64()) if narrow and field.name != label else field

    return pa.schema([measured(field) for field in schema])
