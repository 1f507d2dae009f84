"""What the readers of files share: the kinds of files, and batches of rows with the line or row number of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayesnb.frames.series import Array, DataError, Frame

T = TypeVar("T")

ENDINGS = re.compile(r"\.(parquet|pq|csv|tsv)(\.gz|\.bz2|\.zst)?$", re.IGNORECASE)
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}

KINDS: Mapping[str, tuple[bytes, str]] = {
    "compressed by gzip": (rb"\x1f\x8b", "unpack it first, gzip -d"),
    "compressed by bzip2": (rb"BZh[1-9]1AY&SY", "unpack it first, bzip2 -d"),
    "compressed by xz": (rb"\xfd7zXZ\x00", "unpack it first, xz -d"),
    "compressed by zstd": (rb"\x28\xb5\x2f\xfd", "unpack it first, zstd -d"),
    "an Excel workbook or another zip archive": (rb"PK\x03\x04", "save its sheet as CSV, or unpack it"),
    "an old Excel workbook": (rb"\xd0\xcf\x11\xe0", "save its sheet as CSV"),
    "a Parquet file": (rb"PAR1\x15", "name it .parquet"),
    "an Arrow file": (rb"ARROW1\x00\x00", "write it as Parquet"),
    "UTF-16 text": (rb"\xff\xfe|\xfe\xff|([^\x00]\x00){4}|(\x00[^\x00]){4}", "save it as UTF-8"),
}
"""For each kind, a pattern of its first bytes and advice for the user."""


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some rows of a file, in order.

    Attributes:
        rows: The rows, as Arrow columns.
        first: The number of rows of the file before these.
        done: The fraction of the file read so far, including these rows.
        unit: What ``numbers`` counts: `line` for CSV, `row` for other files.
        numbers: Computes the number [N] of each row in the file, from 1.
    """

    rows: pa.RecordBatch
    first: int
    done: float
    unit: str
    numbers: Callable[[], Array]

    @cached_property
    def frame(self) -> Frame:
        """The rows as a data frame."""
        return as_frame(self.rows)

    def place(self, row: int) -> str:
        """The place of one of the rows, such as `on line 7`."""
        return place_of(self.unit, self.numbers()[row])

    def present(self, name: str) -> Array:
        """Whether each cell of a column [N] is there."""
        return ~pc.is_null(self.rows[name], nan_is_null=True).to_numpy(zero_copy_only=False)

    def drop(self, num_rows: int) -> RowBatch:
        """The same batch without its first rows."""
        rows, first = self.rows.slice(num_rows), self.first + num_rows
        return replace(self, rows=rows, first=first, numbers=lambda: self.numbers()[num_rows:])

    def keep(self, kept: Array) -> RowBatch:
        """The same batch with those rows alone for which ``kept`` [N] is true."""
        if kept.all():
            return self
        return replace(self, rows=self.rows.filter(pa.array(kept)), numbers=lambda: self.numbers()[kept])


def as_frame(rows: pa.RecordBatch) -> Frame:
    """Rows as a data frame."""
    return nw.from_native(pa.Table.from_batches([rows]), eager_only=True)


def row_batch(rows: pa.RecordBatch, first: int, done: float) -> RowBatch:
    """A batch of rows, numbered from ``first`` + 1 on."""
    return RowBatch(rows, first, done, "row", lambda: np.arange(first + 1, first + rows.num_rows + 1))


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each made in a thread while the one before is in use."""
    with ThreadPoolExecutor(1) as pool:
        end = object()
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]


def place_of(unit: str, number: int) -> str:
    """The place of a cell, from the unit and the number of its row."""
    return f"{'in' if unit == 'row' else 'on'} {unit} {number}"


def words_of(error: BaseException) -> str:
    """The message of another library's error, as part of a sentence."""
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(text.split()).rstrip(".").replace(". ", "; ")


@contextmanager
def in_sentences(path: object, kind: str = "") -> Iterator[None]:
    """Turn errors from reading a file of this kind into a DataError with a one-sentence message."""
    try:
        yield
    except DataError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"'{path}' cannot be read{kind and f' as {kind}'}: {words_of(error)}") from error


def format_of(path: Path) -> str:
    """`parquet`, `csv` or `tsv`, from the ending of the path in any case; empty for other endings."""
    found = ENDINGS.search(path.name)
    return "" if found is None else found[1].lower().replace("pq", "parquet")


@contextmanager
def open_content(path: Path) -> Iterator[tuple[BinaryIO, Any]]:
    """Open a file, and yield its stored bytes, whose position is the progress, and its decompressed content."""
    with path.open("rb") as file:
        codec = CODECS.get(path.suffix.lower())
        yield file, file if codec is None else pa.CompressedInputStream(file, codec)


def require_kind(path: object, head: bytes, wanted: str) -> None:
    """Raise DataError if the first bytes of a file show that it is of a known kind other than ``wanted``."""
    kind = next((kind for kind, (sign, _) in KINDS.items() if re.match(sign, head, re.DOTALL)), f"a {wanted} file")
    if kind != f"a {wanted} file":
        raise DataError(f"'{path}' is {kind}, expected {wanted}: {KINDS[kind][1]}")
