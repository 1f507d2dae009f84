"""Rising factorials of counts: on the host those of every column are added up once, and looked up."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb import special
from bayesnb.arrays import Array, on_host, row_blocks
from bayesnb.products.rows import by_rows
from bayesnb.sparse import bytes_per_row, is_sparse, part_of

BLOCK_BYTES = 1 << 25
"""Bytes of counts that are looked at together: the more, the more often a count is met again."""

MOST_LEVELS = 1 << 12
"""A count above it is evaluated by itself: a table would be long before it is useful."""


def log_rising(a: Array, x: Any) -> Array:
    """sum_d log Gamma(a_kd + x_nd) / Gamma(a_kd), [N, K], of counts x, zero or more; NaN counts as 0.

    For a whole count it is log a + log(a + 1) + ... + log(a + x - 1).
    """
    if not on_host(a, x):
        return _total(a, jnp.asarray(x))
    parts = [_of_block(a, part_of(x, rows)) for rows in row_blocks(x.shape[0], bytes_per_row(x), BLOCK_BYTES)]
    return np.concatenate(parts) if parts else np.zeros((0, len(a)))


def _of_block(a: Array, x: Any) -> Array:
    data = x.data if is_sparse(x) else np.nan_to_num(x)
    if not data.size:
        return np.zeros((x.shape[0], len(a)))
    most = x.max(axis=0).toarray().reshape(-1) if is_sparse(x) else data.max(axis=0)
    few = most.max() <= MOST_LEVELS and most.sum(dtype=np.float64) <= data.size
    if not few or (data.dtype.kind not in "iub" and (np.floor(data) != data).any()):
        return _cell_by_cell(a, x) if is_sparse(x) else by_rows(_total, (a,), x)
    table, place = _table(a.T, most.astype(np.int64))
    counts = data.astype(np.int64)
    if is_sparse(x):
        index, pointers = place(x.indices, counts), x.indptr
    else:
        # a zero adds nothing: left out
        index = place(np.arange(x.shape[1]), counts)[counts > 0]
        pointers = np.concatenate([[0], np.cumsum(np.count_nonzero(counts, axis=1))])
    return scipy.sparse.csr_array((np.ones(len(index)), index, pointers), (x.shape[0], len(table))) @ table


def _table(a: Array, most: Array) -> tuple[Array, Any]:
    """log a_d + ... + log(a_d + c - 1) of all counts c = 0 .. most_d, [S, K], and the place of (d, c) in it.

    Columns with the most counts come first, so that those which reach a count are the head of those before it.
    """
    order = np.argsort(-most, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    a = a[order]
    reach = np.searchsorted(-most[order], -np.arange(1, most.max(initial=0) + 1), side="right")
    start = np.concatenate([[0, len(a)], len(a) + np.cumsum(reach)])
    table = np.zeros((start[-1], a.shape[1]))
    for level, columns in enumerate(reach):
        before, here = start[level], start[level + 1]
        np.log(a[:columns] + level, out=table[here : here + columns])
        table[here : here + columns] += table[before : before + columns]
    return table, lambda column, count: start[count] + rank[column]


def _cell_by_cell(a: Array, cells: Any) -> Array:
    """Row by row of the cells that are stored, some thousands at once."""
    row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    out = np.zeros((cells.shape[0], len(a)))
    for some in row_blocks(cells.nnz, 16 * len(a)):
        pairs = a.T[cells.indices[some]], cells.data[some, None].astype(np.float64)
        np.add.at(out, row[some], by_rows(_of_pairs, (), pairs))
    return out


@jax.jit
def _of_pairs(pairs: tuple[Array, Array]) -> Array:
    return special.log_gamma_ratio(*pairs)


@jax.jit
def _total(a: Array, x: Array) -> Array:
    counts = jnp.nan_to_num(jnp.asarray(x, jnp.result_type(float)))
    return special.log_gamma_ratio(a[None], counts[:, None, :]).sum(axis=-1)
