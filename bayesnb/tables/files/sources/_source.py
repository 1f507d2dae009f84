"""Sources of rows: files, tables and streams with the same columns, read in batches with places."""

from __future__ import annotations

import csv
import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayesnb.core.rows._model_statistics import ModelStatistics
from bayesnb.tables.files.sources._places import require_columns
from bayesnb.tables.frames._series import Array, DataError, Frame, as_series, plain_text, round_floats
from bayesnb.tables.frames._texts import is_text, without
from bayesnb.tables.frames._values import READING, Reading

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
        part: The part of the source that it comes from, if there are several.
        given: The same rows as they are in the part, where texts of missing cells are texts.
        lost: By column, how many cells that may be names are missing.
    """

    rows: pa.RecordBatch
    first: int
    done: float
    unit: str
    numbers: Callable[[], Array]
    part: Part | None = None
    given: pa.RecordBatch | None = None
    lost: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def frame(self) -> Frame:
        """The rows as a data frame."""
        return nw.from_native(pa.Table.from_batches([self.rows]), eager_only=True)

    def place(self, row: int) -> str:
        """The place of one of the rows, such as `on line 7`, with its part if there are several."""
        of = "" if self.part is None else f" of {self.part.name}"
        return f"{'in' if self.unit == 'row' else 'on'} {self.unit} {self.numbers()[row]}{of}"

    def where(self, name: str) -> Where:
        """The places of its rows for ``at_row``, such as `'x.csv', line 1,007`, in a part of that name."""
        return lambda row: f"{name}, {self.unit} {self.numbers()[row]:,}"

    def read(self, name: str, use: Callable[[pa.RecordBatch], Any]) -> Any:
        """What ``use`` makes of its rows; a StreamError names the first that it refuses, in a part of that name."""
        with at_row(name, self.rows.num_rows, lambda some: use(self.rows[some]), self.where(name)):
            return use(self.rows)

    def present(self, name: str) -> Array:
        """Whether each cell of a column [N] is there."""
        return ~pc.is_null(self.rows[name], nan_is_null=True).to_numpy(zero_copy_only=False)

    def keep(self, kept: Array) -> RowBatch:
        """The same batch with those rows alone for which ``kept`` [N] is true."""
        if kept.all():
            return self
        return replace(self, rows=self.rows.filter(pa.array(kept)), numbers=lambda: self.numbers()[kept])


def row_batch(rows: pa.RecordBatch, first: int, done: float) -> RowBatch:
    """A batch of rows, numbered from ``first`` + 1 on."""
    return RowBatch(rows, first, done, "row", lambda: np.arange(first + 1, first + rows.num_rows + 1))


def read_ahead(items: Generator[Any]) -> Generator[Any]:
    """The same items, each made in a thread while the one before is in use; what makes them is closed at the end."""
    with closing(items), ThreadPoolExecutor(1) as pool:
        end = object()
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item


def plain_rows(
    rows: pa.RecordBatch, as_text: Collection[str] = (), reading: Reading = READING
) -> tuple[pa.RecordBatch, dict[str, int]]:
    """The rows in types that all functions take, whatever a library has made of numbers and texts; null if missing.

    Columns of whole numbers are text if float64 would round one, or if they are among those to be read ``as_text``. The
    second value says by column how many cells that may be names are missing.
    """
    lost = {}
    for place, (name, kind) in enumerate(zip(rows.schema.names, rows.schema.types, strict=True)):
        column = plain_text(rows[place])
        if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
            odd = name in as_text or round_floats(as_series(column)) is not None
            column = column.cast(pa.string()) if odd else column
        if is_text(column.type):
            column, lost[name] = without(column, reading.missing)
        elif reading.numbers and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            gone = pc.is_in(column.cast(pa.float64(), safe=False), value_set=pa.array(reading.numbers))
            column = pc.if_else(gone, None, column)
        if column is not rows[place]:
            rows = rows.set_column(place, name, column)
    return rows, lost


def words_of(error: BaseException) -> str:
    """The message of another library's error, as part of a sentence."""
    text = getattr(error, "strerror", None) or str(error)
    return re.sub(r"(?<!\.)\. ", "; ", " ".join(text.split()).rstrip("."))


