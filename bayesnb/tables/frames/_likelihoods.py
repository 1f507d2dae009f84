"""The schema of rows: each column under the likelihood that the user chose, or that suits its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import LARGEST_CELL
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.families import Family
from bayesnb.tables.frames import _choices as choices
from bayesnb.tables.frames._choices import ASKED, AUTO, Chosen
from bayesnb.tables.frames._columns import SKIP, Column, Kind, Value, in_order
from bayesnb.tables.frames._inferred import NOTHING, ONE_VALUE, in_python, infer, warnings_of
from bayesnb.tables.frames._levels import in_type
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import NO_DATES, Array, DataError, Frame, listing
from bayesnb.tables.frames._summaries import Summary, summarise_column
from bayesnb.tables.frames._texts import as_texts, order_of
from bayesnb.tables.frames._values import FLAGS, READING, cure, why_text
from bayesnb.tables.frames._words import WordColumn, require_text, vectorizer_of

CHOSEN = "numeric_chosen"
"""The block of columns that are chosen to be Normal beside inferred ones."""

Kinds = tuple[str, ...]
Undecided = tuple[float, Array] | None
"""The number of rows so far, and which columns [D] are Normal and may turn out to be zeros and ones; None if none."""

Summaries = Mapping[str, Summary]
Seen = Summaries | Undecided
"""The summaries of a frame's columns; for an array its columns that may turn out to be of zeros and ones."""


def schema_of(
    X: Any, likelihoods: Any, before: Any = None, seen: Any = None, weight: Any = None
) -> tuple[Schema, Seen]:
    """The schema of rows, and what later rows need to know of their values.

    Args:
        X: A frame, or an array [N, D], whose codes are not counted yet.
        likelihoods: `auto`; a kind, or a family, for all columns; one kind per column; or, for a frame, a mapping of
            kinds or families by column, or by patterns such as `pixel_*`; other columns are inferred from their values.
            For an array a mapping by position, such as ``{"*": "multinomial", range(-2, 0): "normal"}``.
        before: The schema of earlier rows. What was inferred from them is kept, with a warning where all rows together
            would lead to another kind.
        seen: What was returned for the earlier rows.
        weight: The positive weights of the rows [N]; a row of weight 3 is three rows.

    Raises:
        DataError: if the likelihoods do not fit the columns.
    """
    if not isinstance(X, Frame):
        return _array_schema(X, likelihoods, before, seen, weight)
    if before is not None and not before.named:
        raise DataError("the rows before were an array, and these are a data frame: give both in the same form")
    family = likelihoods if isinstance(likelihoods, Family) else None
    chosen = choices.choose_kinds("normal" if family else likelihoods, X.columns)
    chosen = {**chosen, **{c.name: c.levels for c in before.columns if c.levels}} if before else chosen
    used = [name for name in X.columns if chosen.get(name) != SKIP]
    reading = READING if before is None else before.reading
    how: dict[str, Any] = {"weight": weight, "missing": reading.missing}
    found = {name: summarise_column(X[name], chosen=chosen.get(name), **how) for name in used}
    if family is not None:
        for summary in found.values():
            describe_column(summary, family, "x")  # refuses text in the family's name
    if before is None:
        columns = choose_columns(X.columns, found, chosen)
        audible = [column for column in columns if column.inferred and column.reason not in (NOTHING, ONE_VALUE)]
        for warning in warnings_of(found, audible, in_python):
            warn(warning)
    else:
        columns = tuple(_next_column(column, found.get(column.name), chosen) for column in before.columns)
        told = {column.name for column in columns if column.name in found and _drops_some(column, found[column.name])}
        for name, earlier in (seen or {}).items():
            now = found.get(name)
            if now is not None and (earlier.text == now.text or not (earlier.num_cells and now.num_cells)):
                found[name] = earlier.merge(now)
        _warn_of_other_kinds([column for column in columns if seen and column.name not in told], found)
    return Schema(columns, family, reading=reading), {name: summary.light for name, summary in found.items()}


