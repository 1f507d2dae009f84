"""What one pass over a table finds: a summary of each column, and a sample of the rows.

The sample is the same whatever the parts of a table, and their order: all rows while they are few, and then of each
class those with the lowest hashes of their cells, each once with the sum of its weights, as in ``choose_part``. Its
cells are numbers or text, in the types that all parts share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._memory import in_words
from bayesnb.core.families import Family
from bayesnb.core.rows._part import ODD, lowest_hashes
from bayesnb.tables.files._class_counts import ClassCounts
from bayesnb.tables.files._progress import logger
from bayesnb.tables.files.sources._places import require_columns
from bayesnb.tables.files.sources._source import RowBatch, Source, read_ahead, row_batch
from bayesnb.tables.frames._choices import AUTO, choose_kinds, expand
from bayesnb.tables.frames._columns import SKIP
from bayesnb.tables.frames._series import Array, DataError, NoLikelihoodError, are_missing, as_series, numbers, sort_of
from bayesnb.tables.frames._summaries import Summary, summarise_column
from bayesnb.tables.frames._texts import factorise
from bayesnb.tables.frames._values import READING, Reading

MISSING = np.uint64(0x2545F4914F6CDD1D)
"""The hash of a missing cell of any type."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some of the rows, or all.

    Attributes:
        rows: Their cells, without weights.
        hashes: A hash of the cells of each row, [N], and one of its class.
        weight: The weight of each row [N].
        whole: Whether it is all rows.
    """

    rows: pa.Table
    hashes: tuple[Array, Array]
    weight: Array
    whole: bool = True

    @classmethod
    def of(cls, rows: pa.RecordBatch | pa.Table, target: str, weight: Array | None) -> Self:
        """The sample of rows that all have a class and a weight that is not zero; the weights are 1 if not given."""
        columns, hashes, of_class = {}, np.zeros(rows.num_rows, np.uint64), np.zeros(rows.num_rows, np.uint64)
        for name in sorted(rows.schema.names):  # so that parts may have them in any order
            columns[name], own = _plain(rows[name])
            hashes = hashes * ODD + own
            of_class = own if name == target else of_class
        found = pa.table({name: columns[name] for name in rows.schema.names})
        return cls(found, (hashes, of_class), np.ones(rows.num_rows) if weight is None else weight)._cut()

    def merge(self, other: Self) -> Self:
        """The sample of the rows of both."""
        both = [self.rows, other.rows.select(self.rows.column_names)]
        rows = pa.concat_tables(both, promote_options="permissive")
        first, second = (np.append(*pair) for pair in zip(self.hashes, other.hashes, strict=True))
        weight = np.append(self.weight, other.weight)
        return type(self)(rows, (first, second), weight, self.whole and other.whole)._cut()

    def _cut(self) -> Self:
        if self.whole and len(self.weight) <= limits.KEPT_ROWS:
            return self
        hashes, of_class = self.hashes
        classes, y = np.unique(of_class, return_inverse=True)
        row_bytes = 8 * max(self.rows.num_columns, 1)
        most = max(limits.LEARNED_BYTES // (row_bytes * len(classes)), limits.FEWEST_OF_CLASS)
        kept, weight = lowest_hashes(y, hashes, self.weight, np.full(len(classes), min(most, limits.KEPT_ROWS)))
        return replace(self._take(kept), weight=weight, whole=False)

    def _take(self, places: Array) -> Self:
        first, second = (hashes[places] for hashes in self.hashes)
        return replace(self, rows=self.rows.take(places), hashes=(first, second), weight=self.weight[places])

    def lowest(self) -> Self:
        """The rows in which the edges of bins are found, in the order of their hashes, whatever their classes."""
        return self._take(np.lexsort((self.weight, self.hashes[0]))[: limits.EDGE_ROWS])

    def weighted(self, weight: str) -> pa.RecordBatch:
        """The rows with a column of their weights."""
        rows = self.rows.append_column(weight, pa.array(self.weight)).combine_chunks()
        return next(iter(rows.to_batches()), pa.RecordBatch.from_pylist([], rows.schema))


def _plain(cells: Any) -> tuple[pa.Array, Array]:
    """The cells as text or float64, and a hash of each, [N]."""
    series = as_series(cells)
    try:
        sort = sort_of(series)
    except NoLikelihoodError:  # of lists and the like at most which are missing is learned
        series = as_series(pa.array(np.zeros(len(series)), mask=are_missing(series)))
        sort = "number"
    if sort == "nothing" or not len(series):
        return pa.nulls(len(series)), np.full(len(series), MISSING)
    if sort == "number":
        x = np.asarray(numbers(series), np.float64) + 0.0  # -0.0 is 0.0
        gone = np.isnan(x)
        return pa.array(x, mask=gone), np.where(gone, MISSING, pd.util.hash_array(x))
    codes, texts = factorise(series)
    of_text = pd.util.hash_array(np.asarray(texts.to_pylist(), object), categorize=False)
    return texts.take(pa.array(codes, mask=codes < 0)), np.append(of_text, MISSING)[codes]


class Asked(NamedTuple):
    """What the user has asked for: the columns beside target and weight, likelihoods as given, the reading, flags."""

    names: Sequence[str]
    target: str
    weight: str | None
    likelihoods: Any
    reading: Reading = READING
    missing: Any = AUTO

    @property
    def left_out(self) -> set[str]:
        """The columns that are not read: those that the user skips, unless missing cells of them have a flag."""
        flags = expand(self.missing, self.names) if isinstance(self.missing, Mapping) else ()
        return {name for name, kind in self.chosen.items() if kind == SKIP and name not in flags}

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The kinds, families or vectorizers that the user has chosen, by column; one family takes numbers."""
        likelihoods = "normal" if isinstance(self.likelihoods, Family) else self.likelihoods
        return choose_kinds(likelihoods, self.names)


