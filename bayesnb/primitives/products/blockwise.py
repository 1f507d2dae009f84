"""Functions of rows computed by blocks of rows: for products, and for jitted JAX on the host."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import memory
from bayesnb.arrays.host_calls import at_once
from bayesnb.arrays.placement import Array, on_host, pad_rows, padded_size
from bayesnb.arrays.sparse import STORED_BYTES, bytes_per_row, dense, is_sparse, part_of
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.numerics.log_prob import LogProb

T = TypeVar("T")

PRECISE_CELL = 1e-5
"""Nats a cell that float32, or a product, may lose to cancellation before another method is used."""

PRECISE_ROW = 1e-3
"""Nats a row that float32 may lose to rounding before numpy rows are recomputed in float64."""

FEW, FINE = 512, 32
"""Up to so many rows, which numpy mostly evaluates, blocks are padded to multiples of the second number."""

SINGLE_EPS = float(np.finfo(np.float32).eps)


def by_rows(function: Callable[..., Any], args: tuple[Any, ...], x: Any, **static: Any) -> Any:
    """``function(*args, x, **static)`` for a jitted function of rows, whose results have rows on their first axis.

    On the host it runs in float64 on blocks of rows, the last one padded, so that only a few sizes are traced or
    compiled and the working set is bounded. ``x`` is an array or a pytree of arrays [N, ...].
    """
    if not on_host(args, x):
        return function(*args, x, **static)
    leaves = jax.tree.leaves(x)
    num_rows = leaves[0].shape[0]
    row_bytes = sum(8 * int(np.prod(leaf.shape[1:])) for leaf in leaves)
    parts = []
    for rows in row_blocks(num_rows, row_bytes) if num_rows else [slice(0, 0)]:
        size = rows.stop - rows.start
        room = max(-(-size // FINE), 1) * FINE if size <= FEW else padded_size(size)
        block = jax.tree.map(lambda a, rows=rows, room=room: pad_rows(dense(part_of(a, rows)), room), x)
        answer = at_once(function, *args, block, **static)
        parts.append(jax.tree.map(lambda a, size=size: a[:size], answer))
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *pieces: np.concatenate(pieces), *parts)


def by_blocks(function: Callable[[Any], Array], x: Any, row_bytes: int, block_bytes: int) -> Array:
    """``function`` of blocks of rows, which takes ``row_bytes`` for each row: of numpy rows in threads.

    ``x`` is an array or a pytree of arrays [N, ...].
    """
    num_rows, of = jax.tree.leaves(x)[0].shape[0], lambda rows: jax.tree.map(lambda a: a[rows], x)
    if on_host(x):
        parts = in_threads(lambda rows: function(of(rows)), row_blocks(num_rows, row_bytes, block_bytes=block_bytes))
        return np.concatenate(parts) if parts else function(x)
    together = max(block_bytes // row_bytes, 1)
    if not isinstance(num_rows, int) or num_rows <= together:  # an exported function has any number of rows
        return function(x)
    return jax.lax.map(lambda row: function(jax.tree.map(lambda a: a[None], row))[0], x, batch_size=together)


def sum_terms(terms: str, family: tuple[Any, ...], rows: tuple[Array, ...]) -> Array:
    """The terms [N, ..., D] returned by the method ``terms``, summed over columns; on the host by blocks.

    ``family`` holds the family of the method, and the method's arguments before the rows.
    """
    return by_rows(_sum_terms, family, rows, terms=terms)


@partial(jax.jit, static_argnames="terms")
def _sum_terms(family: Any, *rest: Any, terms: str) -> Array:
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


def score_blocks(
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
