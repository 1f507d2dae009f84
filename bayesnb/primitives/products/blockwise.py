"""Scores of numpy rows, block by block, in single precision where that is enough; sums of terms over columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import memory
from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import STORED_BYTES, bytes_per_row, is_sparse, part_of
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.numerics.log_prob import LogProb

T = TypeVar("T")

PRECISE_CELL = 1e-5
"""Nats a cell that float32, or a product, may lose to cancellation before another method is used."""

PRECISE_ROW = 1e-3
"""Nats a row that float32 may lose to rounding before numpy rows are recomputed in float64."""

SINGLE_EPS = float(np.finfo(np.float32).eps)


@partial(jax.jit, static_argnames="terms")
def sum_terms(family: Any, *rest: Any, terms: str) -> Array:
    """The terms [N, ..., D] that the family's method of this name returns, summed over columns.

    The arguments of the method follow, the last ones, of rows, as one tuple.
    """
    *first, rows = rest
    return getattr(family, terms)(*first, *rows).sum(axis=-1)


def single_precision(condition: Array | None) -> bool:
    """True if float32 rows may be scored in float32: a value and its centre must not cancel too much."""
    return condition is None or bool(condition * SINGLE_EPS < PRECISE_CELL)


def centre_of(loc: Array) -> Array:
    """The mean of the classes [K, D], rounded to float32, so that rows of either precision are shifted alike."""
    # not a conversion and back: XLA may leave the two out for one use of the number and not for another
    centre = jax.lax.reduce_precision(loc.mean(axis=0, keepdims=True), exponent_bits=8, mantissa_bits=23)
    return jnp.where(jnp.isfinite(centre), centre, 0.0)


def in_precision(table: T, order: Literal["K", "F"] = "K") -> Callable[[Any], T]:
    """A table in float32 and in float64, each converted on first use, in the given memory order."""
    return cache(lambda dtype: jax.tree.map(lambda a: a.astype(dtype, order, copy=False), table))


def score_rows(
    score: Callable[[Array, Any], LogProb],
    x: Array,
    num_classes: int,
    *,
    zeros: bool,
    single: bool,
    threads: bool,
    block_bytes: int | None = None,
) -> LogProb:
    """Scores [N, K] of numpy rows, computed block by block by ``score(block, dtype)``, with zeros or without.

    float32 rows are scored in float32 if ``single`` allows it, and again in float64 if the rounding is too large.
    """
    shape = (x.shape[0], num_classes)
    what = f"scores of {shape[0]:,} rows and {num_classes:,} classes"
    memory.require(8 * (1 + zeros) * shape[0] * num_classes, what, "give fewer rows at once")
    out = LogProb(np.empty(shape), np.empty(shape) if zeros else None)
    single = single and x.dtype == np.float32

    def block(rows: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            part = score(part_of(x, rows), np.float32 if single else np.float64)
            if single and not np.abs(part.finite).max(initial=0.0) * SINGLE_EPS < PRECISE_ROW:
                part = score(part_of(x, rows), np.float64)
        out.finite[rows] = part.finite
        if out.zeros is not None:
            out.zeros[rows] = part.zeros

    block_bytes = STORED_BYTES if is_sparse(x) else block_bytes
    blocks = row_blocks(x.shape[0], bytes_per_row(x) * max(1, 4 // x.dtype.itemsize), block_bytes=block_bytes)
    if threads:
        in_threads(block, blocks)
    else:
        for rows in blocks:
            block(rows)
    return out
