"""Flags of missing cells as a block of encoded rows, for columns that lack some: a fit may do with or without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.compute.arrays._placement import Array
from bayesnb.tables.frames._columns import MISSING
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.sklearn._kept_rows import KeptRows


def without_flags(schema: Any, rows: KeptRows) -> tuple[Any, KeptRows]:
    """The schema and its rows without flags."""
    if not isinstance(schema, Schema) or not schema.informative:
        return schema, rows
    arrays = {block: x for block, x in rows.rows.arrays.items() if block != MISSING}
    return _as_blocks(replace(schema, informative=()), rows, arrays)


def with_flags(schema: Any, rows: KeptRows) -> tuple[Any, KeptRows] | None:
    """The schema and its rows, which have no flags, with one for each column that lacks cells; None if none does."""
    if not isinstance(schema, Schema):
        return None
    informative = tuple(sorted(_missing_cells(schema, rows.rows.arrays)))
    return _as_blocks(replace(schema, informative=informative), rows, rows.rows.arrays) if informative else None


def flag_rows(schema: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Encoded rows without flags, by block, with the flags of the schema."""
    others, found = iter(arrays.values()), {}
    if schema.informative:
        gone, none = _missing_cells(schema, arrays), np.zeros(next(iter(arrays.values())).shape[0], bool)
        found[MISSING] = np.stack([gone.get(place, none) for place in schema.informative], axis=1).astype(np.float64)
    # of an array with flags the other blocks have another name
    return {block: found[block] if block == MISSING else next(others) for block in schema.blocks}


def _missing_cells(schema: Schema, arrays: Mapping[str, Any]) -> dict[int, Array]:
    """Which cells are missing [N], by the positions of the columns that lack some."""
    schema, found = replace(schema, informative=()), dict[int, Array]()
    for (block, columns), x in zip(schema.blocks.items(), arrays.values(), strict=True):
        if not is_sparse(x):
            gone = np.isnan(x) | (x == columns[0].missing_code)
            places = np.flatnonzero(gone.any(axis=0))
            found |= {int(schema.positions[block][place]): gone[:, place] for place in places}
    return found


def _as_blocks(schema: Schema, rows: KeptRows, arrays: Mapping[str, Any]) -> tuple[Schema, KeptRows]:
    """The rows, given without flags, by the blocks of the schema."""
    return schema, replace(rows, rows=replace(rows.rows, arrays=flag_rows(schema, arrays)), single=schema.single)
