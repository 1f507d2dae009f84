"""Cells of rows: which are missing, whether they are category codes, and the stored cells of sparse rows."""

from __future__ import annotations

from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._loops import compiled, for_loops, in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, is_sparse, is_traced, namespace, native

LARGEST_CELL = float(np.finfo(np.float64).max) ** limits.SQUARABLE
"""The largest cell in float64."""


def all_codes(x: Array, size: float) -> bool:
    """True if every cell is known to be one of 0..size-1, of any numeric dtype; ``size`` may be infinite."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fiu":
        return False
    cells = x.ravel(order="K")

    def of_part(part: slice) -> bool:
        some = cells[part]
        codes = (some >= 0) & (some < size)
        return bool((codes & (some == np.floor(some)) if x.dtype.kind == "f" else codes).all())

    return all(in_threads(of_part, row_blocks(len(cells), 8, block_bytes=limits.IN_CACHE)))


def largest_codes(x: np.ndarray[Any, Any]) -> Array:
    """The largest number of each column, [D], in float64, and at least 0; NaN is ignored."""
    return np.fmax.reduce(x, axis=0, initial=0).astype(np.float64)


def all_within(x: Array, largest: float) -> bool:
    """True if no number of numpy's cells is known to be larger in size; NaN is none."""
    return isinstance(x, np.ndarray) and x.dtype.kind in "fiu" and not (np.abs(x) > largest).any()


def largest_squarable(x: Array) -> float:
    """The largest number in rows of this dtype whose squares can be summed: numpy's are fitted in float64."""
    fitted = np.float64 if namespace(x) is np else jnp.promote_types(x.dtype, jnp.float32)
    return min(float(jnp.finfo(x.dtype).max), float(jnp.finfo(fitted).max) ** limits.SQUARABLE)


def within_squares(x: Array, largest: float) -> bool:
    """True if it is known, by the sum of squares, that no cell is larger in size, or NaN."""
    if not isinstance(x, np.ndarray):
        return not is_traced(x) and float(jnp.vdot(x, x)) <= largest**2
    cells = x.ravel(order="K")  # no copy if contiguous
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.einsum("i,i", cells, cells)) <= largest**2  # BLAS wakes threads, milliseconds on a busy machine


def unless_all(seen: Array) -> Array | None:
    """The mask, or None if it is known to be all True."""
    return None if isinstance(seen, np.ndarray) and seen.all() else seen


def without_repeats(table: Array) -> Array:
    """A numpy table with size 1 along the axes where it is constant: it broadcasts, and costs less. JAX's as it is."""
    if isinstance(table, np.ndarray):
        for axis in range(table.ndim):
            first = table.take([0], axis) if table.shape[axis] else table
            table = first if np.array_equal(np.broadcast_to(first, table.shape), table, equal_nan=True) else table
    return table


def observed(x: Array) -> Array | None:
    """A mask of the cells that are not NaN, [N, D]; None if it is known that none is missing."""
    if is_sparse(x) or not jnp.issubdtype(x.dtype, jnp.inexact):
        return None
    missing = namespace(x).isnan(x)
    return None if isinstance(missing, np.ndarray) and not missing.any() else ~missing


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
    """True if each cell is stored only once, in any order.

    A vectorizer's columns are in no order: to sort them takes three times as long as all the rest of a fit.
    """
    columns, pointers, num_columns = x.indices, x.indptr, x.shape[-1]
    # blocks large enough that reading them costs more than their marks, one a column
    parts = row_blocks(x.shape[0], bytes_per_row(x), 8 * num_columns, limits.SPARSE_BLOCK_BYTES)
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


def fill_unused(x: Array, used: Array) -> Array:
    """JAX rows with the cells of a row that is used in those that are not; 0 if none is."""
    cells = jnp.where(used.any(), x[used.argmax()], jnp.zeros((), x.dtype)) if x.shape[0] else 0
    return jnp.where(used[:, None], x, cells)


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
