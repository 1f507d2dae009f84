"""The memory that statistics take, known before any row is counted."""

from __future__ import annotations

from bayesnb.arrays import memory
from bayesnb.arrays.class_table import CELL_BYTES, is_sparse_enough
from bayesnb.arrays.sparse import is_sparse
from bayesnb.families.parts.class_tables import class_bytes
from bayesnb.rows.labelled_rows import LabelledRows


def require_memory(rows: LabelledRows, *, tables: bool = False) -> None:
    """Raises ValueError if statistics of this many classes, and what is computed from them, do not fit in memory.

    With ``tables`` counts of many classes may be sparse.
    """
    columns = {name: family.columns_in(rows.arrays[name]) for name, family in rows.families.items()}
    needed = 8 * rows.num_classes + sum(_block_bytes(rows, name, columns[name], tables) for name in columns)
    memory.require(
        2 * needed,
        f"statistics of K = {rows.num_classes:,} classes and D = {sum(columns.values()):,} columns",
        "give fewer; labels and categories must be numbered 0, 1, 2, ..., numpy.unique(y, return_inverse=True)",
    )


def _block_bytes(rows: LabelledRows, name: str, num_columns: int, tables: bool) -> int:
    family, x = rows.families[name], rows.arrays[name]
    sparse = tables and family.has_class_tables and is_sparse(x) and not rows.labels.soft
    if sparse and is_sparse_enough((rows.num_classes, num_columns), x.nnz):
        return CELL_BYTES * x.nnz + 8 * rows.num_classes
    return rows.num_classes * class_bytes(family, num_columns)
