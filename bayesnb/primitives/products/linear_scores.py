"""Row features times class coefficients: BLAS by blocks of rows on the host, one product on a device."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array, namespace, on_host
from bayesnb.arrays.sparse import is_sparse
from bayesnb.arrays.threads import row_blocks
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products.blockwise import PRECISE_CELL, in_precision, score_rows, single_precision
from bayesnb.primitives.products.loops import multiply_stored
from bayesnb.primitives.scoring import Score


class Linear(NamedTuple):
    """log p(x_d | k) = offset_kd + sum_f weights_f[k, d] · feature_f(x_d), every array [K, D] and finite.

    Without an ``offset`` it is 0. ``zeros`` and ``zero_offset`` count zero factors in the same way, where a feature is
    positive. Features are computed from x - ``centre`` [D]. ``condition`` is the largest of the terms that cancel,
    relative to the result's scale.
    """

    coefficients: tuple[Array, ...]
    offset: Array | None = None
    zeros: tuple[Array, ...] | None = None
    zero_offset: Array | None = None
    centre: Array | None = None
    condition: Array | None = None


WIDENED_BYTES = 1 << 19
"""Bytes of rows converted to the coefficients' dtype at a time; their product then stays in cache too."""

WIDENED_ROWS = 256
"""The smallest number of rows converted at a time: the coefficients are read again for every such block."""


class Featured(Protocol):
    """What a product needs of a family."""

    def seen(self, x: Array) -> Array | None:
        """False for missing cells, [N, D]; None if it is known that there are none."""

    def features(self, x: Array) -> tuple[Array, ...]:
        """Row features [N, D]."""


def linear(family: Featured, table: Linear, direct: Callable[[Array], Array] | None = None) -> Score:
    """A function that scores rows by the product, [N, K], or by the jitted sum ``direct`` if that would lose digits."""
    host = _on_host(family, table, direct) if on_host(table) else None

    def score(x: Array) -> LogProb:
        return host(x) if host is not None and on_host(x) else _on_device(family, table, direct, jnp.asarray(x))

    return score


def linear_terms(family: Featured, table: Linear, x: Array) -> LogProb:
    """The terms of the product, column by column, [N, K, D]. Pure JAX."""

    def terms(features: tuple[Array, ...], weights: tuple[Array, ...], offset: Any, seen: Array | None) -> Array:
        total = 0.0 if offset is None else offset[None]
        total = total if seen is None else jnp.where(seen[:, None, :], total, 0.0)
        for feature, weight in zip(features, weights, strict=True):
            total = total + feature[:, None, :] * weight[None]
        return total

    return _product(family, table, x, terms)


def _on_device(family: Featured, table: Linear, direct: Callable[[Array], Array] | None, x: Array) -> LogProb:
    floating = jnp.issubdtype(x.dtype, jnp.inexact)
    x = x.astype(jnp.promote_types(x.dtype, jnp.float32) if floating else jnp.result_type(float))
    table = jax.tree.map(lambda a: jnp.asarray(a, x.dtype), table)
    product = _product(family, table, x, partial(_weigh, partial(jnp.matmul, precision="highest")))
    if direct is None or table.condition is None:
        return product
    precise = table.condition * jnp.finfo(x.dtype).eps < PRECISE_CELL
    good = precise & jnp.isfinite(product.finite).all()
    finite = jax.lax.cond(good, lambda _: product.finite, lambda x: direct(x).astype(x.dtype), x)
    return LogProb(finite, product.zeros)


def _on_host(family: Featured, table: Linear, direct: Callable[[Array], Array] | None) -> Score:
    if table.zeros is not None and not any(np.any(z) for z in jax.tree.leaves((table.zeros, table.zero_offset))):
        table = table._replace(zeros=None, zero_offset=None)
    single = single_precision(table.condition)
    # products use the transposes of coefficients, which this order makes contiguous in memory
    tables = in_precision(table, order="F")

    def of_block(block: Array, dtype: Any) -> LogProb:
        rows = block
        # features of integers are exact: the product widens them, and stored cells too
        if not is_sparse(block) and block.dtype.kind not in "iu":
            rows = block.astype(np.uint8 if block.dtype == bool else dtype, copy=False)
        part = _product(family, tables(dtype), rows, partial(_weigh, _host_matmul))
        if direct is not None and dtype is np.float64 and not np.isfinite(part.finite).all():
            return LogProb(direct(block), part.zeros)
        return part

    def score(x: Array) -> LogProb:
        return score_rows(
            of_block, x, len(table.coefficients[0]), zeros=table.zeros is not None, single=single, threads=True
        )

    return score


def _host_matmul(a: Array, b: Array) -> Array:
    """a @ b; rows of another dtype than b's are widened some at a time, so that the copy stays in cache.

    A prediction from 200,000 rows of 100 uint8 cells takes 0.7 of the time with a conversion of all rows.
    """
    if is_sparse(a):
        return multiply_stored(a, b)
    if a.dtype == b.dtype:
        return a @ b
    out = np.empty((len(a), b.shape[1]), b.dtype)
    row_bytes = b.itemsize * a.shape[1]
    for rows in row_blocks(len(a), row_bytes, WIDENED_ROWS * row_bytes, WIDENED_BYTES):
        np.matmul(a[rows].astype(b.dtype), b, out=out[rows])
    return out


def _product(family: Featured, table: Linear, x: Array, weigh: Callable[..., Array]) -> LogProb:
    seen = family.seen(x)
    z = x if table.centre is None else x - table.centre
    if seen is not None:
        z = namespace(z).where(seen, z, 0)
    features = family.features(z)
    finite = weigh(features, table.coefficients, table.offset, seen)
    if table.zeros is None:
        return LogProb(finite, None)
    positive = tuple((f > 0).astype(finite.dtype) for f in features)
    return LogProb(finite, weigh(positive, table.zeros, table.zero_offset, seen))


def _weigh(
    matmul: Any, features: tuple[Array, ...], coefficients: tuple[Array, ...], offset: Array | None, seen: Array | None
) -> Array:
    parts = [matmul(feature, weight.T) for feature, weight in zip(features, coefficients, strict=True)]
    if offset is not None:
        whole = offset.sum(axis=1)[None] if seen is None else matmul(seen.astype(offset.dtype), offset.T)
        parts.insert(0, whole)
    return reduce(operator.add, parts)