@contextmanager
def in_sentences(path: object, kind: str = "") -> Iterator[None]:
    """Turn errors from reading a file of this kind into a DataError with a one-sentence message."""
    try:
        yield
    except DataError:
        raise
    except (OSError, pa.ArrowException, csv.Error) as error:
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


class RowBlock(NamedTuple):
    """Rows for ``sufficient_statistics``, and their ``place`` for error messages.

    ``done`` is the progress after these rows, in the source's own unit; ``where`` gives the place of one of these rows.
    """

    X: Any
    y: Any
    weight: Any
    place: str
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

        def refuses(row: int, message: str = str(error)) -> bool:
            try:
                use(slice(row + 1))
            except DataError as other:  # a column of text for numbers names its first odd cell
                return str(other) == message
            except (ValueError, pa.ArrowException):
                return True
            return False

        if isinstance(error, StreamError):
            raise
        with warnings.catch_warnings(action="ignore"):
            row = num_rows if where is None else bisect_left(range(num_rows), True, key=refuses)
        of = place if where is None or row == num_rows else where(row)
        raise StreamError(f"{of}: {words_of(error)}") from error


class File(Protocol):
    """An opened file or table."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns and their types."""

    def batches(self, names: Sequence[str], texts: Collection[str] = ()) -> Iterator[RowBatch]:
        """The named columns; ``texts`` are those to be read as text where the file has no types."""


@dataclass(frozen=True, eq=False)
class Part:
    """A file or a table of a source.

    Attributes:
        name: Its name in messages.
        size: Its size, in bytes or rows; 0 if unknown.
        open: Opens it.
        keys: Columns of one value, from the names of folders.
        again: Whether it can be read more than once.
        reading: Which cells are missing.
    """

    name: str
    size: float
    open: Callable[[], File]
    keys: Mapping[str, pa.Scalar] = field(default_factory=dict)
    again: bool = True
    reading: Reading = READING

    def batches(self, names: Sequence[str], texts: Collection[str] = ()) -> Iterator[RowBatch]:
        """The named columns."""
        file = self.open()
        own = [name for name in file.schema.names if name not in self.keys]
        require_columns(self.name, [*own, *self.keys], names)
        for batch in file.batches([name for name in names if name not in self.keys], texts):
            rows, lost = plain_rows(batch.rows, texts, self.reading)
            for name in self.keys.keys() & {*names}:
                rows = rows.append_column(name, pa.repeat(self.keys[name], rows.num_rows))
            if rows.num_rows:
                yield replace(batch, rows=rows, given=batch.rows, lost=lost)


@dataclass(frozen=True, eq=False)
class Source:
    """Files or tables with the same columns.

    Attributes:
        data: The path, or what else messages call it.
        name: The name without folders and ending; a report's default folder is named after it.
        schema: The columns with their types; null if any type will do.
        parts: The files or tables, in order.
        warnings: Sentences about a header that looks wrong.
        reading: What the user has declared of its cells.
    """

    data: str
    name: str
    schema: pa.Schema
    parts: Sequence[Part]
    warnings: tuple[str, ...] = ()
    reading: Reading = READING

    def read_as(self, reading: Reading) -> Source:
        """The same source with what the user declares of its cells."""
        return replace(self, reading=reading, parts=[replace(part, reading=reading) for part in self.parts])

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    @property
    def title(self) -> str:
        """What sentences call it."""
        return self.parts[0].name if len(self.parts) == 1 else f"'{self.data}'" if self.parts else self.data

    def batches(self, names: Sequence[str], texts: Collection[str] = (), *, some: bool = True) -> Generator[RowBatch]:
        """The named columns of all rows; ``texts`` may grow while batches are read, for those that follow.

        Raises:
            DataError: if there must be ``some`` rows and there are none.
        """
        given, before, total = False, 0.0, sum(part.size for part in self.parts) or 1.0
        for part in self.parts:
            for batch in part.batches(names, texts):
                given, done = True, (before + batch.done * part.size) / total
                yield replace(batch, part=part, done=done) if len(self.parts) > 1 else batch
            before += part.size
        if some and not given:
            header = "a header and " if Path(self.data).is_file() and format_of(Path(self.data)) != "parquet" else ""
            raise DataError(f"{self.title} has {header}no rows: give one with rows")