def choose_columns(names: Sequence[str], summaries: Summaries, chosen: Chosen) -> tuple[Column, ...]:
    """The columns under the chosen likelihoods, or under those that suit their values.

    Raises:
        DataError: if a column's cells are outside the support of the likelihood chosen for it.
    """
    blocks = choices.name_own_blocks(chosen)
    for name in blocks.keys() & summaries.keys():
        if vectorizer_of(chosen[name]) is not None:
            require_words(summaries[name])
    columns = [_column(name, summaries.get(name), chosen.get(name), blocks.get(name, "")) for name in names]
    numbers = [column for column in columns if column.kind == "normal"]
    if any(column.inferred for column in numbers):  # these may have several views, and a chosen likelihood is the only
        columns = [replace(c, own_block=CHOSEN) if c.kind == "normal" and not c.inferred else c for c in columns]
    return tuple(columns)


def _column(name: str, summary: Summary | None, chosen: Any, own_block: str = "") -> Column:
    if summary is None or chosen == SKIP:
        return Column(name, SKIP, text=None, reason=ASKED)
    if (vectorizer := vectorizer_of(chosen)) is not None:
        require_text(summary.num_cells > 0 and not summary.text, name, "numbers")
        words = in_order(summary.words or frozenset())
        return WordColumn(name, "words", words, True, None, summary.missing, None, own_block, vectorizer=vectorizer)
    if chosen is not None:
        return describe_column(summary, chosen, own_block)
    choice = infer(summary)
    return replace(describe_column(summary, choice.kind, inferred=True), reason=choice.reason)


def _next_column(before: Column, summary: Summary | None, chosen: Chosen) -> Column:
    """The column with the values of more rows."""
    if before.inferred and before.kind == SKIP:
        return before
    if summary is None or before.name in chosen:
        return before.join(_column(before.name, summary, chosen.get(before.name), before.own_block))
    refused = summary.text and not summary.flags and before.text is False
    kind = "categorical" if refused else before.family or before.kind
    return before.join(describe_column(summary, kind, before.own_block, inferred=True))


def _drops_some(column: Column, summary: Summary) -> bool:
    """Whether cells will count as missing, with a warning, since they are outside the support of an inferred kind."""
    if column.text or summary.text or summary.values is None:
        return False
    return len(column.outside(np.setdiff1d(summary.values, np.array(column.values, float)))) > 0


def _warn_of_other_kinds(columns: Sequence[Column], seen: Summaries) -> None:
    """Warn of columns whose inferred kind is not the one that suits all rows."""
    for column in columns:
        if not column.inferred or column.name not in seen:
            continue
        summary = seen[column.name]
        kind = infer(summary).kind
        if kind != column.kind:
            then, now = ("left out" if one == SKIP else one for one in (column.kind, kind))
            warn(
                f"column '{column.name}' stays {then}, as the first rows suggested, and all rows together suggest that "
                f"it is {now}: choose its likelihood, likelihoods={{'{column.name}': ...}}, from the first rows on"
            )


def _array_schema(X: Array, likelihoods: Any, before: Any, seen: Any, weight: Any) -> tuple[Schema, Undecided]:
    if isinstance(likelihoods, str) and likelihoods == AUTO:
        kinds, seen = infer_kinds(X, () if before is None else tuple(before.kinds), seen, weight)
        found = Schema(_columns_of_array(kinds, inferred=True), named=False)
    else:
        given = choices.expand_positions(likelihoods, X.shape[1]) if isinstance(likelihoods, Mapping) else likelihoods
        alike = isinstance(given, str | Family)  # of 100,000 columns one is looked at
        positions = range(1 if alike else X.shape[1])
        one_family = isinstance(given, Family)
        chosen = dict.fromkeys(positions, given) if one_family else choices.choose_kinds(given, positions)
        if any(kind == "ordered" or isinstance(kind, tuple) for kind in chosen.values()):
            raise DataError(
                "ordered columns are those of a data frame, and X is an array: give a frame, such as "
                "pandas.DataFrame({'grade': cells}), or nb.Histogram.ordered([C, ...]) for codes 0, 1, ..., C - 1"
            )
        columns = _columns_of_array([*chosen.values()], repeated=X.shape[1] if alike else 1)
        if {column.kind for column in columns} == {SKIP}:
            raise DataError("X has no column to learn from: all are skipped, as asked")
        found = Schema(columns, named=False)
    if before is not None and before.kinds != found.kinds:
        raise DataError(
            f"the likelihoods of the columns were {listing(before.kinds)} in the rows before, and are "
            f"{listing(found.kinds)} now: give the same as in the first rows"
        )
    return before or found, seen


