"""All rows of a source as blocks and labels, for comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import jax

from bayesnb.arrays.sparse import stack_rows
from bayesnb.files.description import describe
from bayesnb.files.sources.source import Source
from bayesnb.frames.column_kinds import Column
from bayesnb.frames.series import Array, label


@dataclass(frozen=True, eq=False)
class Table:
    """Features by block and integer labels, with the columns and classes they encode.

    Attributes:
        name: The name of the data.
        target: The name of the column of classes.
        X: For each block, an array [N, D]; the blocks are `binary`, `categorical` and `numeric`, unless empty, or those
            of a program.
        y: Labels [N], integers 0 to K - 1.
        classes: The K class names, in the order of the integers.
        columns: The features, block by block, in the order of the columns of X.
        left_out: Name and reason of each column that is not used.
        num_unlabelled: The number of rows dropped because their target is missing.
        warnings: Whole sentences for the user.
    """

    name: str
    target: str
    X: Mapping[str, Array]
    y: Array
    classes: tuple[str, ...]
    columns: tuple[Column, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    num_unlabelled: int = 0
    warnings: tuple[str, ...] = ()

    @cached_property
    def blocks(self) -> dict[str, tuple[Column, ...]]:
        """The columns of each block, in the order of the block's array."""
        names = dict.fromkeys(column.block for column in self.columns)
        return {block: tuple(c for c in self.columns if c.block == block) for block in names}

    def rows(self, index: Array) -> tuple[dict[str, Array], Array]:
        """The features and the labels of some rows."""
        return {block: values[index] for block, values in self.X.items()}, self.y[index]


def make_table(source: Source, target: str | None = None, overrides: Mapping[str, str] | None = None) -> Table:
    """The table of all rows of a source, with every column described and encoded.

    Args:
        source: Where the rows come from.
        target: The column of classes; by default the last.
        overrides: Maps a column name or pattern, such as `pixel_*`, to `bernoulli`, `categorical`, `normal` or `skip`.

    Raises:
        DataError: if the target or an override does not fit the data, or no column is left to learn from.
    """
    found = describe(source, target, overrides or {})
    batches = map(found.labelled, found.source.batches(found.names, found.texts))
    X, y = jax.tree.map(stack_rows, *(found.encode(batch.rows, None)[:2] for batch in batches))
    return Table(
        name=source.name,
        target=found.target.name,
        X=X,
        y=y,
        classes=tuple(map(label, found.classes)),
        columns=tuple(column for columns in found.schema.blocks.values() for column in columns),
        left_out=found.left_out,
        num_unlabelled=found.num_unlabelled,
        warnings=found.warnings,
    )
