"""Tables looked up by category codes: a compiled loop on the host, a gather on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compiled import compiled_unless_few, for_loops
from bayesnb.arrays.placement import Array, on_host
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.codes import Codes
from bayesnb.primitives.products.blockwise import score_rows


def lookup(codes: Callable[[Array], Codes], table: LogProb) -> Callable[[Array], LogProb]:
    """A function from rows to sum_d table[k, place of x_nd], [N, K], over the observed cells; tables [K, S]."""
    host = _on_host(codes, table) if on_host(table) else None

    def score(x: Array) -> LogProb:
        if host is not None and on_host(x):
            return host(x)
        coded = codes(x)
        return jax.tree.map(lambda part: _gather(jnp.asarray(part), coded), table)

    return score


def _on_host(codes: Callable[[Array], Codes], table: LogProb) -> Callable[[Array], LogProb]:
    num_classes, size = table.finite.shape
    impossible = table.zeros is not None and table.zeros.any()
    finite, zeros = _by_place(table.finite), _by_place(table.zeros) if impossible else None

    def of_block(block: Array, _: Any) -> LogProb:
        coded, tables = codes(for_loops(block)), LogProb(finite, zeros)
        if coded.starts[-1] != size:  # the loop would read outside of the table
            raise ValueError(f"the columns have {coded.starts[-1]} categories together, and the table {size}")
        return jax.tree.map(lambda part: _look_up(coded.cells, coded.starts, part), tables)

    def score(x: Array) -> LogProb:
        return score_rows(of_block, x, num_classes, zeros=zeros is not None, single=False, threads=True)

    return score


def _by_place(table: Array) -> Array:
    """[K, S] as [S, K], whose rows lie in one piece in memory: else a loop takes half as long again."""
    return np.ascontiguousarray(table.T, np.float64)


@compiled_unless_few
def _look_up(cells: Array, starts: Array, table: Array) -> Array:
    out = np.zeros((cells.shape[0], table.shape[1]))
    for n in range(cells.shape[0]):
        for d in range(cells.shape[1]):
            if 0 <= cells[n, d] < starts[d + 1] - starts[d]:
                place = starts[d] + np.int64(cells[n, d])
                for k in range(out.shape[1]):
                    out[n, k] += table[place, k]
    return out


def _gather(table: Array, coded: Codes) -> Array:
    """The sums of table entries, column by column, so that the working set is [N, K]."""
    # under jit an index out of range is clamped and -1 wraps around: places of missing cells are masked
    places, seen = coded.places()
    seen = jnp.ones(places.shape, bool) if seen is None else seen

    def add(total: Array, column: tuple[Array, Array]) -> tuple[Array, None]:
        place, observed = column
        return total + jnp.where(observed[:, None], table.T[place], 0), None

    start = jnp.zeros((places.shape[0], table.shape[0]), jnp.result_type(float))
    if not table.shape[1]:  # a scan over no columns would still be compiled to read the empty table
        return start
    return jax.lax.scan(add, start, (places.T, seen.T))[0]
