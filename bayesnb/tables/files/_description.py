"""Describe the columns and the classes of a source in one pass over its rows; encode these as blocks in others.

``Table`` holds all rows in memory, for comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import jax
import numpy as np
import pyarrow as pa

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import stack_rows
from bayesnb.core.families import Family
from bayesnb.tables.files._class_counts import ClassCounts
from bayesnb.tables.files._summarise_table import Asked, ask, of_weight, require_weights, summarise_source
from bayesnb.tables.files.sources._arrow_columns import EncodedRows
from bayesnb.tables.files.sources._csv import TEXT
from bayesnb.tables.files.sources._paths import keep
from bayesnb.tables.files.sources._source import RowBatch, RowBlock, Source, StreamError, row_batch
from bayesnb.tables.frames._choices import AUTO
from bayesnb.tables.frames._columns import CODED, Column, in_order
from bayesnb.tables.frames._inferred import of_lost_names, on_command_line, warnings_of
from bayesnb.tables.frames._likelihoods import choose_columns
from bayesnb.tables.frames._missing import with_indicators
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import Array, DataError, are_missing, as_series, label
from bayesnb.tables.frames._summaries import Summary
from bayesnb.tables.frames._words import require_vocabularies

OTHER = "choose another, target=..., --target or FILE:COLUMN"


@dataclass(frozen=True, eq=False)
class Description(EncodedRows):
    """The features and the classes of a source, which encode its rows.

    Attributes:
        source: Where the rows come from.
        target: The column whose values are the classes.
        classes: The K classes, sorted; as integers if they are whole numbers.
        chosen: The kinds or families that the user has chosen, by column, or one family for all columns.
        schema: The features, in the order of the table, with those that are left out.
        num_rows: The number of rows with a class.
        num_unlabelled: The number of rows without a class, which are left out.
        warnings: Whole sentences for the user.
        weight: The column of weights, or None.
        key: The schema of which the source is a part, which may not have other categories.
        counts: What was counted while the source was described.
    """

    source: Source
    target: Column
    classes: tuple[Any, ...]
    chosen: Any
    schema: Schema
    num_rows: int
    num_unlabelled: int
    warnings: tuple[str, ...]
    weight: str | None = None
    key: str | None = None
    counts: ClassCounts | None = None

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Name and reason of each column that is not used."""
        return tuple((column.name, column.reason) for column in self.schema.columns if column not in self.schema.used)

    @property
    def names(self) -> list[str]:
        return [*(column.name for column in (*self.schema.used, self.target)), *filter(None, [self.weight])]

    @property
    def texts(self) -> set[str]:
        return {column.name for column in (*self.schema.used, self.target) if column.text}

    def description(self) -> Any:
        """What statistics depend on, as JSON."""
        others = {"weight": self.weight, "schema": self.key, "flags": [one.name for one in self.schema.indicators]}
        return {
            "target": self.target.name,
            "classes": [label(value) for value in self.classes],
            "columns": [[column.name, column.kind, [*map(label, column.values)]] for column in self.schema.used],
        } | {name: own for name, own in others.items() if own}

    def find_classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, None]:
        del num_classes, classes
        return len(self.classes), None

    def empty(self) -> Any:
        """X without rows."""
        types = [(name, TEXT if name in self.texts else pa.float64()) for name in self.names]
        return self.schema.encode(row_batch(pa.RecordBatch.from_pylist([], pa.schema(types)), 0, 0.0).frame)

    def labelled(self, batch: RowBatch) -> RowBatch:
        counted = of_weight(batch, self.weight)
        return counted.keep(counted.present(self.target.name))

    def encode(self, rows: pa.RecordBatch, classes: Sequence[Any] | None) -> tuple[Any, Array, Array | None]:
        del classes
        frame, weight = row_batch(rows, 0, 0.0).frame, None
        if self.weight is not None:
            weight = require_weights(rows, self.weight)
        y = self.target.encode(frame[self.target.name], self.schema.reading)
        if (y < 0).any():
            self._refuse(self.target, frame)
        X = self.schema.encode(frame)
        if self.key is not None:
            for block, columns in self.schema.blocks.items():
                x = X if self.schema.single else X[block]
                for column, codes in zip(columns, x.T, strict=True) if columns[0].kind in CODED else ():
                    unknown = np.isnan(codes) if codes.dtype.kind == "f" else codes < 0
                    if unknown.sum() > are_missing(as_series(frame[column.name])).sum():
                        self._refuse(column, frame)
        return X, y, weight

    def _refuse(self, column: Column, frame: Any) -> NoReturn:
        known = {*map(label, column.values), "nan", "None"}
        odd = next((cell for cell in map(label, frame[column.name].to_list()) if cell not in known), "another")
        raise DataError(
            f"column '{column.name}' holds '{odd}', which is not in the schema: describe this part too, and merge its "
            "schema with those of the others"
        )

    def _blocks(self, classes: list[Any] | None) -> Generator[RowBlock]:
        rows = 0
        for block in super()._blocks(classes):
            rows += len(block.y)
            yield block
        if rows != self.num_rows and self.key is None:
            raise StreamError(
                f"{self.source.title} had {self.num_rows:,} rows with a class when it was described, and {rows:,} when "
                "it was counted: give one that does not change, and that can be read again"
            )


