"""Choose the columns whose missing cells are a feature of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.arrays.sparse import is_sparse
from bayesnb.frames.blocks import BlocksSchema, Part, Schema
from bayesnb.frames.column_kinds import SKIP
from bayesnb.frames.likelihoods import ASKED, expand
from bayesnb.frames.missing_columns import are_missing
from bayesnb.frames.schema import ArraySchema
from bayesnb.frames.series import DataError, Frame, closest

INFORMATIVE = "informative"


def with_indicators(schema: Schema, X: Any, missing: Any, before: Schema | None = None) -> Schema:
    """The schema with an indicator for each column whose missing cells are informative.

    Args:
        schema: The columns of X.
        X: A frame, or an array [N, D].
        missing: None for no column; `informative` for all columns that have missing cells, unless the user has left
            them out; or a dict by column or pattern, or by position, of `informative` and None.
        before: The schema of earlier rows, whose indicators are kept.

    Raises:
        DataError: for other words, a column that is not there, and X that is sparse or in blocks.
    """
    if isinstance(before, Part) and isinstance(schema, Part):
        return replace(schema, informative=before.informative)
    if missing is None:
        return schema
    if isinstance(schema, BlocksSchema) or is_sparse(X):
        held = "in blocks" if isinstance(schema, BlocksSchema) else "sparse"
        raise DataError(
            f"missing={missing!r} takes one array or data frame, and X is {held}: leave it out, and give zeros and "
            "ones for missing cells as columns of their own"
        )
    if isinstance(missing, Mapping):
        names = expand(_by_name(missing, schema), schema.names)
        return replace(schema, informative=tuple(p for p, name in enumerate(schema.names) if name in names))
    if not isinstance(missing, str):
        raise DataError(
            f"missing must be None, '{INFORMATIVE}' for all columns that have missing cells, or a dict by column, such "
            f"as {{'{schema.names[0]}': '{INFORMATIVE}'}}, got {missing!r}"
        )
    _check(missing)
    return replace(schema, informative=tuple(p for p in _not_skipped(schema) if _some_missing(X, p)))


def _by_name(missing: Mapping[Any, Any], schema: Part) -> dict[str, Any]:
    """The words by name; the columns of an array are named by their positions."""
    by_name, width = {}, len(schema.names)
    for key, word in missing.items():
        _check(word)
        for one in key if isinstance(key, range) else (key,):
            by_position = isinstance(schema, ArraySchema) and isinstance(one, int | np.integer)
            by_name[f"x{one + width * (one < 0)}" if by_position else str(one)] = word
    return by_name


def _check(word: Any) -> None:
    if word is not None and word != INFORMATIVE:
        hint = closest(word, [INFORMATIVE]) if isinstance(word, str) else ""
        raise DataError(f"{word!r} says nothing known of missing cells: expected '{INFORMATIVE}' or None{hint}")


def _not_skipped(schema: Part) -> list[int]:
    """The positions of the columns that the user has not left out."""
    if isinstance(schema, ArraySchema):
        return [position for position, kind in enumerate(schema.kinds) if kind != SKIP]
    return [position for position, column in enumerate(schema.columns) if column.reason != ASKED]


def _some_missing(X: Any, position: int) -> bool:
    if isinstance(X, Frame):
        return bool(are_missing(X[X.columns[position]]).any())
    return bool(np.isnan(X[:, position]).any())
