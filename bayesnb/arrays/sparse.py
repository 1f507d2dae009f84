"""Sparse rows of counts, in scipy's CSR format: cells that are not stored are zeros, and none is missing.

JAX's BCOO is converted to such a matrix, and stays on the host.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse

from bayesnb.arrays.compiled import compiled, for_loops
from bayesnb.arrays.placement import Array, native
from bayesnb.arrays.placement import is_sparse as is_sparse
from bayesnb.arrays.threads import in_threads, row_blocks

STORED_BYTES = 1 << 22
"""Bytes of sparse rows in one block, chosen to balance threads; the tables that they look up never fit in cache."""


def rows_of(x: Any) -> Any:
    """The matrix in CSR format, with columns in any order and each cell stored once; without a copy if possible.

    ValueError if a cell is stored outside of the matrix, which the loops do not check.
    """
    if hasattr(x, "check_format"):
        x.check_format()
    rows = scipy.sparse.csr_array(x)
    if not rows.has_canonical_format and not _are_distinct(rows):
        rows = rows.copy()
        rows.sum_duplicates()
    rows.data = native(rows.data)
    return rows


def _are_distinct(x: Any) -> bool:
    """True if each cell is stored only once, in any order; to sort the cells would take longer."""
    columns, pointers, num_columns = x.indices, x.indptr, x.shape[-1]
    # blocks large enough that reading them costs more than their marks, one a column
    parts = row_blocks(x.shape[0], bytes_per_row(x), 8 * num_columns, STORED_BYTES)
    return all(in_threads(lambda rows: _differ(columns, pointers[rows.start : rows.stop + 1], num_columns), parts))


@compiled
def _differ(columns: Array, pointers: Array, num_columns: int) -> bool:
    last_row = np.full(num_columns, -1, np.int32)  # the last row in which each column occurred
    for n in range(pointers.shape[0] - 1):
        for cell in range(np.uintp(pointers[n]), np.uintp(pointers[n + 1])):
            d = np.uintp(columns[cell])
            if last_row[d] == n:
                return False
            last_row[d] = n
    return True


def from_bcoo(x: Any) -> Any:
    """The scipy matrix of a concrete JAX BCOO [N, D]; entries that BCOO stores outside of the matrix are padding."""
    indices = np.asarray(x.indices)
    inside = (indices < x.shape).all(axis=1)
    row, column = indices[inside].T
    data = np.asarray(x.data)[inside]
    data = data.astype(np.float32) if data.dtype.itemsize == 2 and data.dtype.kind not in "iu" else data
    return scipy.sparse.coo_array((data, (row, column)), shape=x.shape)


def part_of(x: Any, rows: slice, order: Literal["C", "K"] = "C") -> Any:
    """The rows of a slice: a view of ``x`` if they are contiguous in memory, else a copy.

    Order "K" copies them in their memory order, for code that reads cells in any order. scipy's slices are copies.
    """
    if not is_sparse(x):
        part = x[rows]
        return part if part.flags.c_contiguous else part.copy(order=order)
    pointers = x.indptr[rows.start : rows.stop + 1]
    cells = slice(pointers[0], pointers[-1])
    part = scipy.sparse.csr_array((len(pointers) - 1, x.shape[1]), dtype=x.dtype)
    # the constructor would search them for the largest index
    part.data, part.indices, part.indptr = x.data[cells], x.indices[cells], pointers - pointers[0]
    return part


def stack_rows(*arrays: Any) -> Any:
    """The rows of arrays one above the other; sparse if one of them is."""
    return scipy.sparse.vstack(arrays, "csr") if any(map(is_sparse, arrays)) else np.concatenate(arrays)


def stored_cells(x: Any) -> Array:
    """The stored cells of a sparse matrix; a dense array itself."""
    return x.data if is_sparse(x) else x


def dense(x: Any) -> Array:
    """A sparse matrix as a dense array; a dense array itself."""
    return x.toarray() if is_sparse(x) else x


def bytes_per_row(x: Any) -> int:
    """The average number of bytes of a row in memory."""
    if is_sparse(x):
        return int(x.nnz * (x.data.itemsize + x.indices.itemsize) / max(x.shape[0], 1)) + x.indptr.itemsize
    return x.shape[1] * x.itemsize


def cells_by_row(x: Any) -> tuple[Array, Array]:
    """The stored cells, row after row, and pointers: where each row begins in them, and where the last one ends."""
    if is_sparse(x):
        return x.data, x.indptr
    return for_loops(x).ravel(), x.shape[1] * np.arange(x.shape[0] + 1)


def row_sums(x: Any) -> Array:
    """sum_d x_nd, [N], in float64 on the host."""
    if is_sparse(x):
        return sums_between(x.data, x.indptr)
    return x.sum(axis=-1, dtype=np.float64 if isinstance(x, np.ndarray) else None)


@compiled
def sums_between(cells: Array, pointers: Array) -> Array:
    """The sums of the cells between consecutive pointers, in float64; a fifth of the time of scipy's x @ ones."""
    out = np.zeros(pointers.shape[0] - 1)
    for n in range(out.shape[0]):
        for i in range(np.uintp(pointers[n]), np.uintp(pointers[n + 1])):
            out[n] += cells[i]
    return out
