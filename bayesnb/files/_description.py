"""Describe the columns and the classes of a source in one pass over its rows; encode these as blocks in a second.

``Table`` holds all rows in memory, for comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import jax
import numpy as np
import pyarrow as pa

from bayesnb.arrays import _limits as limits
from bayesnb.arrays._cells import stack_rows
from bayesnb.arrays._memory import in_words
from bayesnb.families import Family
from bayesnb.files._progress import logger
from bayesnb.files._row_sample import RowSample
from bayesnb.files.sources._arrow_columns import EncodedRows
from bayesnb.files.sources._csv import TEXT
from bayesnb.files.sources._paths import keep
from bayesnb.files.sources._source import Position, RowBatch, RowBlock, Source, StreamError, read_ahead, row_batch
from bayesnb.frames._choices import AUTO, choose_kinds
from bayesnb.frames._columns import CODED, SKIP, Column, in_order
from bayesnb.frames._likelihoods import choose_columns, say_left_out
from bayesnb.frames._schema import Schema
from bayesnb.frames._series import Array, DataError, are_missing, as_series, closest, label, listing, numbers, sort_of
from bayesnb.frames._summaries import Summary, on_command_line, summarise_column, warnings_of


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
        of_part: Whether the source is a part of what was described, which may not have other categories.
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
    of_part: bool = False

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
        return {
            "target": self.target.name,
            "classes": [label(value) for value in self.classes],
            "columns": [[column.name, column.kind, [*map(label, column.values)]] for column in self.schema.used],
        } | ({} if self.weight is None else {"weight": self.weight})

    def check(self, schema: pa.Schema, place: str) -> None:
        del place
        self.schema.require(schema.names)

    def find_classes(self, num_classes: int | None, classes: list[Any] | None) -> tuple[int, None]:
        del num_classes, classes
        return len(self.classes), None

    def empty(self) -> Any:
        types = [(name, TEXT if name in self.texts else pa.float64()) for name in self.names]
        return self.schema.encode(row_batch(pa.RecordBatch.from_pylist([], pa.schema(types)), 0, 0.0).frame)

    def labelled(self, batch: RowBatch) -> RowBatch:
        counted = _of_weight(batch, self.weight)
        return counted.keep(counted.present(self.target.name))

    def encode(self, rows: pa.RecordBatch, classes: Sequence[Any] | None) -> tuple[Any, Array, Array | None]:
        del classes
        frame, weight = row_batch(rows, 0, 0.0).frame, None
        if self.weight is not None:
            weight = require_weights(rows, self.weight)
        y = self.target.encode(frame[self.target.name])
        if (y < 0).any():
            self._refuse(self.target, frame)
        X = self.schema.encode(frame)
        if self.of_part:
            for block, columns in self.schema.blocks.items():
                x = X if self.schema.single else X[block]
                for column, codes in zip(columns, x.T, strict=True) if columns[0].kind in CODED else ():
                    unknown = np.isnan(codes) if codes.dtype.kind == "f" else codes < 0
                    if unknown.sum() > are_missing(as_series(frame[column.name])).sum():
                        self._refuse(column, frame)
        return X, y, weight

    def _refuse(self, column: Column, frame: Any) -> NoReturn:
        known = {*map(label, column.values), "nan", "None"}
        odd = next(cell for cell in map(label, frame[column.name].to_list()) if cell not in known)
        raise DataError(
            f"column '{column.name}' holds '{odd}', which is not in the schema: describe this part too, and merge its "
            "schema with those of the others"
        )

    def _blocks(self, start: Position, classes: list[Any] | None) -> Generator[RowBlock]:
        rows = start.rows
        for block in super()._blocks(start, classes):
            rows = block.end.rows
            yield block
        if rows != self.num_rows and not self.of_part:
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
) -> Description:
    """The features and the classes of a source; the choices of the user take precedence over the cells.

    Args:
        source: Where the rows come from.
        target: The column of classes; by default the last.
        likelihoods: As for ``NaiveBayesClassifier``.
        advance: Called after each batch.
        how: The words of warnings for choosing a likelihood, as for ``warnings_of``.
        weight: The column of weights; rows of weight zero do not count.

    Raises:
        DataError: if the source, the target or a likelihood does not fit, or no column is left to learn from.
    """
    asked = ask(source, target, likelihoods, weight)
    found, kept, _ = summarise_source(source, asked, advance)
    return decide(keep(source, kept) if kept else source, asked, found, how)


class Asked(NamedTuple):
    """What the user has asked for: the columns beside target and weight, and the likelihoods as given."""

    names: Sequence[str]
    target: str
    weight: str | None
    likelihoods: Any

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The kinds, families or vectorizers that the user has chosen, by column; one family takes numbers."""
        likelihoods = "normal" if isinstance(self.likelihoods, Family) else self.likelihoods
        return choose_kinds(likelihoods, self.names)