def _columns_of_array(kinds: Sequence[Any], *, inferred: bool = False, repeated: int = 1) -> tuple[Column, ...]:
    """The columns of these kinds or families, all of them ``repeated``; categories, 0 at first, differ by column."""
    names, columns = choices.name_families(dict(enumerate(kinds))), []
    for _, run in groupby(kinds, lambda kind: kind if isinstance(kind, str) else id(kind)):
        kind, *others = run
        width = (1 + len(others)) * repeated
        if kind == "categorical":
            columns += [Column("", kind, range(1))] * width
        elif isinstance(kind, Family):
            columns.append(Column("", "own", family=kind, own_block=names[id(kind)].lower(), width=width))
        else:
            columns.append(Column("", kind, inferred=inferred, reason=ASKED if kind == SKIP else "", width=width))
    return tuple(columns)


def describe_column(
    column: Summary, chosen: Kind | Family | tuple[Value, ...], own_block: str = "", *, inferred: bool = False
) -> Column:
    """The column under a likelihood.

    Args:
        column: The summary of its cells.
        chosen: Its likelihood; a tuple are its levels in order.
        own_block: The block of a column whose likelihood is a family.
        inferred: Whether the likelihood was inferred from the first rows; later ones may be outside its support.

    Raises:
        DataError: if its cells are outside the likelihood's support.
    """
    name, family = column.name, chosen if isinstance(chosen, Family) else None
    kind: Kind = "own" if isinstance(chosen, Family) else "ordered" if isinstance(chosen, tuple) else chosen
    text = column.text and not column.flags if column.num_cells else None
    span = None if column.text or text is None else column.span
    found = Column(name, kind, (), text, span, column.missing, family, own_block, inferred)
    if kind == SKIP:
        return found
    if column.holds:
        raise DataError(f"column '{name}' holds {column.holds}, which cannot be {found.likelihood}: convert them first")
    if span is not None and np.isinf(span).any():
        raise DataError(f"column '{name}' holds an infinite number {column.largest[1]}: leave out the cell or its row")
    if kind == "ordered" and text is not None:
        return replace(found, values=_levels(column, chosen if isinstance(chosen, tuple) else (), text=text))
    if kind == "categorical" or text is None:
        return replace(found, values=_values(column, kind))
    if text:
        cell, place = column.odd or ("", "")
        why = f"'{cell}' {place} {why_text(cell)}{cure(cell)}" if column.odd else "its numbers are text"
        why = "make it categorical, which for two values is the same model" if kind == "bernoulli" else why
        why = NO_DATES if column.dates else why
        raise DataError(f"column '{name}' holds text, which cannot be {found.likelihood}: {why}")
    if kind == "bernoulli":
        others = column.distinct > 2 or not ({*column.values.tolist()} <= {0.0, 1.0, *FLAGS.values()})
        if others and not inferred:
            value, place = column.largest
            raise DataError(f"column '{name}' is bernoulli, so its cells are 0, 1 or missing, got {value:g} {place}")
        return replace(found, values=_values(column, kind))
    if kind != "own" and abs(column.largest[0]) > LARGEST_CELL:
        value, place = column.largest
        raise DataError(f"column '{name}' holds {value:g} {place}, which is too large to be squared")
    if kind in ("poisson", "multinomial") and span and (span[0] < 0 or not (column.whole or kind == "multinomial")):
        raise DataError(f"column '{name}' cannot be {kind}: its cells are not all counts 0, 1, 2, ...")
    if kind == "own":
        found.check(np.array(span))
    return found


def _values(column: Summary, kind: Kind) -> tuple[Value, ...]:
    """The values of the codes of a column, in order."""
    if kind == "bernoulli" or (column.num_cells and column.flags):
        return (0.0, 1.0) if column.num_cells and not column.flags else (False, True)
    if column.values is None:
        raise DataError(
            f"column '{column.name}' cannot be categorical: it has more than {limits.MOST_VALUES:,} distinct values; "
            f"choose it from the first rows on, {in_python(column.name, 'categorical')}, to keep them all"
        )
    if kind != "categorical":
        return ()
    if not column.text:
        return tuple(np.union1d(column.values, column.declared).tolist())
    values = column.values
    if column.declared:
        values = pa.chunked_array([values, as_texts(column.declared)]).unique()
        values = values.take(pa.array(order_of(values)))
    return tuple(values.to_pylist())