def describe(
    source: Source,
    target: str | None = None,
    likelihoods: Any = AUTO,
    advance: Callable[[float, int], None] | None = None,
    how: Callable[..., str] = on_command_line,
    weight: str | None = None,
    *,
    missing: Any = AUTO,
    counted: bool = False,
) -> Description:
    """The features and the classes of a source; the choices of the user take precedence over the cells.

    Args:
        source: Where the rows come from.
        target: The column of classes; by default the last.
        likelihoods: As for ``NaiveBayesClassifier``.
        advance: Called after each batch.
        how: The words of warnings for choosing a likelihood, as for ``warnings_of``.
        weight: The column of weights; rows of weight zero do not count.
        missing: As for ``NaiveBayesClassifier``; of `auto` there are no flags yet.
        counted: Whether values are counted by class.

    Raises:
        DataError: if the source, the target or a likelihood does not fit, or no column is left to learn from.
    """
    asked = ask(source, target, likelihoods, weight, missing)
    found, kept, _, counts = summarise_source(source, asked, advance, counted=counted)
    decided = decide(keep(source, kept) if kept else source, asked, found, how)
    return decided if decided.schema.informative else replace(decided, counts=counts)


def decide(source: Source, asked: Asked, found: Mapping[str, Summary], how: Callable[..., str]) -> Description:
    """The features and the classes, given the summary of each column."""
    names, target, chosen = asked.names, asked.target, asked.chosen
    family = asked.likelihoods if isinstance(asked.likelihoods, Family) else None
    summaries = {name: found.get(name) or Summary(name, 0, 0) for name in (*names, target)}
    labels = summaries[target]
    classes = _classes_of(labels, asked.weight)
    schema = Schema(choose_columns(names, summaries, chosen), family, reading=asked.reading)
    schema = with_indicators(schema, None, asked.missing)
    require_vocabularies(schema.columns)
    inferred = [column for column in schema.columns if column.inferred]
    warnings = (*source.warnings, *filter(None, [of_lost_names(labels)]), *warnings_of(summaries, inferred, how))
    if not schema.used:
        nothing = f"{source.title} has no column to learn from{schema.say_left_out()}"
        raise DataError("; ".join((nothing, *warnings[:1])))
    whole = not labels.text and labels.whole and max(map(abs, labels.span)) <= limits.LARGEST_WHOLE
    return Description(
        source=source,
        target=Column(target, "categorical", classes, labels.text),
        classes=tuple(map(int, classes)) if whole else classes,
        chosen=family or chosen,
        schema=schema,
        num_rows=labels.num_cells,
        num_unlabelled=labels.missing,
        warnings=warnings,
        weight=asked.weight,
    )


def _classes_of(target: Summary, weight: str | None) -> tuple[Any, ...]:
    """The classes, sorted.

    Raises:
        DataError: if the target is not a column of classes.
    """
    name, rows, distinct = target.name, target.num_cells, target.distinct
    if rows == 0:
        where = f" in rows whose weight, '{weight}', is above zero" if weight else ""
        raise DataError(f"the target '{name}' has nothing in it{where}; {OTHER}")
    if target.holds:
        raise DataError(f"the target '{name}' holds {target.holds}; convert it to text or numbers, or choose another")
    if target.values is not None and distinct == 1:
        only = label(*target.values.tolist())
        raise DataError(f"the target '{name}' has one class only, '{only}': {OTHER}")
    shown = f"{distinct}" if target.values is not None else f"more than {limits.MOST_VALUES:,}"
    few = distinct <= (limits.FEW_CLASSES if target.whole else limits.FEW_VALUES)
    often = target.whole and target.times >= limits.FEW_CLASSES * distinct
    if not (target.text or few or often):
        raise DataError(
            f"the target '{name}' is a measurement ({shown} different numbers in {rows} rows); classification needs "
            f"classes: {OTHER}, or put its numbers into classes"
        )
    if target.values is None or 2 * distinct > target.times:
        raise DataError(f"the target '{name}' has {shown} classes in {rows} rows; most would be seen once: {OTHER}")
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


def say_unlabelled(rows: int, target: str) -> str:
    """A sentence on the rows without a class."""
    have, do = ("one row has", "does") if rows == 1 else (f"{rows:,} rows have", "do")
    return f"{have} no class in column '{target}', and {do} not count"


def make_table(source: Source, target: str | None = None, overrides: Mapping[str, str] | None = None) -> Table:
    """The table of all rows of a source, with every column described and encoded.

    Args:
        source: Where the rows come from.
        target: The column of classes; by default the last.
        overrides: Maps a column name or pattern, such as `pixel_*`, to `bernoulli`, `categorical`, `normal` or `skip`.

    Raises:
        DataError: if the target or an override does not fit the data, or no column is left to learn from.
    """
    return read_table(describe(source, target, overrides or {}))


def read_table(found: Description) -> Table:
    """The table of all rows of a source that is described."""
    X, y = jax.tree.map(stack_rows, *((block.X, block.y) for block in found.blocks(None)))
    return Table(
        name=found.source.name,
        target=found.target.name,
        X=X,
        y=y,
        classes=tuple(map(label, found.classes)),
        columns=tuple(column for columns in found.schema.blocks.values() for column in columns),
        left_out=found.left_out,
        num_unlabelled=found.num_unlabelled,
        warnings=found.warnings,
    )
