"""Row features times class weights, the one primitive of prediction; predictives that are no product go by blocks.

Families say what the features and weights are and know neither body: numpy and BLAS by blocks of rows on the host,
JAX on a device. A missing cell contributes nothing; a zero probability is counted beside the finite part (see
``log_prob``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.arrays import Array, at_once, map_blocks, namespace, on_host, row_blocks
from bayesnb.log_prob import LogProb

PRECISE_CELL = 1e-5
"""Nats a cell that a product may lose to cancellation before it is done in another way."""

PRECISE_ROW = 1e-3
"""Nats a row that float32 may lose to rounding before numpy rows are done in float64."""


class Linear(NamedTuple):
    """log p(x_d | k) = offset_kd + sum_f weights_f[k, d] · feature_f(x_d), every array [K, D] and finite.

    ``zeros`` and ``zero_offset`` count zero factors in the same way, where a feature is positive. Features are formed
    from x - ``centre`` [D]. ``condition`` is the largest of the terms that cancel, relative to the result's scale.
    """

    weights: tuple[Array, ...]
    offset: Array
    zeros: tuple[Array, ...] | None = None
    zero_offset: Array | None = None
    centre: Array | None = None
    condition: Array | None = None


class Featured(Protocol):
    """What a family shows to a product."""

    def seen(self, x: Array) -> Array | None:
        """False for missing cells."""

    def features(self, x: Array) -> tuple[Array, ...]:
        """Row features [N, D]."""


def linear(family: Featured, table: Linear, x: Array, direct: Callable[[Array], Array] | None = None) -> LogProb:
    """The product, [N, K]; ``direct`` is the jitted sum without the product, for where that would lose digits."""
    if on_host(x, table):
        return _host_linear(family, table, x, direct)
    x = jnp.asarray(x)
    floating = jnp.issubdtype(x.dtype, jnp.inexact)
    x = x.astype(jnp.promote_types(x.dtype, jnp.float32) if floating else jnp.result_type(float))
    table = jax.tree.map(lambda a: jnp.asarray(a, x.dtype), table)
    product = _product(family, table, x, partial(_weigh, _device_matmul))
    if direct is None or table.condition is None:
        return product
    precise = table.condition * jnp.finfo(x.dtype).eps < PRECISE_CELL
    good = precise & jnp.isfinite(product.finite).all()
    finite = jax.lax.cond(good, lambda _: product.finite, lambda x: direct(x).astype(x.dtype), x)
    return LogProb(finite, product.zeros)


def linear_terms(family: Featured, table: Linear, x: Array) -> LogProb:
    """The terms of the product, column by column, [N, K, D]. Pure JAX."""
    return _product(family, table, x, _terms)


def _terms(features: tuple[Array, ...], weights: tuple[Array, ...], offset: Array, seen: Array | None) -> Array:
    total = offset[None] if seen is None else jnp.where(seen[:, None, :], offset[None], 0.0)
    for feature, weight in zip(features, weights, strict=True):
        total = total + feature[:, None, :] * weight[None]
    return total


def _device_matmul(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision="highest")


def _host_linear(family: Featured, table: Linear, x: Array, direct: Callable[[Array], Array] | None) -> LogProb:
    if table.zeros is not None and not any(np.any(z) for z in (*table.zeros, table.zero_offset)):
        table = table._replace(zeros=None, zero_offset=None)
    eps = np.finfo(np.float32).eps
    single = x.dtype == np.float32 and (table.condition is None or table.condition * eps < PRECISE_CELL)
    tables = {dtype: jax.tree.map(lambda a, dtype=dtype: a.astype(dtype), table) for dtype in (np.float32, np.float64)}
    shape = (x.shape[0], table.offset.shape[0])
    out = LogProb(np.empty(shape), np.zeros(shape))

    def product(rows: slice, dtype: Any) -> LogProb:
        with np.errstate(over="ignore", invalid="ignore"):
            return _product(family, tables[dtype], x[rows].astype(dtype, copy=False), partial(_weigh, np.matmul))

    def score(rows: slice) -> None:
        block = product(rows, np.float32 if single else np.float64)
        if single and not np.abs(block.finite).max(initial=0.0) * eps < PRECISE_ROW:
            block = product(rows, np.float64)
        if direct is not None and not np.isfinite(block.finite).all():
            block = LogProb(direct(x[rows]), block.zeros)
        out.finite[rows], out.zeros[rows] = block

    map_blocks(score, row_blocks(x.shape[0], x.shape[1] * x.itemsize))
    return out


def _product(family: Featured, table: Linear, x: Array, weigh: Callable[..., Array]) -> LogProb:
    seen = family.seen(x)
    z = x if table.centre is None else x - table.centre
    if seen is not None:
        z = namespace(z).where(seen, z, 0)
    features = family.features(z)
    finite = weigh(features, table.weights, table.offset, seen)
    if table.zeros is None:
        return LogProb(finite, namespace(finite).zeros_like(finite))
    positive = tuple((f > 0).astype(finite.dtype) for f in features)
    return LogProb(finite, weigh(positive, table.zeros, table.zero_offset, seen))


def _weigh(
    matmul: Any, features: tuple[Array, ...], weights: tuple[Array, ...], offset: Array, seen: Array | None
) -> Array:
    total = offset.sum(axis=1)[None] if seen is None else matmul(seen.astype(offset.dtype), offset.T)
    for feature, weight in zip(features, weights, strict=True):
        total = total + matmul(feature, weight.T)
    return total


def lookup(codes: Array, seen: Array | None, table: LogProb) -> LogProb:
    """sum_d table[k, codes_nd], [N, K]: codes index the columns of tables [K, S]; unseen cells contribute nothing."""
    if not on_host(codes, table):
        return LogProb(*(_gather(jnp.asarray(part), codes, seen) for part in table))
    one_hot = _one_hot(codes, seen, table.finite.shape[1])
    finite, zeros = (np.ascontiguousarray(part.T, dtype=np.float64) for part in table)
    return LogProb(one_hot @ finite, one_hot @ zeros if zeros.any() else np.zeros((len(codes), zeros.shape[1])))


def _one_hot(codes: Array, seen: Array | None, size: int) -> Any:
    """Sparse rows with a one for every observed cell, [N, S]."""
    rows, columns = codes.shape
    flat = codes.reshape(-1) if seen is None else codes[seen]
    counts = np.full(rows, columns) if seen is None else seen.sum(axis=1)
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return scipy.sparse.csr_array((np.ones(flat.size), flat.astype(np.int64), pointers), shape=(rows, size))


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


def of_counts(terms: Callable[[Any, Array], Array], family: Any, x: Array) -> Array:
    """sum_d terms(family, x)[n, k, d], [N, K], of jitted terms that are 0 where a cell is 0 or NaN.

    On the host each count of a column is evaluated once and looked up, where cells are whole and repeat themselves.
    """
    if on_host(family, x):
        cells = scipy.sparse.csr_array(np.nan_to_num(x))
        most, columns = int(cells.data.max(initial=0)), x.shape[1]
        if 0 < 2 * most * columns <= cells.data.size and (np.floor(cells.data) == cells.data).all():
            codes = cells.data.astype(np.int64)
            table = by_rows(terms, (family,), np.repeat(np.arange(1.0, most + 1)[:, None], columns, axis=1))
            index = cells.indices + columns * (codes - 1)
            chosen = scipy.sparse.csr_array((np.ones(codes.size), index, cells.indptr), (len(x), most * columns))
            return chosen @ np.ascontiguousarray(np.moveaxis(table, 1, 2)).reshape(most * columns, -1)
    return by_rows(_total, (jax.tree_util.Partial(terms, family),), x)


@jax.jit
def _total(terms: Callable[[Array], Array], x: Array) -> Array:
    return terms(x).sum(axis=-1)


def by_rows(function: Callable[..., Any], args: tuple[Any, ...], x: Any) -> Any:
    """``function(*args, x)`` for a jitted function of rows, whose results have rows on their first axis.

    On the host it runs in float64 on blocks of rows, the last one padded to a power of two: a new number of rows
    compiles nothing anew beyond a few sizes, and the working set is bounded. ``x`` is an array or a pytree of arrays
    [N, ...].
    """
    if not on_host(args, x):
        return function(*args, x)
    leaves = jax.tree.leaves(x)
    num_rows = leaves[0].shape[0]
    row_bytes = sum(8 * int(np.prod(leaf.shape[1:])) for leaf in leaves)
    parts = []
    for rows in row_blocks(num_rows, row_bytes) if num_rows else [slice(0, 0)]:
        size = rows.stop - rows.start
        answer = at_once(function, *args, jax.tree.map(lambda a, rows=rows: _padded(a[rows]), x))
        parts.append(jax.tree.map(lambda a, size=size: a[:size], answer))
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *pieces: np.concatenate(pieces), *parts)


def summed(terms: str, family: Any, rows: tuple[Array, ...]) -> Array:
    """A method of a family that gives terms [N, ..., D], by its name, summed over columns; on the host by blocks."""
    return by_rows(partial(_summed, terms), (family,), rows)


@partial(jax.jit, static_argnums=0)
def _summed(terms: str, family: Any, rows: tuple[Array, ...]) -> Array:
    return getattr(family, terms)(*rows).sum(axis=-1)


def _padded(rows: Array) -> Array:
    """More rows, up to a power of two and at least 16."""
    size = rows.shape[0]
    padded = np.zeros((1 << max(size - 1, 15).bit_length(), *rows.shape[1:]), rows.dtype)
    padded[:size] = rows
    return padded
