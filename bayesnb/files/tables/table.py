"""Turn a data frame and the name of its target into blocks of features and integer labels.

A `Column` describes each column: its likelihood, and the values of its integer codes. By default:

* two distinct values: Bernoulli;
* text, or whole numbers with at most 10 distinct values: Categorical;
* other numbers: Normal.

A column is left out, with a reason, if it has no cells, only one value, or a different text in nearly every row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np

from bayesnb.files.tables.source import Source
from bayesnb.files.tables.summaries import (
    NOTHING,
    ONE_VALUE,
    Summary,
    classes_from,
    describe,
    infer_kind,
    no_use,
    number_warnings,
    summarise,
)
from bayesnb.frames.column_kinds import BLOCKS, Column, Kind
from bayesnb.frames.likelihoods import expand
from bayesnb.frames.series import Array, DataError, closest, label, listing

KINDS: tuple[Kind, ...] = ("bernoulli", "categorical", "normal")
"""The likelihoods that are compared."""

SKIP = "skip"


@dataclass(frozen=True)
class Chosen:
    """The columns used, block by block, and the columns left out, with the reasons."""

    columns: tuple[Column, ...]
    left_out: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """Features by block and integer labels, with the columns and classes they encode.

    Attributes:
        name: The name of the data.
        target: The name of the column of classes.
        X: For each block, an array [N, D]; the blocks are `binary`, `categorical` and `numeric`, unless empty.
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
    warnings: tuple[str, ...] = field(default=())

    @cached_property
    def blocks(self) -> dict[str, tuple[Column, ...]]:
        """The columns of each block, in the order of the block's array."""
        by_block = {BLOCKS[kind]: tuple(c for c in self.columns if c.kind == kind) for kind in KINDS}
        return {block: columns for block, columns in by_block.items() if columns}

    def rows(self, index: Array) -> tuple[dict[str, Array], Array]:
        """Return the features and the labels of some rows."""
        return {block: values[index] for block, values in self.X.items()}, self.y[index]


def make_table(source: Source, target: str | None = None, overrides: Mapping[str, str] | None = None) -> Table:
    """Describe and encode every column of a data frame.

    Args:
        source: The data frame.
        target: The column of classes; by default that of the source.
        overrides: Maps a column name or pattern, such as `pixel_*`, to `bernoulli`, `categorical`, `normal` or `skip`.

    Raises:
        DataError: if the target or an override does not fit the data, or no column is left to learn from.
    """
    target = target_of(source.name, list(source.frame.columns), source.target if target is None else target)
    labelled = source.frame[source.frame[target].notna()]
    target_cells = summarise(labelled[target])
    classes = classes_from(target_cells)
    y = Column(target, "categorical", classes, target_cells.text).encode(labelled[target])
    features = labelled.drop(columns=target)
    summaries = [summarise(features[name]) for name in features]
    chosen = choose_columns(source.name, target, summaries, overrides or {}, KINDS, source.warnings)
    X: dict[str, Array] = {}
    for kind in KINDS:
        cells = [column.encode(features[column.name]) for column in chosen.columns if column.kind == kind]
        if cells:
            X[BLOCKS[kind]] = np.stack(cells, axis=1)
    return Table(
        name=source.name,
        target=target,
        X=X,
        y=y,
        classes=tuple(map(label, classes)),
        columns=chosen.columns,
        left_out=chosen.left_out,
        num_unlabelled=len(source.frame) - len(labelled),
        warnings=chosen.warnings,
    )


def target_of(name: str, columns: Sequence[str], target: str) -> str:
    """Return the target after checking that it is a column.

    Raises:
        DataError: if there is no such column.
    """
    if target not in columns:
        hint = closest(target, columns) or f"; its columns are {listing(columns)}"
        raise DataError(f"'{name}' has no column '{target}'{hint}")
    return target


def choose_columns(
    source: str,
    target: str,
    summaries: Sequence[Summary],
    overrides: Mapping[str, str],
    kinds: Sequence[Kind],
    warnings: Sequence[str] = (),
) -> Chosen:
    """Choose the features and their likelihoods: by the overrides, otherwise by the content of the columns.

    Raises:
        DataError: if an override does not fit a column, or no column is left.
    """
    if target in overrides:
        raise DataError(f"column '{target}' is the target, so it has no kind to choose")
    wanted = expand(overrides, [column.name for column in summaries])
    warnings = (*warnings, *number_warnings([column for column in summaries if column.name not in wanted]))
    columns: list[Column] = []
    left_out: list[tuple[str, str]] = []
    for column in summaries:
        kind = wanted.get(column.name) or infer_kind(column)
        reason = SKIP if kind == SKIP else no_use(column) or (kind if kind not in kinds else "")
        if reason:
            left_out.append((column.name, "skipped, as asked" if reason == SKIP else reason))
        else:
            columns.append(describe(column, cast(Kind, kind)))
    if not columns:
        reasons = "; ".join(f"'{name}' ({reason})" for name, reason in left_out[:3])
        why = f"; left out are {reasons}" if reasons else f" but the target, '{target}'"
        raise DataError("; ".join((f"'{source}' has no column to learn from{why}", *warnings[:1])))
    columns.sort(key=lambda column: kinds.index(column.kind))
    return Chosen(tuple(columns), tuple(left_out), (*warnings, *_left_out_warnings(left_out)))


def _left_out_warnings(left_out: Sequence[tuple[str, str]]) -> list[str]:
    """A warning for each reason that suggests a fault in the data."""
    found = []
    for reason in (NOTHING, ONE_VALUE):
        names = [name for name, why in left_out if why == reason]
        if names:
            noun, verb, be = ("column", "has", "is") if len(names) == 1 else ("columns", "have", "are")
            found.append(f"{noun} {listing(names)} {verb} {reason} and {be} left out")
    return found
