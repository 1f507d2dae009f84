"""Choose the features of a table, their likelihoods and its classes; encode a whole table as blocks for comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.families import Family
from bayesnb.files.sources.batches import RowBatch
from bayesnb.files.sources.reading import NamedFrame
from bayesnb.frames.choices import choose_kinds
from bayesnb.frames.column_kinds import Column, Kind, in_order
from bayesnb.frames.inference import FEW, Choice, on_command_line, warnings_of
from bayesnb.frames.likelihoods import choose_columns, left_out
from bayesnb.frames.schema import FrameSchema
from bayesnb.frames.series import LARGEST_INTEGER, Array, DataError, Frame, closest, label, listing
from bayesnb.frames.summaries import MOST_VALUES, Summary, summarise
from bayesnb.frames.words import vectorizer_of

KINDS: tuple[Kind, ...] = ("bernoulli", "categorical", "normal")
"""The likelihoods that are compared."""


@dataclass(frozen=True, eq=False)
class Description:
    """The features and the classes of a table.

    Attributes:
        data: The name of the data.
        target: The column whose values are the classes.
        classes: The K classes, sorted; as integers if they are whole numbers.
        chosen: The kinds or families that the user has chosen, by column, or one family for all columns.
        schema: The features, in the order of the table, with those that are left out.
        num_rows: The number of rows with a class.
        num_unlabelled: The number of rows without a class, which are left out.
        warnings: Whole sentences for the user.
        kept: The rows, if the file is small.
    """

    data: str
    target: Column
    classes: tuple[Any, ...]
    chosen: Any
    schema: FrameSchema
    num_rows: int
    num_unlabelled: int
    warnings: tuple[str, ...]
    kept: tuple[RowBatch, ...] = ()

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Name and reason of each column that is not used."""
        return tuple((column.name, column.reason) for column in self.schema.columns if column not in self.schema.used)


def summarise_rows(
    rows: Frame, labelled: Array, target: str, place: Callable[[int], str], chosen: Mapping[str, Any]
) -> dict[str, Summary]:
    """The summary of every column by name: of the target over all rows, of the others over rows with a target.

    Args:
        rows: The rows.
        labelled: Which of them have a target [N].
        target: The name of its column.
        place: The words for the place of a row, from its position.
        chosen: The likelihoods that the user has chosen, by column; numbers in others keep only few values.
    """
    some, positions = rows if labelled.all() else rows.filter(labelled.tolist()), np.flatnonzero(labelled)

    def of_feature(name: str) -> Summary:
        inferred, vectorizer = name not in chosen, vectorizer_of(chosen.get(name))
        return summarise(some[name], lambda row: place(positions[row]), inferred=inferred, vectorizer=vectorizer)

    return {name: summarise(rows[name], place) if name == target else of_feature(name) for name in rows.columns}


def choose(names: Sequence[str], target: str, likelihoods: Any) -> Mapping[str, Any]:
    """The kinds or families that the user has chosen, by column.

    Args:
        names: The columns, with the target.
        target: The column of classes.
        likelihoods: As for ``NaiveBayesClassifier``.
    """
    if isinstance(likelihoods, Mapping) and target in likelihoods:
        raise DataError(f"column '{target}' is the target, so it has no kind to choose")
    features = [name for name in names if name != target]
    # a family takes numbers
    return dict.fromkeys(features, "normal") if isinstance(likelihoods, Family) else choose_kinds(likelihoods, features)


def describe(
    data: str,
    target: str,
    summaries: Mapping[str, Summary],
    likelihoods: Any,
    warnings: Sequence[str],
    how: Callable[..., str] = on_command_line,
) -> Description:
    """The features, their likelihoods and the classes; the choices of the user take precedence over the cells.

    Args:
        data: The name of the data.
        target: The column of classes.
        summaries: The summary of each column by name: for the target over all rows, for others over labelled rows.
        likelihoods: As for ``NaiveBayesClassifier``.
        warnings: Earlier warnings, which come first.
        how: The words of warnings for choosing a likelihood, as for ``warnings_of``.

    Raises:
        DataError: if the target or a likelihood does not fit the data, or no column is left to learn from.
    """
    labels = summaries[target]
    chosen = choose([*summaries], target, likelihoods)
    classes = classes_from(labels)
    names = [name for name in summaries if name != target]
    family = likelihoods if isinstance(likelihoods, Family) else None
    schema = FrameSchema(choose_columns(names, summaries, chosen), family)
    choices = [Choice(column.name, column.kind, column.reason) for column in schema.columns if column.inferred]
    warnings = (*warnings, *warnings_of(summaries, choices, how))
    if not schema.used:
        why = left_out(schema.columns) or f" but the target, '{target}'"
        raise DataError("; ".join((f"'{data}' has no column to learn from{why}", *warnings[:1])))
    whole = not labels.text and labels.whole and max(map(abs, labels.span)) <= LARGEST_INTEGER
    return Description(
        data=data,
        target=Column(target, "categorical", classes, labels.text),
        classes=tuple(map(int, classes)) if whole else classes,
        chosen=family or chosen,
        schema=schema,
        num_rows=labels.num_cells,
        num_unlabelled=labels.missing,
        warnings=warnings,
    )


def require_target(data: str, names: Sequence[str], target: str) -> None:
    """Raise DataError unless the target is one of the columns."""
    if target not in names:
        hint = closest(target, names) or f"; its columns are {listing(names)}"
        raise DataError(f"'{data}' has no column '{target}'{hint}")


def classes_from(target: Summary) -> tuple[Any, ...]:
    """The classes, sorted.

    Raises:
        DataError: if the target is not a column of classes.
    """
    name, rows = target.name, target.num_cells
    distinct = target.distinct
    if rows == 0:
        raise DataError(f"the target '{name}' has nothing in it; choose another with --target")
    if target.values is not None and distinct == 1:
        raise DataError(f"the target '{name}' has one class only, '{label(*target.values)}'")
    shown = f"{distinct}" if target.values is not None else f"more than {MOST_VALUES:,}"
    if not target.text:
        few = distinct <= FEW or (target.whole and (distinct <= 20 or rows >= 20 * distinct))
        if not few:
            raise DataError(
                f"the target '{name}' is a measurement ({shown} different numbers in {rows} rows); "
                "classification needs classes"
            )
    if target.values is None or 2 * distinct > rows:
        raise DataError(f"the target '{name}' has {shown} classes in {rows} rows; most would be seen once")
    return in_order(target.values.tolist())


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
    chosen = dict.fromkeys(frame.columns)  # an override may choose any, so all values are kept
    summaries = summarise_rows(nw.from_native(frame), kept, target, source.place, chosen)
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
