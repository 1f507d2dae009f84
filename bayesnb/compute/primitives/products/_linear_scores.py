"""Scores of rows: features times class coefficients, block by block on the host, and by one product on a device.

On the host they are computed in single precision where that is enough.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._cells import bytes_per_row, is_sparse, part_of
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._loops import compiled, for_loops, in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, namespace, on_host
from bayesnb.compute.numerics._log_prob import LogProb

Score = Callable[[Any], LogProb]
"""A function from rows, an array or arrays by block, to their scores [N, K]; without the base measure."""


class Scoring(ABC):
    """A pytree of hyperparameters that scores checked rows, given parameters or with the parameters integrated out."""

    @abstractmethod
    def likelihood_tables(self, params: Any) -> Any:
        """Tables computed from the parameters, from which rows are scored. Pure JAX."""

    @abstractmethod
    def likelihood_scorer(self, tables: Any) -> Score:
        """The function that scores rows given the ``likelihood_tables`` of the parameters."""

    def log_likelihood(self, params: Any, x: Any) -> LogProb:
        """The scores of rows given the parameters, [N, K]."""
        return prepare_likelihood(self, params)(x)

    @abstractmethod
    def predictive_tables(self) -> Any:
        """Tables computed from the hyperparameters, for scores with the parameters integrated out. Pure JAX."""

    @abstractmethod
    def predictive_scorer(self, tables: Any) -> Score:
        """The function that scores rows given the ``predictive_tables``."""

    def log_predictive(self, x: Any) -> LogProb:
        """The scores of rows with the parameters integrated out, [N, K]."""
        return prepare_predictive(self)(x)


def prepare_likelihood(one: Scoring, params: Any) -> Score:
    """The function that scores rows given the parameters; their tables are computed here."""
    return one.likelihood_scorer(likelihood_tables(one, params))


def likelihood_tables(one: Scoring, params: Any) -> Any:
    """The ``likelihood_tables`` of parameters, computed in one compiled call, for numpy's in float64 on the host."""
    return compute(_likelihood_tables, one, params)


def prepare_predictive(one: Scoring) -> Score:
    """The function that scores rows with the parameters integrated out; its tables are computed here."""
    return one.predictive_scorer(predictive_tables(one))


def predictive_tables(one: Scoring) -> Any:
    """The ``predictive_tables`` of hyperparameters, in one compiled call; for numpy's in float64 on the host."""
    return compute(_predictive_tables, one)


# each one object, so that few programs are compiled
_likelihood_tables = jax.jit(lambda one, params: one.likelihood_tables(params))
_predictive_tables = jax.jit(lambda one: one.predictive_tables())


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
    return condition is None or bool(condition * SINGLE_EPS < limits.PRECISE_CELL)


def centre_of(loc: Array) -> Array:
    """The mean of the classes [K, D], rounded to float32, so that rows of either precision are shifted alike."""
    # not a conversion and back: XLA may leave the two out for one use of the number and not for another
    centre = jax.lax.reduce_precision(loc.mean(axis=0, keepdims=True), exponent_bits=8, mantissa_bits=23)
    return jnp.where(jnp.isfinite(centre), centre, 0.0)


def score_rows(
    score: Callable[[Array, Any], LogProb], x: Array, num_classes: int, *, zeros: bool = False, single: bool = False
) -> LogProb:
    """Scores [N, K] of numpy rows, block by block in threads by ``score(block, dtype)``, with zeros or without.

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
            if single and not np.abs(part.finite).max(initial=0.0) * SINGLE_EPS < limits.PRECISE_ROW:
                part = score(part_of(x, rows), np.float64)
        out.finite[rows] = part.finite
        if out.zeros is not None:
            out.zeros[rows] = part.zeros

    block_bytes = limits.SPARSE_BLOCK_BYTES if is_sparse(x) else None
    row_bytes = bytes_per_row(x) * max(1, 4 // x.dtype.itemsize)
    in_threads(block, row_blocks(x.shape[0], row_bytes, block_bytes=block_bytes))
    return out


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


def linear(family: Any, table: Linear, direct: Callable[[Array], Array] | None = None) -> Score:
    """A function that scores rows by the product, [N, K], or by the jitted sum ``direct`` if that would lose digits.

    The ``family`` has the row ``features``, and says which cells are ``seen``.
    """
    host = _on_host(family, table, direct) if on_host(table) else None

    def score(x: Array) -> LogProb:
        return host(x) if host is not None and on_host(x) else _on_device(family, table, direct, jnp.asarray(x))

    return score


def linear_terms(family: Any, table: Linear, x: Array) -> LogProb:
    """The terms of the product, column by column, [N, K, D]. Pure JAX."""

    def terms(features: tuple[Array, ...], weights: tuple[Array, ...], offset: Any, seen: Array | None) -> Array:
        total = 0.0 if offset is None else offset[None]
        total = total if seen is None else jnp.where(seen[:, None, :], total, 0.0)
        for feature, weight in zip(features, weights, strict=True):
            total = total + feature[:, None, :] * weight[None]
        return total

    return _product(family, table, x, terms)


def _on_device(family: Any, table: Linear, direct: Callable[[Array], Array] | None, x: Array) -> LogProb:
    floating = jnp.issubdtype(x.dtype, jnp.inexact)
    x = x.astype(jnp.promote_types(x.dtype, jnp.float32) if floating else jnp.result_type(float))
    table = jax.tree.map(lambda a: jnp.asarray(a, x.dtype), table)
    product = _product(family, table, x, partial(_weigh, partial(jnp.matmul, precision="highest")))
    if direct is None or table.condition is None:
        return product
    precise = table.condition * jnp.finfo(x.dtype).eps < limits.PRECISE_CELL
    good = precise & jnp.isfinite(product.finite).all()
    finite = jax.lax.cond(good, lambda _: product.finite, lambda x: direct(x).astype(x.dtype), x)
    return LogProb(finite, product.zeros)


def _on_host(family: Any, table: Linear, direct: Callable[[Array], Array] | None) -> Score:
    if table.zeros is not None and not any(np.any(z) for z in jax.tree.leaves((table.zeros, table.zero_offset))):
        table = table._replace(zeros=None, zero_offset=None)
    single = single_precision(table.condition)
    # converted on first use; products use the transposes of coefficients, which order F makes contiguous in memory
    tables = cache(lambda dtype: jax.tree.map(lambda a: a.astype(dtype, "F", copy=False), table))

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
        return score_rows(of_block, x, len(table.coefficients[0]), zeros=table.zeros is not None, single=single)

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
    for rows in row_blocks(len(a), row_bytes, limits.WIDENED_ROWS * row_bytes, limits.IN_CACHE):
        np.matmul(a[rows].astype(b.dtype), b, out=out[rows])
    return out


def _product(family: Any, table: Linear, x: Array, weigh: Callable[..., Array]) -> LogProb:
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


def multiply_stored(x: Any, coefficients: Array) -> Array:
    """x @ coefficients [D, K] in float64, for a sparse matrix [N, D]."""
    out = np.zeros((x.shape[0], coefficients.shape[1]))
    _add_products(for_loops(x.data), x.indices, x.indptr, np.ascontiguousarray(coefficients), out)
    return out


@compiled
def _add_products(cells: Array, columns: Array, pointers: Array, coefficients: Array, out: Array) -> None:
    for n in range(out.shape[0]):
        for cell in range(pointers[n], pointers[n + 1]):
            value, d = np.float64(cells[cell]), np.uintp(columns[cell])
            for k in range(out.shape[1]):
                out[n, k] += value * coefficients[d, k]
