"""Turn a data frame and the name of its target into blocks of features and integer labels, for comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.files.tables.description import describe, require_target, summarise_rows
from bayesnb.files.tables.reading import NamedFrame
from bayesnb.frames.column_kinds import Column, Kind
from bayesnb.frames.series import Array, label

KINDS: tuple[Kind, ...] = ("bernoulli", "categorical", "normal")
"""The likelihoods that are compared."""


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


def make_table(source: NamedFrame, target: str | None = None, overrides: Mapping[str, str] | None = None) -> Table:
    """The table of a data frame, with every column described and encoded.

    Args:
        source: The data frame.
        target: The column of classes; by default that of the source.
        overrides: Maps a column name or pattern, such as `pixel_*`, to `bernoulli`, `categorical`, `normal` or `skip`.

    Raises:
        DataError: if the target or an override does not fit the data, or no column is left to learn from.
    """
    frame, target = source.frame, source.target if target is None else target
    require_target(source.name, list(frame.columns), target)
    kept = frame[target].notna().to_numpy()
    summaries = summarise_rows(nw.from_native(frame), kept, target, source.place)
    found = describe(source.name, target, summaries, overrides or {}, source.warnings)
    labelled = frame[kept]
    columns = tuple(column for kind in KINDS for column in found.schema.columns if column.kind == kind)
    blocks = dict.fromkeys(column.block for column in columns)
    return Table(
        name=source.name,
        target=target,
        X={
            block: np.stack([c.encode(labelled[c.name]) for c in columns if c.block == block], axis=1)
            for block in blocks
        },
        y=found.target.encode(labelled[target]),
        classes=tuple(map(label, found.classes)),
        columns=columns,
        left_out=found.left_out,
        num_unlabelled=found.num_unlabelled,
        warnings=found.warnings,
    )