def ask(source: Source, target: str | None, likelihoods: Any, weight: str | None, missing: Any = AUTO) -> Asked:
    """The same for a source, checked against its columns; DataError if they do not fit."""
    target = source.names[-1] if target is None else target
    require_columns(source.title, source.names, [target, *filter(None, [weight])])
    if weight == target:
        raise DataError(f"column '{target}' cannot be the target and the weight")
    if isinstance(likelihoods, Mapping) and target in likelihoods:
        raise DataError(f"column '{target}' is the target, so it has no kind to choose")
    names = [name for name in source.names if name not in (target, weight)]
    if not names:
        others = f"the target, '{target}'" + (f", and the weight, '{weight}'" if weight else "")
        marks = any(mark in target for mark in ",;|:\t")
        apart = ": if another mark stands between cells, give sep=... or --sep" if marks else ""
        raise DataError(f"{source.title} has no column to learn from but {others}{apart}")
    return Asked(names, target, weight, likelihoods, source.reading, missing)


def summarise_source(
    source: Source,
    asked: Asked,
    advance: Callable[[float, int], None] | None = None,
    *,
    sampled: bool = False,
    counted: bool = False,
) -> tuple[dict[str, Summary], list[RowBatch], RowSample, ClassCounts]:
    """The summary of each column that is read, batches that are small enough to be kept, a sample, and counts.

    Args:
        source: Where the rows come from.
        asked: The columns. Of the target all rows are described, of the others the rows with a class; numbers in
            columns without a choice keep only few values.
        advance: Called after each batch.
        sampled: Whether rows are sampled, instead of being kept for a second reading; there may be none.
        counted: Whether values are counted by class.

    Raises:
        DataError: naming the place of an infinite number; for a column that is numbers in some rows and text in others;
            and for a stream that is too large to be kept and cannot be read again.
    """
    left_out, weight = asked.left_out, asked.weight
    names = [name for name in source.names if name not in left_out]
    texts, again = set[str](), True
    empty = pa.RecordBatch.from_pylist([], pa.schema([(name, pa.null()) for name in names if name != weight]))
    while again:
        summaries: dict[str, Summary] = {}
        kept: list[RowBatch] = []
        rows, again, used, fits, known = 0, False, 0, not sampled, frozenset(texts)
        sample, counts = RowSample.of(empty, asked.target, None), ClassCounts(possible=counted)
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
                    "are kept for a second reading: give a function that opens it again, such as one "
                    "that executes a query and returns the cursor, or write it to a Parquet file"
                )
            batch = of_weight(batch, weight)
            labelled = batch.keep(batch.present(asked.target))
            if sampled and not again:
                own = None if weight is None else require_weights(labelled.rows, weight)
                sample = sample.merge(RowSample.of(labelled.rows.select(empty.schema.names), asked.target, own))
            classes = counts.codes(labelled.rows[asked.target])
            described = _summarise_batch(batch, labelled, asked, empty.schema.names, classes)
            counts.add(labelled, classes, {name: described[name] for name in names if name in asked.names})
            for name, found in described.items():
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
    return summaries, kept, sample, replace(counts, summaries=summaries)


def _summarise_batch(
    batch: RowBatch, labelled: RowBatch, asked: Asked, names: Sequence[str], classes: tuple[Array | int, int]
) -> dict[str, Summary]:
    found, chosen = {}, asked.chosen
    for name in names:
        rows, of = (batch, (0, 1)) if name == asked.target else (labelled, classes)
        how: dict[str, Any] = {"inferred": name in asked.names and name not in chosen, "classes": of}
        how["weight"] = None if asked.weight is None else require_weights(rows.rows, asked.weight)
        own = summarise_column(rows.frame[name], rows.place, chosen=chosen.get(name), missing=(), **how)
        found[name] = replace(own, lost=batch.lost.get(name, 0))
    return found


def of_weight(batch: RowBatch, weight: str | None) -> RowBatch:
    """The rows of a weight other than zero."""
    return batch if weight is None else batch.keep(require_weights(batch.rows, weight) != 0)


def require_weights(rows: pa.RecordBatch, name: str) -> Array:
    """The column of weights as numbers, NaN where they are missing; DataError if it holds something else."""
    cells = as_series(rows[name])
    if sort_of(cells) not in ("number", "flag", "nothing"):
        raise DataError(f"the column of weights, '{name}', holds {rows[name].type}: expected numbers from 0 on")
    return np.asarray(numbers(cells), np.float64)
