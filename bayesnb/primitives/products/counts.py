"""Rising factorials of counts; on the host they are tabulated once for every column, and looked up."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled, for_loops
from bayesnb.arrays.placement import Array, on_host
from bayesnb.arrays.sparse import bytes_per_row, cells_by_row, is_sparse, part_of
from bayesnb.arrays.threads import in_threads, merged_in_threads, row_blocks
from bayesnb.numerics import log_gamma
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products.rows import by_rows, summed
from bayesnb.primitives.scoring import Score

BLOCK_BYTES = 1 << 25
"""Bytes of counts that share a table: the more, the more often an entry is used again."""

PART_BYTES = 1 << 19
"""Bytes of counts that one thread reads at a time."""

MOST_LEVELS = 1 << 12
"""Counts above this are never tabulated but evaluated cell by cell."""

WORTH = 8
"""The number of table entries that cost as much as evaluating one cell."""

TABLE_BYTES = 1 << 27
"""The largest size of the table in bytes."""


def log_rising(a: Array, x: Any) -> Array:
    """sum_d log Gamma(a_kd + x_nd) / Gamma(a_kd), [N, K], of counts x >= 0; NaN counts as 0.

    For a whole count the term is log a + log(a + 1) + ... + log(a + x - 1).
    """
    if not on_host(a, x):
        return _total(a, jnp.asarray(x))
    parts = [_of_block(a, part_of(x, rows)) for rows in row_blocks(x.shape[0], bytes_per_row(x), BLOCK_BYTES)]
    return np.concatenate(parts) if parts else np.zeros((0, len(a)))


def rising_and_linear(family: Any, a: Array, linear: Score) -> Score:
    """Scores counts by ``log_rising`` plus a linear function; together they equal the sum of ``log_predictive_terms``.

    On a device the family's terms are summed instead: in single precision the two sums would cancel.
    """

    def score(x: Array) -> LogProb:
        if on_host(a, x):
            return LogProb(linear(x).finite + log_rising(a, x), None)
        return LogProb(summed("log_predictive_terms", (family,), (x,)), None)

    return score


def _of_block(a: Array, x: Any) -> Array:
    cells, pointers = cells_by_row(x)
    cells, columns = for_loops(cells), x.indices if is_sparse(x) else None
    parts = list(row_blocks(x.shape[0], bytes_per_row(x), block_bytes=PART_BYTES))

    def levels(rows: slice) -> tuple[Array, Array]:
        highest, of_cells = np.zeros(x.shape[1]), np.zeros(MOST_LEVELS + 1, np.int64)
        _count_levels(cells, columns, pointers[rows.start : rows.stop + 1], highest, of_cells)
        return highest, of_cells

    highest, of_cells = merged_in_threads(_both, levels, parts)
    table = _table(a.T, *_reach(highest.astype(np.int32), of_cells, TABLE_BYTES // (8 * len(a))))
    out, rest = np.zeros((x.shape[0], len(a))), np.zeros(cells.shape, bool)

    def left(rows: slice) -> int:
        return _add_levels(cells, columns, pointers[rows.start : rows.stop + 1], *table, out[rows], rest)

    if not any(in_threads(left, parts)):
        return out
    where = np.flatnonzero(rest)
    if columns is None and 2 * len(where) > cells.size:
        return by_rows(_total, (a,), x)
    row = np.searchsorted(pointers, where, side="right") - 1
    column = where - pointers[row] if columns is None else columns[where]
    _add_cell_by_cell(out, a, row, column, cells[where])
    return out


def _both(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """The levels of two parts of the rows, merged."""
    return np.maximum(a[0], b[0]), a[1] + b[1]


@compiled
def _count_levels(cells: Array, columns: Array | None, pointers: Array, highest: Array, of_cells: Array) -> None:
    """The largest count of each column, and the number of cells with each count 1, 2, ... that a table may hold."""
    for i in range(pointers[0], pointers[-1]):
        cell = cells[i]
        # other cells are counted at level 0: skipping zeros, which come in no order, takes longer
        of_cells[np.uint32(cell if (cell >= 1) & (cell < of_cells.shape[0]) else 0)] += 1
    for n in range(pointers.shape[0] - 1):
        for i in range(pointers[n + 1] - pointers[n]):
            cell, d = cells[pointers[n] + i], i if columns is None else columns[pointers[n] + i]
            highest[d] = cell if (cell < of_cells.shape[0]) & (cell > highest[d]) else highest[d]


@compiled
def _add_levels(
    cells: Array,
    columns: Array | None,
    pointers: Array,
    table: Array,
    start: Array,
    rank: Array,
    out: Array,
    rest: Array,
) -> int:
    """Adds the table's entries for the counts of each row; marks the other cells in ``rest``, and returns how many."""
    left = 0
    for n in range(out.shape[0]):
        for i in range(pointers[n], pointers[n + 1]):
            cell = cells[i]
            if cell > 0:
                if cell < start.shape[0] and cell == np.floor(cell):
                    place = start[np.int64(cell) - 1] + rank[i - pointers[n] if columns is None else columns[i]]
                    for k in range(out.shape[1]):
                        out[n, k] += table[place, k]
                else:
                    rest[i] = True
                    left += 1
    return left


def _reach(highest: Array, of_cells: Array, most_entries: int) -> tuple[Array, Array]:
    """The columns with the highest counts first, and the number of columns that reach each count 1, 2, ... of a table.

    The table is extended while the evaluations it saves outweigh the cost of filling it.
    """
    order = np.argsort(-highest, kind="stable")[: np.count_nonzero(highest)]
    of_columns = np.bincount(highest)[:0:-1].cumsum()[::-1]
    saved = (WORTH * of_cells[1 : len(of_columns) + 1] - of_columns).cumsum()
    saved = np.where(of_columns.cumsum() <= most_entries, saved, 0)
    return order, of_columns[: saved.argmax() + 1 if (saved > 0).any() else 0]


def _table(a: Array, order: Array, reach: Array) -> tuple[Array, Array, Array]:
    """log a_d + ... + log(a_d + c - 1) for counts c = 1, 2, ..., [S, K]; that of (d, c) is at start_{c-1} + rank_d.

    The columns that reach a count are the first of those that reach the count before.
    """
    rank = np.zeros(len(a), np.int64)
    rank[order] = np.arange(len(order))
    a = a[order[: reach[0]]] if len(reach) else a[:0]
    start = np.concatenate([[0], np.cumsum(reach)]).astype(np.int64)
    table = np.empty((start[-1], a.shape[1]))
    for level, columns in enumerate(reach):
        here = slice(start[level], start[level + 1])
        np.log(a[:columns] + level, out=table[here])
        if level:
            table[here] += table[start[level - 1] : start[level - 1] + columns]
    return table, start, rank


def _add_cell_by_cell(out: Array, a: Array, row: Array, column: Array, count: Array) -> None:
    """Adds the terms of single cells, some thousands at a time."""
    for some in row_blocks(len(row), 16 * len(a)):
        pairs = a.T[column[some]], count[some, None].astype(np.float64)
        np.add.at(out, row[some], by_rows(_of_pairs, (), pairs))


@jax.jit
def _of_pairs(pairs: tuple[Array, Array]) -> Array:
    return log_gamma.log_gamma_ratio(*pairs)


@jax.jit
def _total(a: Array, x: Array) -> Array:
    counts = jnp.nan_to_num(jnp.asarray(x, jnp.result_type(float)))
    return log_gamma.log_gamma_ratio(a[None], counts[:, None, :]).sum(axis=-1)
