"""Tables looked up by the codes of cells: a sparse product on the host, a gather on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.arrays import Array, on_host
from bayesnb.log_prob import LogProb
from bayesnb.products.rows import scored

Codes = Callable[[Array], tuple[Array, Array | None]]
"""Positions [N, D] of cells in a table, and which cells are observed; None where all are."""


def lookup(codes: Codes, table: LogProb) -> Callable[[Array], LogProb]:
    """sum_d table[k, codes(x)_nd], [N, K]: codes index columns of tables [K, S]; unseen cells contribute nothing."""
    host = _on_host(codes, table) if on_host(table) else None

    def score(x: Array) -> LogProb:
        if host is not None and on_host(x):
            return host(x)
        where, seen = codes(x)
        return jax.tree.map(lambda part: _gather(jnp.asarray(part), where, seen), table)

    return score


def _on_host(codes: Codes, table: LogProb) -> Callable[[Array], LogProb]:
    finite = np.ascontiguousarray(table.finite.T, dtype=np.float64)
    impossible = table.zeros is not None and table.zeros.any()
    zeros = np.ascontiguousarray(table.zeros.T, dtype=np.float64) if impossible else None

    def of_block(block: Array, _: Any) -> LogProb:
        one_hot = _one_hot(*codes(block), len(finite))
        return LogProb(one_hot @ finite, None if zeros is None else one_hot @ zeros)

    def score(x: Array) -> LogProb:
        return scored(of_block, x, finite.shape[1], zeros=zeros is not None, single=False, threads=True)

    return score


def _one_hot(codes: Array, seen: Array | None, size: int) -> Any:
    """Sparse rows with a one for every observed cell, [N, S]."""
    rows, columns = codes.shape
    flat = codes.reshape(-1) if seen is None else codes[seen]
    counts = np.full(rows, columns) if seen is None else seen.sum(axis=1)
    pointers = np.concatenate([[0], np.cumsum(counts)])
    kind = np.int32 if flat.size < np.iinfo(np.int32).max else np.int64
    parts = (np.ones(flat.size), flat.astype(kind, copy=False), pointers.astype(kind))
    return scipy.sparse.csr_array(parts, shape=(rows, size))


def _gather(table: Array, codes: Array, seen: Array | None) -> Array:
    """Column by column, so that the working set is [N, K]."""
    seen = jnp.ones(codes.shape, bool) if seen is None else seen
    # under jit an index out of range is clamped and -1 wraps around: mask before indexing
    codes = jnp.where(seen, codes, 0)

    def add(total: Array, column: tuple[Array, Array]) -> tuple[Array, None]:
        code, observed = column
        return total + jnp.where(observed[:, None], table.T[code], 0), None

    start = jnp.zeros((codes.shape[0], table.shape[0]), jnp.result_type(float))
    return jax.lax.scan(add, start, (codes.T, seen.T))[0]
