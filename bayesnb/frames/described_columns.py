"""A column under a likelihood, from the summary of its cells; an error says why they cannot have it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.families import Family
from bayesnb.frames.column_kinds import SKIP, Column, Kind, Value, in_order
from bayesnb.frames.number_texts import why_text
from bayesnb.frames.series import FLAGS, NO_DATES, DataError
from bayesnb.frames.summaries import MOST_VALUES, Summary


def describe_column(column: Summary, chosen: Kind | Family, own_block: str = "", *, inferred: bool = False) -> Column:
    """The column under a likelihood.

    Args:
        column: The summary of its cells.
        chosen: Its likelihood.
        own_block: The block of a column whose likelihood is a family.
        inferred: Whether the likelihood was inferred from the first rows; later ones may be outside its support.

    Raises:
        DataError: if its cells are outside the likelihood's support.
    """
    name, family = column.name, chosen if isinstance(chosen, Family) else None
    kind: Kind = "own" if isinstance(chosen, Family) else chosen
    text = column.text and not column.flags if column.num_cells else None
    span = None if column.text or text is None else column.span
    found = Column(name, kind, (), text, span, column.missing, family, own_block, inferred)
    if kind == SKIP:
        return found
    if span is not None and np.isinf(span).any():
        raise DataError(f"column '{name}' holds an infinite number {column.largest[1]}: leave out the cell or its row")
    if kind == "categorical" or text is None:
        return replace(found, values=_values(column, kind))
    if text:
        cell, place = column.odd or ("", "")
        why = f"'{cell}' {place} {why_text(cell)}" if column.odd else "its numbers are text"
        why = "make it categorical, which for two values is the same model" if kind == "bernoulli" else why
        why = NO_DATES if column.dates else why
        raise DataError(f"column '{name}' holds text, which cannot be {found.likelihood}: {why}")
    if kind == "bernoulli":
        others = column.values is None or not ({*column.values} <= {0.0, 1.0, *FLAGS.values()})
        if others and not inferred:
            value, place = column.largest
            raise DataError(f"column '{name}' is bernoulli, so its cells are 0, 1 or missing, got {value:g} {place}")
        return replace(found, values=_values(column, kind))
    if kind != "own" and abs(column.largest[0]) > LARGEST_CELL:
        value, place = column.largest
        raise DataError(f"column '{name}' holds {value:g} {place}, which is too large to be squared")
    if kind in ("poisson", "multinomial") and span and (span[0] < 0 or not (column.whole or kind == "multinomial")):
        raise DataError(f"column '{name}' cannot be {kind}: its cells are not all counts 0, 1, 2, ...")
    return found


def _values(column: Summary, kind: Kind) -> tuple[Value, ...]:
    """The values of the codes of a column, in order."""
    if kind == "bernoulli" or (column.num_cells and column.flags):
        return (0.0, 1.0) if column.num_cells and not column.flags else (False, True)
    if column.values is None:
        raise DataError(
            f"column '{column.name}' cannot be categorical: it has more than {MOST_VALUES:,} distinct values"
        )
    return in_order({*column.values.tolist(), *column.declared}) if kind == "categorical" else ()
