"""Scores of rows by tables of many classes that have few cells of their own; see ``arrays/class_table``.

What classes share is scored once a row. What is left is a sum over the pairs of a row's words and the classes that have
such a cell, in the order of the words: with 10,000 classes of 150 words each of 5,000, a thirtieth of a dense product.
No goal needs the loops, but many classes do: scipy's sparse products take 6 to 9 times as long, more than dense tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._cells import is_sparse, observed, row_sums
from bayesnb.compute.arrays._class_table import ClassTable
from bayesnb.compute.arrays._loops import compiled, for_loops, in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, on_host
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products._linear_scores import Score, multiply_stored
from bayesnb.compute.primitives.products._table_sums import common_unit, log_rising


class ByColumn(NamedTuple):
    """The cells of their own by column and then by class: ``starts`` [D + 1] of columns, and ``classes`` [C]."""

    starts: Array
    classes: Array


def shares_of_words(table: ClassTable, dense: Callable[[], Score]) -> Score:
    """Scores counts by sum_d x_nd log p_kd for a table of probabilities [K, D]; JAX rows by the score ``dense()``."""
    if not on_host(table):
        return dense()
    place, order = _by_column(table)
    own, base = table.values[order], table.base[table.group[place.classes], table.columns[order]]
    alone, total = base == 0, table.total[place.classes]
    with np.errstate(divide="ignore"):
        beside = np.log1p(own / np.where(alone, 1.0, base))
        gain = np.where(alone, np.where(own > 0, np.log(own) - np.log(total), 0.0), beside)
        log_base = np.where(table.base > 0, np.log(table.base), 0.0)
    log_total, group, zero = np.log(table.total), table.group, (table.base == 0).astype(np.float64)
    possible = -(alone & (own > 0)).astype(np.float64)

    def score(x: Array) -> LogProb:
        if not on_host(x):
            return dense()(x)
        cells = _as_sparse(x)
        positive = _with_data(cells, (cells.data > 0).astype(np.float64))
        logs, sizes, zeros = (
            multiply_stored(*pair) for pair in ((cells, log_base.T), (cells, 1.0 - zero.T), (positive, zero.T))
        )

        def finite(some: slice, out: Array) -> None:
            out[:] = logs[some][:, group] - sizes[some][:, group] * log_total
            _add_gains(cells.data, cells.indices, cells.indptr[some.start :], *place, gain, out)

        def impossible(some: slice, out: Array) -> None:
            out[:] = zeros[some][:, group]
            _add_gains(positive.data, cells.indices, cells.indptr[some.start :], *place, possible, out)

        shape = cells.shape[0], len(group)
        return LogProb(_fill_scores(finite, shape), _fill_scores(impossible, shape) if zero.any() else None)

    return score


def rising_of_words(table: ClassTable, total: Array, dense: Callable[[], Score]) -> Score:
    """Scores counts by log of prod_d Gamma(a_kd + x_nd) / Gamma(a_kd), over the same of A_k and the row's length.

    a [K, D] is a table whose classes share one row, plus counts of their own; ``total`` A is [K, 1].
    """
    if not on_host(table):
        return dense()
    place, order = _by_column(table)
    base, own = table.base[0], table.values[order]
    prior = base[table.columns[order]]

    @cache
    def gains(levels: int) -> Array:
        steps = np.log1p(own / (prior + np.arange(levels)[:, None]))
        return np.cumsum(steps, axis=0, out=steps)

    sums, which = np.unique(total[:, 0], return_inverse=True)

    def score(x: Array) -> LogProb:
        if not on_host(x):
            return dense()(x)
        cells = _as_sparse(x)
        table = gains(int(min(cells.data.max(initial=1), limits.MOST_TABULATED)))
        length = row_sums(cells)
        unit = common_unit(length)
        shared, lengths = log_rising(base[None], cells, unit), log_rising(sums[:, None], length[:, None], unit)

        def finite(some: slice, out: Array) -> None:
            pointers = cells.indptr[some.start : some.stop + 1]
            out[:] = shared[some] - lengths[some][:, which]
            _add_rising(for_loops(cells.data), cells.indices, pointers, *place, table, own, base, out)

        return LogProb(_fill_scores(finite, (cells.shape[0], len(which))), None)

    return score


def _by_column(table: ClassTable) -> tuple[ByColumn, Array]:
    """The places of the cells by column, and their order."""
    places = np.arange(len(table.values))
    by_column = scipy.sparse.coo_array((places, (table.rows, table.columns)), shape=table.shape).tocsc()
    return ByColumn(by_column.indptr, by_column.indices), by_column.data


def _as_sparse(x: Array) -> Any:
    """The rows as a sparse matrix; rows that are all NaN have no cells."""
    if is_sparse(x):
        return _with_data(x, for_loops(x.data))
    seen = observed(x)
    return scipy.sparse.csr_array(for_loops(x if seen is None else np.where(seen, x, 0)))


def _with_data(x: Any, data: Array) -> Any:
    return scipy.sparse.csr_array((data, x.indices, x.indptr), shape=x.shape)


def _fill_scores(fill: Callable[[slice, Array], None], shape: tuple[int, int]) -> Array:
    """The scores [N, K] that ``fill(rows, out)`` writes for blocks of rows, in threads."""
    what = f"scores of {shape[0]:,} rows and {shape[1]:,} classes"
    memory.require(8 * shape[0] * shape[1], what, "give fewer rows at once")
    out = np.empty(shape)
    in_threads(lambda some: fill(some, out[some]), row_blocks(shape[0], 8 * max(shape[1], 1)))
    return out


@compiled
def _add_gains(
    cells: Array, columns: Array, pointers: Array, starts: Array, classes: Array, gain: Array, out: Array
) -> None:
    for n in range(out.shape[0]):
        for i in range(pointers[n], pointers[n + 1]):
            value, d = np.float64(cells[i]), columns[i]
            for j in range(starts[d], starts[d + 1]):
                out[n, classes[j]] += value * gain[j]


@compiled
def _add_rising(
    cells: Array, columns: Array, pointers: Array, starts: Array, classes: Array, gains: Array, own: Array, base: Array,
    out: Array,
) -> None:  # fmt: skip
    """Adds log Gamma(a + c + x) / Gamma(a + c) less the same without c, the class's own count, of each count x.

    ``gains`` [L, C] are these sums of log(1 + c / (a + i)) over i < x, for x = 1, ..., L.
    """
    for n in range(out.shape[0]):
        for i in range(pointers[n], pointers[n + 1]):
            cell, d = np.float64(cells[i]), columns[i]
            if 0 < cell <= gains.shape[0] and cell == np.floor(cell):
                for j in range(starts[d], starts[d + 1]):
                    out[n, classes[j]] += gains[np.int64(cell) - 1, j]
            elif cell > 0:
                shared = math.lgamma(base[d] + cell) - math.lgamma(base[d])
                for j in range(starts[d], starts[d + 1]):
                    a = base[d] + own[j]
                    out[n, classes[j]] += math.lgamma(a + cell) - math.lgamma(a) - shared
