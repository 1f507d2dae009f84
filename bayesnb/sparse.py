"""Sparse rows, scipy's CSR, for what is counted: cells that are not stored are zeros, and none is missing.

JAX's BCOO is made such a matrix, and stays on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.arrays import Array, native


def is_sparse(x: Any) -> bool:
    """True for a scipy matrix or array."""
    return scipy.sparse.issparse(x)


def rows_of(x: Any) -> Any:
    """The matrix by rows with each cell stored once; it shares memory with ``x`` where that is so already.

    Raises:
        ValueError: where cells are stored outside of the matrix: loops over them trust their places.
    """
    if hasattr(x, "check_format"):
        x.check_format(full_check=True)
    rows = scipy.sparse.csr_array(x)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    rows.data = native(rows.data)
    return rows


def from_bcoo(x: Any) -> Any:
    """scipy's matrix of JAX's BCOO [N, D] with known cells; what BCOO stores outside of the matrix is padding."""
    indices = np.asarray(x.indices)
    inside = (indices < x.shape).all(axis=1)
    row, column = indices[inside].T
    data = np.asarray(x.data)[inside]
    data = data.astype(np.float32) if data.dtype.itemsize == 2 and data.dtype.kind not in "iu" else data
    return scipy.sparse.coo_array((data, (row, column)), shape=x.shape)


def part_of(x: Any, rows: slice) -> Any:
    """The rows from one to another, in the memory of ``x``: scipy's own slices are copies."""
    if not is_sparse(x):
        return x[rows]
    pointers = x.indptr[rows.start : rows.stop + 1]
    cells = slice(pointers[0], pointers[-1])
    parts = x.data[cells], x.indices[cells], pointers - pointers[0]
    return scipy.sparse.csr_array(parts, shape=(len(pointers) - 1, x.shape[1]))


def stored(x: Any) -> Array:
    """The cells of which a sparse matrix keeps a value; a dense array itself."""
    return x.data if is_sparse(x) else x


def dense(x: Any) -> Array:
    """The array of a sparse matrix; a dense array itself."""
    return x.toarray() if is_sparse(x) else x


def bytes_per_row(x: Any) -> int:
    """Bytes of a row in memory, on average."""
    if is_sparse(x):
        return int(x.nnz * (x.data.itemsize + x.indices.itemsize) / max(x.shape[0], 1)) + x.indptr.itemsize
    return x.shape[1] * x.itemsize


def row_sums(x: Any, function: Callable[[Array], Array] | None = None) -> Array:
    """sum_d f(x_nd), [N], in float64 on the host; f(0) = 0, and f is the identity where it is not given."""
    if is_sparse(x):
        data = x.data.astype(np.float64, copy=False) if function is None else function(x.data)
        full = np.diff(x.indptr) > 0
        out = np.zeros(x.shape[0])
        out[full] = np.add.reduceat(data, x.indptr[:-1][full]) if full.any() else 0.0
        return out
    values = x if function is None else function(x)
    return values.sum(axis=-1, dtype=np.float64 if isinstance(values, np.ndarray) else None)
