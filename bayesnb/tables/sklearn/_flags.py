"""Flags of missing cells as a block of encoded rows, for columns that lack some: a fit may do with or without them."""

from __future__ import annotations

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
    arrays = [x for block, x in rows.rows.arrays.items() if block != MISSING]
    return _as_blocks(replace(schema, informative=()), rows, arrays)


def with_flags(schema: Any, rows: KeptRows) -> tuple[Any, KeptRows] | None:
    """The schema and its rows, which have no flags, with one for each column that lacks cells; None if none does."""
    if not isinstance(schema, Schema):
        return None
    arrays, flags = list(rows.rows.arrays.values()), dict[int, Array]()
    for (block, columns), x in zip(schema.blocks.items(), arrays, strict=True):
        if not is_sparse(x):
            gone = np.isnan(x) | (x == columns[0].missing_code)
            places = np.flatnonzero(gone.any(axis=0))
            flags |= {int(schema.positions[block][place]): gone[:, place] for place in places}
    if not flags:
        return None
    informative = tuple(sorted(flags))
    added = np.stack([flags[place] for place in informative], axis=1).astype(np.float64)
    return _as_blocks(replace(schema, informative=informative), rows, arrays, added)


def _as_blocks(
    schema: Schema, rows: KeptRows, arrays: list[Array], flags: Array | None = None
) -> tuple[Schema, KeptRows]:
    """The rows by the blocks of the schema: of an array with flags the others have another name."""
    others = iter(arrays)
    by_block = {block: flags if block == MISSING else next(others) for block in schema.blocks}
    return schema, replace(rows, rows=replace(rows.rows, arrays=by_block), single=schema.single)
