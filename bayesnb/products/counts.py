"""Rising factorials of counts: on the host those of every column are added up once, and looked up."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb import special
from bayesnb.arrays import Array, observed, on_host, row_blocks
from bayesnb.products.rows import by_rows
from bayesnb.sparse import bytes_per_row, is_sparse, part_of

BLOCK_BYTES = 1 << 25
"""Bytes of counts that are looked at together: the more, the more often a count is met again."""

MOST_LEVELS = 1 << 12
"""A count above it is evaluated by itself."""

WORTH = 2
"""Cells for each entry of a level of a table, below which their counts are evaluated by themselves."""

TABLE_BYTES = 1 << 27
"""The largest table."""


def log_rising(a: Array, x: Any) -> Array:
    """sum_d log Gamma(a_kd + x_nd) / Gamma(a_kd), [N, K], of counts x, zero or more; NaN counts as 0.

    For a whole count it is log a + log(a + 1) + ... + log(a + x - 1).
    """
    if not on_host(a, x):
        return _total(a, jnp.asarray(x))
    parts = [_of_block(a, part_of(x, rows)) for rows in row_blocks(x.shape[0], bytes_per_row(x), BLOCK_BYTES)]
    return np.concatenate(parts) if parts else np.zeros((0, len(a)))


def _of_block(a: Array, x: Any) -> Array:
    sparse = is_sparse(x)
    counts = x.data if sparse else x if observed(x) is None else np.nan_to_num(x)
    columns = x.indices if sparse else np.arange(x.shape[1])
    # a byte holds no such limit, and needs none
    levels = (counts if counts.dtype.itemsize == 1 else np.minimum(counts, MOST_LEVELS)).astype(np.int32)
    levels[levels != counts] = 0
    highest = np.zeros(x.shape[1], np.int32)
    if sparse:
        np.maximum.at(highest, columns, levels)
    else:
        levels.max(axis=0, initial=0, out=highest)
    order, reach = _reach(highest, levels, TABLE_BYTES // (8 * len(a)))
    levels[levels > len(reach)] = 0
    tabled = levels > 0
    rest = (counts != 0) & ~tabled
    if not sparse and 2 * np.count_nonzero(rest) > counts.size:
        return by_rows(_total, (a,), x)
    out = np.zeros((x.shape[0], len(a)))
    if tabled.any():
        table, place = _table(a.T, order, reach)
        index = place(columns, levels).reshape(-1)[np.flatnonzero(tabled)]
        before = np.cumsum(tabled) if sparse else np.cumsum(np.count_nonzero(tabled, axis=1))
        before = np.concatenate([[0], before])
        pointers = before[x.indptr] if sparse else before
        out = scipy.sparse.csr_array((np.ones(len(index)), index, pointers), (len(out), len(table))) @ table
    if rest.any():
        where = np.flatnonzero(rest)
        row = np.searchsorted(x.indptr, where, side="right") - 1 if sparse else where // x.shape[1]
        column = columns[where] if sparse else where % x.shape[1]
        _add_cell_by_cell(out, a, row, column, counts.reshape(-1)[where])
    return out


def _reach(highest: Array, levels: Array, most_entries: int) -> tuple[Array, Array]:
    """The columns with the highest counts first, and how many of them reach the counts 1, 2, ... of a table.

    A table goes as far as many cells use each of its entries.
    """
    order = np.argsort(-highest, kind="stable")[: np.count_nonzero(highest)]
    counted = (np.bincount(n.reshape(-1), minlength=2) for n in (highest, levels))
    of_columns, of_cells = (n[:0:-1].cumsum()[::-1] for n in counted)
    worth = (of_cells >= WORTH * of_columns) & (of_columns.cumsum() <= most_entries) & (of_columns > 0)
    return order, of_columns[: len(worth) if worth.all() else worth.argmin()]


def _table(a: Array, order: Array, reach: Array) -> tuple[Array, Any]:
    """log a_d + ... + log(a_d + c - 1) of counts c = 1, 2, ..., [S, K], and the place of (d, c) in it.

    The columns that reach a count are the head of those that reach the one before.
    """
    rank = np.zeros(len(a), np.int32)
    rank[order] = np.arange(len(order))
    a = a[order[: reach[0]]]
    start = np.concatenate([[0], np.cumsum(reach)]).astype(np.int32)
    table = np.empty((start[-1], a.shape[1]))
    for level, columns in enumerate(reach):
        here = slice(start[level], start[level + 1])
        np.log(a[:columns] + level, out=table[here])
        if level:
            table[here] += table[start[level - 1] : start[level - 1] + columns]
    return table, lambda column, count: start[count - 1] + rank[column]


def _add_cell_by_cell(out: Array, a: Array, row: Array, column: Array, count: Array) -> None:
    """Some thousands of cells at once."""
    for some in row_blocks(len(row), 16 * len(a)):
        pairs = a.T[column[some]], count[some, None].astype(np.float64)
        np.add.at(out, row[some], by_rows(_of_pairs, (), pairs))


@jax.jit
def _of_pairs(pairs: tuple[Array, Array]) -> Array:
    return special.log_gamma_ratio(*pairs)


@jax.jit
def _total(a: Array, x: Array) -> Array:
    counts = jnp.nan_to_num(jnp.asarray(x, jnp.result_type(float)))
    return special.log_gamma_ratio(a[None], counts[:, None, :]).sum(axis=-1)
