"""Columns whose missing cells are a feature: one more column each, of zeros and ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.tables.frames._choices import ASKED, AUTO, expand
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import DataError, Frame, are_missing, closest, to_plain
from bayesnb.tables.frames._values import MISSING

INFORMATIVE = "informative"


def with_indicators(schema: Any, X: Any, missing: Any, before: Any = None) -> Any:
    """The schema with an indicator for each column whose missing cells are informative.

    Args:
        schema: The columns of X.
        X: A frame, or an array [N, D].
        missing: None or `auto` for no column yet; `informative` for all columns that have missing cells, unless
            the user has left them out; or a dict by column or pattern, or by position, of `informative` and None.
        before: The schema of earlier rows, whose indicators are kept.

    Raises:
        DataError: for other words, a column that is not there, and X that is sparse or in blocks.
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
    for word in missing.values() if isinstance(missing, Mapping) else [missing]:
        if word is None or word == INFORMATIVE:
            continue
        if not isinstance(word, str) and word is missing:
            raise DataError(
                f"missing must be '{AUTO}', None, '{INFORMATIVE}' for all columns that have missing cells, or a "
                f"dict by column, such as {{'{schema.names[0]}': '{INFORMATIVE}'}}, got {missing!r}"
            )
        hint = closest(word, [INFORMATIVE, AUTO]) if isinstance(word, str) else ""
        raise DataError(f"unknown value {word!r} for missing: expected '{AUTO}', '{INFORMATIVE}' or None{hint}")
    if isinstance(missing, Mapping):
        names = expand(_by_name(missing, schema), schema.names)
        return replace(schema, informative=tuple(p for p, name in enumerate(schema.names) if name in names))
    kept = [place for place, column in enumerate(schema.each) if column.reason != ASKED]
    return replace(schema, informative=tuple(place for place in kept if _some_missing(X, place)))


def _by_name(missing: Mapping[Any, Any], schema: Schema) -> dict[str, Any]:
    """The words by name; the columns of an array are named by their positions."""
    by_name, width = {}, len(schema.names)
    for key, word in missing.items():
        for one in key if isinstance(key, range) else (key,):
            by_position = not schema.named and isinstance(one, int | np.integer)
            by_name[f"x{one + width * (one < 0)}" if by_position else str(one)] = word
    return by_name


def _some_missing(X: Any, position: int) -> bool:
    if isinstance(X, Frame):
        return bool(are_missing(to_plain(X[X.columns[position]]), MISSING).any())
    return bool(np.isnan(X[:, position]).any())
