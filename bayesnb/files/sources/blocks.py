"""Blocks of rows, their positions in a source, and the errors that name these."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyarrow import ArrowException

from bayesnb.files.sources.batches import words_of
from bayesnb.frames.series import DataError
from bayesnb.rows.statistics import ModelStatistics

Where = Callable[[int], str]
"""The place of a row of a block, given its position."""


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
    except (ValueError, OSError, ArrowException) as error:
        raise StreamError(f"{place}: {words_of(error)}") from error


@contextmanager
def at_row(place: str, num_rows: int, use: Callable[[slice], Any], where: Where | None) -> Iterator[None]:
    """Like ``at``, but name the first of the rows that ``use`` refuses, if ``where`` gives the places of rows."""
    try:
        yield
    except (ValueError, ArrowException) as error:

        def refuses(row: int) -> bool:
            try:
                use(slice(row + 1))
            except (ValueError, ArrowException):
                return True
            return False

        row = num_rows if where is None else bisect_left(range(num_rows), True, key=refuses)
        with at(place if where is None or row == num_rows else where(row)):
            raise error
