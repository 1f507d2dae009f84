"""Log probabilities that count impossible events instead of losing them.

A product of likelihoods is kept as 0^zeros · exp(finite): ``zeros`` counts the factors that are exactly zero and
``finite`` is the log of all the others. Its logarithm is -inf if zeros > 0, so an impossible class never beats a
possible one, no 0 · (-inf) ever arises, and a row that is impossible under *every* class can still be ranked: fewest
impossible features first, then the finite part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import jax
import numpy as np

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.placement import Array, namespace, on_host
from bayesnb.arrays.threads import in_threads, row_blocks


class LogProb(NamedTuple):
    """The number 0^zeros · exp(finite), elementwise; both arrays have one shape, [N, K] for a table of classes.

    ``zeros`` is None if it is known that no factor is zero.
    """

    finite: Array
    zeros: Array

    def times(self, *others: LogProb) -> LogProb:
        """The product of these probabilities."""
        return reduce(lambda a, b: LogProb(a.finite + b.finite, _add(a.zeros, b.zeros)), others, self)

    def plus(self, other: LogProb) -> LogProb:
        """The sum of two probabilities; if their numbers of zeros differ, only the one with fewer counts."""
        xp = namespace(self.finite)
        zeros = xp.minimum(self.zeros, other.zeros)
        here, there = (xp.where(p.zeros == zeros, p.finite, -xp.inf) for p in (self, other))
        return LogProb(xp.logaddexp(here, there), zeros)

    def log(self) -> Array:
        """The logarithm, -inf if impossible."""
        xp = namespace(self.finite)
        return self.finite if self.zeros is None else xp.where(self.zeros > 0, -xp.inf, self.finite)

    def normalise(self) -> Array:
        """The logarithm of each entry's share of its row: log p / sum_k p, along the last axis. Never NaN."""
        return self._in_blocks(_write_log_shares) if on_host(self) else jax.nn.log_softmax(self.contenders())

    def shares(self) -> Array:
        """Each entry's share of its row, p / sum_k p, along the last axis. Never NaN."""
        return self._in_blocks(_write_shares) if on_host(self) else jax.nn.softmax(self.contenders())

    def best(self) -> Array:
        """The index of the largest entry in each row."""
        return self.contenders().argmax(axis=-1)

    def contenders(self) -> Array:
        """``finite``, or -inf for entries with more zeros than the best of their row."""
        if self.zeros is None:
            return self.finite
        fewest = self.zeros.min(axis=-1, keepdims=True)
        return namespace(self.finite).where(self.zeros == fewest, self.finite, -np.inf)

    def _in_blocks(self, write: Callable[[Array, Array], None]) -> Array:
        """The output of ``write`` for the contenders of numpy rows, in threads; classes are on the last axis."""
        shape = self.finite.shape
        flat = LogProb(*(None if part is None else part.reshape(-1, shape[-1]) for part in self))
        out = np.empty(flat.finite.shape)

        def block(rows: slice) -> None:
            part = LogProb(*(None if part is None else part[rows] for part in flat))
            with np.errstate(under="ignore"):
                write(np.ascontiguousarray(part.contenders(), dtype=np.float64), out[rows])

        in_threads(block, row_blocks(len(out), out.itemsize * shape[-1], block_bytes=CACHED_BYTES))
        return out.reshape(shape)


CACHED_BYTES = 1 << 20
"""Bytes of a table that stay in cache together with a copy."""


def _write_log_shares(contenders: Array, out: Array) -> None:
    """As ``jax.nn.log_softmax``: loops for rows of few classes, on which numpy is slow, but its vectorised exp."""
    _subtract_largest(contenders, out)
    _subtract(out, np.log(_row_sums(np.exp(out))))


def _write_shares(contenders: Array, out: Array) -> None:
    """As ``jax.nn.softmax``."""
    _subtract_largest(contenders, out)
    np.exp(out, out=out)
    _divide(out, _row_sums(out))


@compiled
def _subtract_largest(table: Array, out: Array) -> None:
    for n in range(table.shape[0]):
        largest = table[n, 0]
        for k in range(1, table.shape[1]):
            largest = table[n, k] if table[n, k] > largest else largest
        for k in range(table.shape[1]):
            out[n, k] = table[n, k] - largest


@compiled
def _row_sums(odds: Array) -> Array:
    sums = np.zeros(odds.shape[0])
    for n in range(odds.shape[0]):
        for k in range(odds.shape[1]):
            sums[n] += odds[n, k]
    return sums


@compiled
def _subtract(out: Array, of_rows: Array) -> None:
    for n in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[n, k] -= of_rows[n]


@compiled
def _divide(out: Array, of_rows: Array) -> None:
    for n in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[n, k] /= of_rows[n]


def _add(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def logsumexp(x: Array) -> Array:
    """log sum exp along the last axis, -inf for a row of -inf."""
    xp = namespace(x)
    top = xp.max(x, axis=-1, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.sum(xp.exp(x - top), axis=-1)
    positive = total > 0
    # the inner where keeps the gradient of an impossible row finite
    return xp.where(positive, xp.log(xp.where(positive, total, 1.0)) + top[..., 0], -xp.inf)
