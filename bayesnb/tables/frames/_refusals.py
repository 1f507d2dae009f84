"""Refusals of rows in the words of their table: the column by its name, the class by its label, and the first row."""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import label

FROM_CORE = re.compile(r"(?:^|: )(?:block '|class_counts)")
COLUMN, CLASS = re.compile(r"block '([^']*)', (class \d+, )?column (\d+)( of X)?"), re.compile(r"\bclass (\d+)")
NO_ROW = re.compile(r"\brow \d|\bline \d|\bto take away\b|: convert them to |, which has no order")
"""Of sentences that name a row, or refuse a whole column."""


def in_words(sentence: str, schema: Any, classes: Any) -> str:
    """A sentence about a column of a block, and about the number of a class, by names and labels."""

    def column(found: re.Match[str]) -> str:
        block, of_class, place, known = found[1], (found[2] or "").rstrip(", "), int(found[3]), found[4]
        if known or block not in schema.blocks:
            name = f"column {place}{known or ''}"
        elif isinstance(schema, Schema) and not schema.named:
            name = f"column {schema.positions[block][place]} of X"
        else:
            name = f"column '{schema.names_by_block[block][place]}'"
        return f"{name}, {of_class}" if of_class else name

    if not FROM_CORE.search(sentence):
        return sentence
    return CLASS.sub(lambda found: f"class '{label(classes[int(found[1])])}'", COLUMN.sub(column, sentence))


@contextmanager
def named(schema: Any, classes: Any) -> Iterator[None]:
    """Put refusals ``in_words``."""
    try:
        yield
    except ValueError as error:
        error.args = (in_words(str(error), schema, classes),)
        raise


def first_row(error: ValueError, num_rows: int, use: Callable[[slice], object]) -> str:
    """The first row up to which ``use`` refuses rows in the same sentence, such as `row 7: `; empty if there is none.

    Also if the sentence names a row itself, or is about sums of rows or a whole column: it fits the last row, too. What
    no rows are refused for, such as a likelihood that does not exist, is no row's.
    """

    def refuses(row: int) -> bool:
        try:
            use(slice(row + 1))
        except ValueError as other:
            return str(other) == str(error)
        return False

    with warnings.catch_warnings(action="ignore"):
        row = num_rows if NO_ROW.search(str(error)) else bisect_left(range(-1, num_rows), True, key=refuses) - 1
    return f"row {row}: " if 0 <= row < num_rows else ""


def use_rows(use: Callable[[Any], Any], rows: Any, schema: Any, classes: Any) -> Any:
    """``use(rows)``, of which a refusal names the column and the row; rows are a table, or arrays by block."""
    try:
        return use(rows)
    except ValueError as error:
        num_rows = jax.tree.leaves(rows)[0].shape[0]
        row = first_row(error, num_rows, lambda some: use(jax.tree.map(lambda x: x[some], rows)))
        error.args = (row + in_words(str(error), schema, classes),)
        raise
