"""Files of one kind at a path as a source: one file, or all Parquet or all CSV files under a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv

from bayesnb.files.sources.batches import format_of
from bayesnb.files.sources.blocks import StreamError, at
from bayesnb.files.sources.csv import CsvFile
from bayesnb.files.sources.csv_cells import MISSING
from bayesnb.files.sources.parquet import ParquetFile
from bayesnb.files.sources.source import Source, file_part

CSV_MISSING = MISSING | {*pa.csv.ConvertOptions().null_values}

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What Hive writes in a folder's name for a missing value."""


def open_files(path: Path) -> Source:
    """The rows of a file, or of all Parquet or all CSV files under a folder, sorted by name.

    Folder names such as ``year=2020`` in ``year=2020/part.parquet`` become columns.
    """
    files, kind = _files_of(path)
    keys = _folder_keys([file if path.is_file() else file.relative_to(path) for file in files])
    opener: Any = ParquetFile if kind == "parquet" else partial(CsvFile, missing=CSV_MISSING)
    with at(f"'{path}' cannot be read"):
        schema = opener(files[0]).schema
    for name, value in keys[0].items():
        schema = schema if name in schema.names else schema.append(pa.field(name, value.type))
    parts = [file_part(file, partial(opener, file), some) for file, some in zip(files, keys, strict=True)]
    return Source(str(path), path.stem, schema, parts)


def with_types(source: Source, choices: Mapping[str, Sequence[pa.DataType]]) -> Source:
    """The source, its columns of CSV files with the first of their choices that fits the first rows of the first file.

    Raises:
        StreamError: if none fits, naming the cell.
    """
    with at(f"'{source.data}' cannot be read"):
        first: Any = source.parts[0].open()
        if not isinstance(first, CsvFile):
            return source
        types = first.infer_types({name: choices[name] for name in choices if name in first.names})
    schema = pa.schema([field.with_type(types.get(field.name, field.type)) for field in source.schema])
    parts = [replace(part, open=partial(part.open, types=types)) for part in source.parts]  # type: ignore[call-arg]
    return replace(source, schema=schema, parts=parts)


def _files_of(path: Path) -> tuple[list[Path], str]:
    """The files at a path, and whether they are `parquet`, `csv` or `tsv`."""
    if not path.exists():
        raise StreamError(f"there is no file or folder '{path}'; pyarrow.dataset.dataset opens what lies elsewhere")
    files = [path]
    if not path.is_file():
        shown = (
            file for file in path.rglob("*") if not any(p.startswith((".", "_")) for p in file.relative_to(path).parts)
        )
        files = sorted(file for file in shown if format_of(file))
    kinds = {format_of(file) for file in files} - {""}
    if len(kinds) > 1:
        raise StreamError(f"'{path}' holds {' and '.join(sorted(kinds))} files: give a folder with files of one kind")
    if not kinds:
        what = "is not a file that ends in" if path.is_file() else "holds no files that end in"
        raise StreamError(f"'{path}' {what} .parquet, .csv or .tsv")
    return files, kinds.pop()


def _folder_keys(files: Sequence[Path]) -> list[dict[str, pa.Scalar]]:
    """The columns in each file's folder names: whole numbers if they are so in all files, otherwise text."""
    pairs = [[part.partition("=") for part in file.parent.parts if "=" in part] for file in files]
    keys = [{unquote(name): unquote(value) for name, _, value in some} for some in pairs]
    texts = {name for some in keys for name, value in some.items() if not value.isdecimal() and value != NULL_FOLDER}

    def scalar(name: str, value: str) -> pa.Scalar:
        text = pa.scalar(None if value == NULL_FOLDER else value, pa.string())
        return text if name in texts else text.cast(pa.int32())

    return [{name: scalar(name, value) for name, value in some.items()} for some in keys]
