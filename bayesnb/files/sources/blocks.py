"""Blocks of rows and their positions in a source; iterators of numpy blocks as a source."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, NamedTuple

import jax
import numpy as np
from pyarrow import ArrowException

from bayesnb.arrays.lazy import require_computed
from bayesnb.arrays.placement import as_numpy, fill_masked
from bayesnb.arrays.typing import ObservedRows
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


class ArrayBlocks:
    """A source made of an iterable of array blocks (X, y) or (X, y, sample_weight); it can be read only once.

    Every source yields the same blocks in the same order each time that it is read. ``total`` is the last value of
    ``RowBlock.done``, if known; ``final`` tells whether a source that was read to its end stays finished.
    """

    total: float | None = None
    final = True

    def __init__(self, source: Iterable[Any]) -> None:
        self._blocks: Iterator[tuple[int, Any]] = enumerate(source)
        index, first = next(self._blocks, (0, None))
        if first is None:
            raise StreamError("the source yields no blocks: if it is an iterator, it may have been read before")
        self._first = _as_block(index, first)
        self._blocks = chain([(index, first)], self._blocks)

    def description(self) -> Any:
        """What a checkpoint must match to be valid, as JSON: columns, label, or the first rows."""
        digest = hashlib.blake2b(digest_size=16)
        for array in jax.tree.leaves(self._first):
            head = array[:256]  # the first rows stand for the block
            head = head.toarray() if hasattr(head, "toarray") else np.ascontiguousarray(fill_masked(head))
            digest.update(f"{array.shape} {head.dtype}".encode() + head.tobytes())
        return {"blocks": digest.hexdigest()}

    def read(self, position: Position) -> Any:
        """Marks that change if the parts before this position change, as JSON."""
        del position  # nothing is read again: ``blocks`` checks the blocks, as far as it can, as they arrive

    def empty(self) -> Any:
        """X without rows."""
        return jax.tree.map(lambda x: x[:0], self._first[0])

    def classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, list[Any] | None]:
        """K, and the labels that 0..K-1 encode (None if they are integers), given what the user declared."""
        y = self._first[1]
        if num_classes is None and y.ndim < 2:
            raise StreamError("blocks cannot be read twice to find the classes: declare their number, num_classes=K")
        return num_classes or y.shape[1], classes

    def blocks(self, start: Position, classes: list[Any] | None) -> Generator[RowBlock]:
        """The blocks after this position."""
        del classes
        blocks = self._check_blocks()
        before = [len(y) for _, y, _ in islice(blocks, start.part)]
        if len(before) < start.part:
            raise StreamError(f"the source ends after {len(before)} blocks, the checkpoint has counted {start.part}")
        rows = sum(before)
        if rows != start.rows:
            raise StreamError(
                f"the first {start.part} blocks have {rows:,} rows, the checkpoint has counted {start.rows:,} in them: "
                "an iterator must give the same blocks again"
            )
        for index, (X, y, weight) in enumerate(blocks, start.part):
            rows += len(y)
            yield RowBlock(X, y, weight, f"block {index}", Position(index + 1, 0, rows), index + 1)

    def _check_blocks(self) -> Iterator[tuple[Any, Any, Any]]:
        """The blocks as numpy arrays; StreamError if one has other columns than the first."""
        widths = _widths(self._first[0])
        for index, given in self._blocks:
            block = _as_block(index, given)
            found = _widths(block[0])
            if found != widths:
                raise StreamError(f"block {index} has the columns {found}, the blocks before it {widths}")
            yield block


def _as_block(index: int, block: Any) -> tuple[Any, Any, Any]:
    """X, y and weights of a block as numpy arrays; StreamError if it is malformed."""
    if not isinstance(block, tuple | list) or len(block) not in (2, 3):
        kind = f"{len(block)} things" if isinstance(block, tuple | list) else type(block).__name__
        advice = "; pyarrow.RecordBatchReader.from_batches makes a source of Arrow's record batches"
        raise StreamError(
            f"block {index} must be (X, y) or (X, y, sample_weight), got {kind}"
            f"{advice if type(block).__module__.startswith('pyarrow') else ''}"
        )
    X, y, weight = (*block, None)[:3]
    with at(f"block {index}"):
        X = dict(X) if isinstance(X, Mapping) else X
        X = jax.tree.map(_array, X, is_leaf=lambda part: not isinstance(part, dict | tuple | ObservedRows))
        y = _array(y)
    if y.ndim == 0:
        raise StreamError(f"block {index} must be (X, y) or (X, y, sample_weight), got {y!r} for y")
    return X, y, weight


def _array(x: Any) -> Any:
    require_computed("a block", x)
    return x if hasattr(x, "toarray") else as_numpy(x)


def _widths(X: Any) -> Any:
    return jax.tree.map(lambda x: x.shape[1:], getattr(X, "cells", X))
