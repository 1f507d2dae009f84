"""Columns whose missing cells are a feature: one more column each, of zeros and ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.tables.frames._choices import ASKED, AUTO, expand
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import DataError, closest

INFORMATIVE = "informative"


def with_indicators(schema: Any, X: Any, missing: Any, before: Any = None) -> Any:
    """The schema with an indicator for each column whose missing cells are informative.

    Args:
        schema: The columns of X.
        X: A frame, an array [N, D], or None for a table whose rows have been described.
        missing: As ``require_words`` takes it: None or `auto` for no column yet; `informative` for all columns that
            have missing cells, unless the user has left them out.
        before: The schema of earlier rows, whose indicators are kept.

    Raises:
        DataError: for a column that is not there, and X that is sparse or in blocks.
    """
    if isinstance(before, Schema) and isinstance(schema, Schema):
        return replace(schema, informative=before.informative)
    if missing is None or missing == AUTO:
        return schema
    if not isinstance(schema, Schema) or is_sparse(X):
        held = "in blocks" if not isinstance(schema, Schema) else "sparse"
        raise DataError(
            f"missing={missing!r} takes one array or data frame, and X is {held}: leave it out, and give zeros and "
            "ones for missing cells as columns of their own"
        )
    if isinstance(missing, Mapping):
        names = expand(_by_name(missing, schema), schema.names)
        return replace(schema, informative=tuple(p for p, name in enumerate(schema.names) if name in names))
    kept = [(place, column) for place, column in enumerate(schema.each) if column.reason != ASKED]
    lacks = (place for place, column in kept if (column.missing if schema.named else np.isnan(X[:, place]).any()))
    return replace(schema, informative=tuple(lacks))


def require_words(missing: Any) -> None:
    """Raise DataError unless it is `auto`, None, `informative`, or a dict of the last two by column or pattern."""
    if not (missing is None or isinstance(missing, str | Mapping)):
        raise DataError(
            f"missing must be '{AUTO}', None, '{INFORMATIVE}' for all columns that have missing cells, or a "
            f"dict by column, such as {{'age': '{INFORMATIVE}'}}, got {missing!r}"
        )
    words, known = (missing.values(), ()) if isinstance(missing, Mapping) else ([missing], (AUTO,))
    for word in words:
        if not (word is None or word in (*known, INFORMATIVE)):
            hint = closest(word, [*known, INFORMATIVE]) if isinstance(word, str) else ""
            expected = ", ".join(f"'{one}'" for one in (*known, INFORMATIVE))
            raise DataError(f"unknown value {word!r} for missing: expected {expected} or None{hint}")


def _by_name(missing: Mapping[Any, Any], schema: Schema) -> dict[str, Any]:
    """The words by name; the columns of an array are named by their positions."""
    by_name, width = {}, len(schema.names)
    for key, word in missing.items():
        for one in key if isinstance(key, range) else (key,):
            by_position = not schema.named and isinstance(one, int | np.integer)
            by_name[f"x{one + width * (one < 0)}" if by_position else str(one)] = word
    return by_name