def ask(source: Source, target: str | None, likelihoods: Any, weight: str | None) -> Asked:
    """The same for a source, checked against its columns; DataError if they do not fit."""
    target = source.names[-1] if target is None else target
    for name in (target, *filter(None, [weight])):
        if name not in source.names:
            hint = closest(name, source.names) or f"; its columns are {listing(source.names)}"
            raise DataError(f"{source.title} has no column '{name}'{hint}")
    if weight == target:
        raise DataError(f"column '{target}' cannot be the target and the weight")
    if isinstance(likelihoods, Mapping) and target in likelihoods:
        raise DataError(f"column '{target}' is the target, so it has no kind to choose")
    names = [name for name in source.names if name not in (target, weight)]
    return Asked(names, target, weight, likelihoods)


def decide(source: Source, asked: Asked, found: Mapping[str, Summary], how: Callable[..., str]) -> Description:
    """The features and the classes, given the summary of each column."""
    names, target, chosen = asked.names, asked.target, asked.chosen
    family = asked.likelihoods if isinstance(asked.likelihoods, Family) else None
    summaries = {name: found.get(name) or Summary(name, 0, 0) for name in (*names, target)}
    labels = summaries[target]
    classes = _classes_of(labels)
    schema = Schema(choose_columns(names, summaries, chosen), family)
    inferred = [column for column in schema.columns if column.inferred]
    warnings = (*source.warnings, *warnings_of(summaries, inferred, how))
    if not schema.used:
        why = say_left_out(schema.columns) or f" but the target, '{target}'"
        raise DataError("; ".join((f"{source.title} has no column to learn from{why}", *warnings[:1])))
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


