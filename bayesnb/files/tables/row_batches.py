"""Batches of rows, with the line or row number of each: the common output of all file readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from bayesnb.frames.series import Array, DataError, Frame

T = TypeVar("T")


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
        return nw.from_native(pa.Table.from_batches([self.rows]), eager_only=True)

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
