"""What ``stream`` takes, as blocks: anything that holds a table, and iterables of arrays."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import jax

from bayesnb.compute.arrays._memory import require_computed
from bayesnb.compute.arrays._placement import as_numpy
from bayesnb.compute.arrays._typing import ObservedRows
from bayesnb.core.rows._labelled_rows import Specification
from bayesnb.tables.files.sources._arrow_columns import ColumnChoice, EncodedRows
from bayesnb.tables.files.sources._source import RowBlock, StreamError, at
from bayesnb.tables.files.sources._tables import open_rows


class ArrayBlocks:
    """A source made of an iterable of array blocks (X, y) or (X, y, sample_weight); it can be read only once.

    ``total`` is the last value of ``RowBlock.done``, if known.
    """

    total: float | None = None

    def __init__(self, source: Iterable[Any]) -> None:
        self._blocks: Iterator[tuple[int, Any]] = enumerate(source)
        index, first = next(self._blocks, (0, None))
        if first is None:
            raise StreamError("the source yields no blocks: if it is an iterator, it may have been read before")
        self._first = _as_block(index, first)
        self._blocks = chain([(index, first)], self._blocks)

    def find_classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, list[Any] | None]:
        """K, and the labels that 0..K-1 encode (None if they are integers), given what the user declared."""
        y = self._first[1]
        if num_classes is None and y.ndim < 2:
            raise StreamError("blocks cannot be read twice to find the classes: declare their number, num_classes=K")
        return num_classes or y.shape[1], classes

    def blocks(self, classes: list[Any] | None) -> Generator[RowBlock]:
        """The blocks."""
        del classes
        for index, (X, y, weight) in enumerate(self._check_blocks()):
            yield RowBlock(X, y, weight, f"block {index}", index + 1)

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


BlockSource = EncodedRows | ArrayBlocks


def open_source(
    model: Specification, source: Any, label: str | None, columns: Any, weight: str | None, classes: list[Any] | None
) -> BlockSource:
    """Blocks of a path, a frame, a dataset, a query, a stream of batches, a list of these, or an iterable of arrays.

    Raises:
        ValueError: if it is none of them, or the columns do not fit the model.
    """
    with at("the source cannot be read"):
        found = open_rows(source)
    if found is not None:
        return ColumnChoice.choose(model, found, label, columns, weight)
    if not isinstance(source, Iterable) or isinstance(source, dict):
        raise ValueError(
            f"source must be a path, a data frame, Arrow data or an iterable of (X, y), got {type(source).__name__}"
        )
    if not (label is columns is weight is classes is None):
        raise ValueError("label, columns, weight and classes are for files, frames and Arrow data: a block is (X, y)")
    return ArrayBlocks(source)
