"""What all sources share: kinds of files, batches and blocks of rows with their places, and errors that name these."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayesnb.frames.series import Array, DataError, Frame
from bayesnb.rows.statistics import ModelStatistics

T = TypeVar("T")

Where = Callable[[int], str]
"""The place of a row of a block, given its position."""

ENDINGS = re.compile(r"\.(parquet|pq|csv|tsv)(\.gz|\.bz2|\.zst)?$", re.IGNORECASE)

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
        return f"{'in' if self.unit == 'row' else 'on'} {self.unit} {self.numbers()[row]}"

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


def require_kind(path: object, head: bytes, wanted: str) -> None:
    """Raise DataError if the first bytes of a file show that it is of a known kind other than ``wanted``."""
    kind = next((kind for kind, (sign, _) in KINDS.items() if re.match(sign, head, re.DOTALL)), f"a {wanted} file")
    if kind != f"a {wanted} file":
        raise DataError(f"'{path}' is {kind}, expected {wanted}: {KINDS[kind][1]}")


class Position(NamedTuple):
    """How far a source has been read.

    ``part`` is the number of finished files, or blocks of an iterator; ``row`` the number of rows read from the next
    file; ``rows`` the total number of rows counted.
    """

    part: int = 0
    row: int = 0
    rows: int = 0

    def done(self) -> Position:
        """This position after the current part has ended."""
        return Position(self.part + (self.row > 0), 0, self.rows)


class RowBlock(NamedTuple):
    """Rows for ``sufficient_statistics``, their ``place`` for error messages, and ``end``, the position after them.

    ``done`` is the progress after these rows, in the source's own unit; ``where`` gives the place of one of these rows.
    """

    X: Any
    y: Any
    weight: Any
    place: str
    end: Position
    done: float
    where: Where | None = None


class StreamError(ValueError):
    """An unreadable source, or rows that do not fit; the message is one sentence that names the place.

    Attributes:
        statistics: The statistics of all rows before that place; None if there are none.
        rows: The number of those rows.

    Example:
        >>> import bayesnb as nb
        >>> blocks = [([[1], [0]], [0, 1]), ([[1], [0]], [0, 2])]
        >>> try:
        ...     nb.stream(nb.NaiveBayes(nb.Bernoulli()), blocks, num_classes=2)
        ... except nb.StreamError as error:
        ...     print(error)
        ...     print(error.rows, error.statistics.class_counts.tolist())
        block 1: y holds 2, expected integers 0..1 for 2 classes
        2 [1.0, 1.0]
    """

    statistics: ModelStatistics | None = None
    rows: int = 0


@contextmanager
def at(place: str) -> Iterator[None]:
    """Turn a ValueError, an OSError or an error of Arrow into a StreamError that names the place."""
    try:
        yield
    except StreamError:
        raise
    except DataError as error:  # its message already names the place
        raise StreamError(str(error)) from error
    except (ValueError, OSError, pa.ArrowException) as error:
        raise StreamError(f"{place}: {words_of(error)}") from error


@contextmanager
def at_row(place: str, num_rows: int, use: Callable[[slice], Any], where: Where | None) -> Iterator[None]:
    """Like ``at``, but name the first of the rows that ``use`` refuses, if ``where`` gives the places of rows."""
    try:
        yield
    except (ValueError, pa.ArrowException) as error:

        def refuses(row: int) -> bool:
            try:
                use(slice(row + 1))
            except (ValueError, pa.ArrowException):
                return True
            return False

        row = num_rows if where is None else bisect_left(range(num_rows), True, key=refuses)
        with at(place if where is None or row == num_rows else where(row)):
            raise error