def summarise_source(
    source: Source, asked: Asked, advance: Callable[[float, int], None] | None = None, *, sampled: bool = False
) -> tuple[dict[str, Summary], list[RowBatch], RowSample]:
    """The summary of each column that is read, batches that are small enough to be kept, and a sample.

    Args:
        source: Where the rows come from.
        asked: The columns. Of the target all rows are described, of the others the rows with a class; numbers in
            columns without a choice keep only few values.
        advance: Called after each batch.
        sampled: Whether rows are sampled, instead of being kept for a second reading; there may be none.

    Raises:
        DataError: naming the place of an infinite number; for a column that is numbers in some rows and text in others;
            and for a stream that is too large to be kept and cannot be read again.
    """
    chosen, weight = asked.chosen, asked.weight
    names = [name for name in source.names if chosen.get(name) != SKIP]
    texts, again = set[str](), True
    empty = pa.RecordBatch.from_pylist([], pa.schema([(name, pa.null()) for name in names if name != weight]))
    while again:
        summaries: dict[str, Summary] = {}
        kept: list[RowBatch] = []
        rows, again, used, fits, known = 0, False, 0, not sampled, frozenset(texts)
        sample = RowSample.of(empty, asked.target, None)
        for batch in read_ahead(source.batches(names, texts, some=not sampled)):
            used, reread = used + batch.rows.nbytes, sampled or (batch.part or source.parts[0]).again
            share = batch.done if reread and len(source.parts) == 1 else 0.0
            fits = fits and used <= limits.KEPT_BYTES * (share or 1.0)  # memory for what will not fit would cost time
            # without the bytes that tell the lines
            light = [replace(row_batch(batch.rows, batch.first, batch.done), part=batch.part)] if fits else []
            kept = kept + light if fits else []
            if not (fits or reread):
                raise DataError(
                    f"{source.title} can be read once only, and has more than the {in_words(limits.KEPT_BYTES)} that "
                    "are kept for a second reading: give a function that opens it again, such as "
                    "lambda: database.cursor().execute(query).fetch_record_batch(), or write it to a Parquet file"
                )
            batch = _of_weight(batch, weight)
            labelled = batch.keep(batch.present(asked.target))
            if sampled and not again:
                own = None if weight is None else require_weights(labelled.rows, weight)
                sample = sample.merge(RowSample.of(labelled.rows.select(empty.schema.names), asked.target, own))
            for name, found in _summarise_batch(batch, labelled, asked.target, chosen, empty.schema.names).items():
                before = summaries.get(name, found)
                # a column of text that was read as numbers, before the text was known, or ahead: start over
                differs = found.text != before.text and min(found.num_cells, before.num_cells) > 0
                if differs and name in known:
                    raise DataError(
                        f"column '{name}' holds {batch.rows[name].type} {batch.place(0)}, and "
                        f"{'text' if before.text else 'numbers'} before: give the whole column one type"
                    )
                again |= differs
                if found.text:
                    texts.add(name)
                summaries[name] = found if again or before is found else before.merge(found)
            rows += batch.rows.num_rows
            if advance is not None:
                advance(batch.done, rows)
        if again:
            logger.info(f"reading {source.title} again: a column of numbers has text further on")
    of = f" of {source.title}" if len(source.parts) == 1 else ""
    for name, found in summaries.items():
        size, place = found.largest
        if np.isinf(size):
            raise DataError(f"column '{name}' holds an infinite number {place}{of}: leave out the cell or its row")
    return summaries, kept, sample


def _summarise_batch(
    batch: RowBatch, labelled: RowBatch, target: str, chosen: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Summary]:
    found = {}
    for name in names:
        rows = batch if name == target else labelled
        inferred = name != target and name not in chosen
        found[name] = summarise_column(rows.frame[name], rows.place, inferred=inferred, chosen=chosen.get(name))
    return found


def _of_weight(batch: RowBatch, weight: str | None) -> RowBatch:
    """The rows of a weight other than zero."""
    return batch if weight is None else batch.keep(require_weights(batch.rows, weight) != 0)


def require_weights(rows: pa.RecordBatch, name: str) -> Array:
    """The column of weights as numbers, NaN where they are missing; DataError if it holds something else."""
    cells = as_series(rows[name])
    if sort_of(cells) not in ("number", "flag", "nothing"):
        raise DataError(f"the column of weights, '{name}', holds {rows[name].type}: expected numbers from 0 on")
    return np.asarray(numbers(cells), np.float64)


def _classes_of(target: Summary) -> tuple[Any, ...]:
    """The classes, sorted.

    Raises:
        DataError: if the target is not a column of classes.
    """
    name, rows, distinct = target.name, target.num_cells, target.distinct
    if rows == 0:
        raise DataError(f"the target '{name}' has nothing in it; choose another with --target")
    if target.values is not None and distinct == 1:
        raise DataError(f"the target '{name}' has one class only, '{label(*target.values.tolist())}'")
    shown = f"{distinct}" if target.values is not None else f"more than {limits.MOST_VALUES:,}"
    few = distinct <= (limits.FEW_CLASSES if target.whole else limits.FEW_VALUES)
    often = target.whole and rows >= limits.FEW_CLASSES * distinct
    if not (target.text or few or often):
        raise DataError(
            f"the target '{name}' is a measurement ({shown} different numbers in {rows} rows); classification needs "
            "classes"
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
    batches = map(found.labelled, found.source.batches(found.names, found.texts))
    X, y = jax.tree.map(stack_rows, *(found.encode(batch.rows, None)[:2] for batch in batches))
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
