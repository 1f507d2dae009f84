"""Functions of counts: on the host each count of a column is evaluated once and looked up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.arrays import Array, on_host, row_blocks
from bayesnb.products.rows import by_rows
from bayesnb.sparse import bytes_per_row, is_sparse

BLOCK_BYTES = 1 << 25
"""Bytes of counts that are looked at together: the more, the more often a count is met again."""

Elementwise = Callable[[Array, Array], Array]


def of_counts(function: Elementwise, table: Array, x: Any) -> Array:
    """sum_d f(table_kd, x_nd), [N, K], for a jitted elementwise f that is 0 where a cell is 0; NaN counts as 0."""
    function = jax.tree_util.Partial(function)
    if not on_host(table, x):
        return _total(function, table, jnp.asarray(x))
    parts = [_of_block(function, table, x[rows]) for rows in row_blocks(x.shape[0], bytes_per_row(x), BLOCK_BYTES)]
    return np.concatenate(parts) if parts else np.zeros((0, len(table)))


def _of_block(function: Elementwise, table: Array, x: Any) -> Array:
    cells = x if is_sparse(x) else scipy.sparse.csr_array(np.nan_to_num(x).astype(_kept(x.dtype), copy=False))
    if not cells.nnz:
        return np.zeros((x.shape[0], len(table)))
    columns, counts, index = _distinct(cells)
    if 2 * len(counts) > cells.nnz:  # hardly any is met again
        return by_rows(_total, (function, table), x) if not is_sparse(x) else _cell_by_cell(function, table, cells)
    values = by_rows(_of_pairs, (function,), (table.T[columns], counts[:, None]))
    return scipy.sparse.csr_array((np.ones(cells.nnz), index, cells.indptr), (x.shape[0], len(counts))) @ values


def _cell_by_cell(function: Elementwise, table: Array, cells: Any) -> Array:
    """Row by row of the cells that are stored, some thousands at once."""
    row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    out = np.zeros((cells.shape[0], len(table)))
    for some in row_blocks(cells.nnz, 16 * len(table)):
        pairs = table.T[cells.indices[some]], cells.data[some, None].astype(np.float64)
        np.add.at(out, row[some], by_rows(_of_pairs, (function,), pairs))
    return out


def _distinct(cells: Any) -> tuple[Array, Array, Array]:
    """The column and the count of all that differ in either, and which of these each stored cell is."""
    size = float(cells.data.max()) + 1.0
    if size * cells.shape[1] >= 2**52 or (np.floor(cells.data) != cells.data).any():
        return cells.indices, cells.data, np.arange(cells.nnz)
    size = int(size)
    keys = cells.indices.astype(np.int64) * size + cells.data.astype(np.int64)
    if cells.shape[1] * size <= 4 * cells.nnz:
        there = np.bincount(keys) > 0
        found, index = there.nonzero()[0], np.cumsum(there)[keys] - 1
    else:
        found, index = np.unique(keys, return_inverse=True)
    return found // size, (found % size).astype(np.float64), index


def _kept(dtype: Any) -> Any:
    """A type of cells that scipy takes and that holds them."""
    return dtype if dtype.kind in "iub" or dtype in (np.float32, np.float64) else np.float64


@jax.jit
def _of_pairs(function: Elementwise, pairs: tuple[Array, Array]) -> Array:
    return function(*pairs)


@jax.jit
def _total(function: Elementwise, table: Array, x: Array) -> Array:
    counts = jnp.nan_to_num(jnp.asarray(x, jnp.result_type(float)))
    return function(table[None], counts[:, None, :]).sum(axis=-1)