def _levels(column: Summary, given: Sequence[Value], *, text: bool) -> tuple[Value, ...]:
    """The levels of an ordered column: those given, or of its type, or its numbers."""
    levels = given or (column.levels if column.has_levels else ())
    if column.flags:
        return tuple(level == FLAGS["true"] for level in levels or FLAGS.values() if level in FLAGS.values())
    if not levels and text:
        raise DataError(
            f"column '{column.name}' holds text, which has no order of its own: list its levels from low to high, "
            f"likelihoods={{'{column.name}': ['low', 'mid', 'high']}} (--as {column.name}=low,mid,high), or give the "
            "column a type of ordered categories"
        )
    if not levels and column.distinct <= limits.MOST_BINS:
        return tuple(sorted(column.values.tolist()))
    if not 0 < len(levels) <= limits.MOST_BINS:
        raise DataError(
            f"column '{column.name}' has {max(len(levels), column.distinct):,} levels, and an ordered column at most "
            f"{limits.MOST_BINS}: choose another likelihood, {in_python(column.name, 'histogram')} for numbers"
        )
    return in_type(levels, text=text)


def require_words(column: Summary) -> None:
    """Raise DataError if several texts are all numbers, dates or booleans: that column was hardly meant."""
    odd = "dates" * column.dates or "true and false" * column.flags or "numbers written as text" * (column.odd is None)
    require_text(column.text and column.distinct > 1 and bool(odd), column.name, odd)


def infer_kinds(X: Array, before: Kinds, seen: Undecided, weight: Any = None) -> tuple[Kinds, Undecided]:
    """Bernoulli for each column of zeros and ones, both of which occur, else Normal; or the kinds of earlier rows.

    Where all cells are zeros and ones, all columns are Bernoulli. Fewer than 10 rows, such as a small first batch, are
    too few to tell: they are Normal, with a warning later. ``seen`` is what was returned for the earlier rows.
    """
    if before and seen is None:
        return before, None
    rows, among = seen or (0, np.ones(X.shape[1], bool))
    with np.errstate(over="ignore"):  # weights that are too large are refused where rows are counted
        rows += len(X) if weight is None else np.maximum(weight, 1.0).sum()
    flags, both = _find_flags(X, among)
    clear = both & (rows >= limits.FEW_VALUES)
    if before and clear.any():
        names = [f"x{d}" for d in np.flatnonzero(clear)]
        warn(
            f"{'X stays' if clear.all() else listing(names) + ' of X stay'} normal, as the first rows suggested, and "
            "all rows together suggest bernoulli: choose likelihoods from the first rows on, 'bernoulli', 'normal', or "
            "a dict of them by position"
        )
        return before, None
    if clear.all():
        warn(
            "all cells of X are zeros and ones, so its columns are Bernoulli: write likelihoods='bernoulli' to say so, "
            "or likelihoods='normal' for numbers that happen to be zeros and ones"
        )
    left = flags & ~clear
    kinds = before or tuple("bernoulli" if flag else "normal" for flag in clear.tolist())
    return kinds, (rows, left) if left.any() else None


def _find_flags(X: Array, among: Array) -> tuple[Array, Array]:
    """Which columns ``among`` [D] hold zeros, ones and NaN only, and which of these hold both, or all of them do."""
    flags, both = np.zeros((2, X.shape[1]), bool)
    if X.dtype.kind == "m":  # numpy compares durations with numbers no more; they are refused later
        return flags, both
    places = np.flatnonzero(among)
    for rows in (X[:100], X):  # the first rows settle it for most columns
        cells = rows if len(places) == X.shape[1] else rows[:, places]
        zero, one = cells == 0, cells == 1
        kept = (zero | one | np.isnan(cells)).all(axis=0)
        places, zeros, ones = places[kept], zero.any(axis=0)[kept], one.any(axis=0)[kept]
    flags[places], both[places] = True, zeros & ones
    return flags, both if not flags.all() else flags & zeros.any() & ones.any()
