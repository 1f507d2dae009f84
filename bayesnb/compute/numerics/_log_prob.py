"""Log probabilities that count impossible events instead of losing them.

A product of likelihoods is kept as 0^zeros · exp(finite): ``zeros`` counts the factors that are exactly zero and
``finite`` is the log of all the others. Its logarithm is -inf if zeros > 0, so an impossible class never beats a
possible one, no 0 · (-inf) ever arises, and a row that is impossible under *every* class can still be ranked: fewest
impossible features first, then the finite part.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import jax
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, namespace, on_host

NO_CLASS = 1e9
"""A class of probability zero counts as this many impossible features: more than any row has."""


class LogProb(NamedTuple):
    """The number 0^zeros · exp(finite), elementwise; both arrays have one shape, [N, K] for a table of classes.

    ``zeros`` is None if it is known that no factor is zero.
    """

    finite: Array
    zeros: Array

    @classmethod
    def of(cls, logs: Array) -> LogProb:
        """The numbers with these logarithms, numpy's, each -inf as one zero factor."""
        never = np.isneginf(logs)
        return cls(np.where(never, 0.0, logs), never.astype(float))

    def times(self, *others: LogProb) -> LogProb:
        """The product of these probabilities."""
        return reduce(lambda a, b: LogProb(a.finite + b.finite, _add(a.zeros, b.zeros)), others, self)

    def plus(self, other: LogProb) -> LogProb:
        """The sum of two probabilities; if their numbers of zeros differ, only the one with fewer counts."""
        if self.zeros is None and other.zeros is None:
            return LogProb(either.logaddexp(self.finite, other.finite), None)
        ours, theirs = (either.zeros_like(p.finite) if p.zeros is None else p.zeros for p in (self, other))
        fewest = either.minimum(ours, theirs)
        here = either.where(ours == fewest, self.finite, -np.inf)
        there = either.where(theirs == fewest, other.finite, -np.inf)
        return LogProb(either.logaddexp(here, there), fewest)

    def log(self) -> Array:
        """The logarithm, -inf if impossible."""
        return self.finite if self.zeros is None else either.where(self.zeros > 0, -np.inf, self.finite)

    def normalise(self) -> Array:
        """The logarithm of each entry's share of its row: log p / sum_k p, along the last axis. Never NaN."""
        return self._host_shares(logs=True) if on_host(self) else jax.nn.log_softmax(self.contenders())

    def shares(self) -> Array:
        """Each entry's share of its row, p / sum_k p, along the last axis. Never NaN."""
        return self._host_shares(logs=False) if on_host(self) else jax.nn.softmax(self.contenders())

    def best(self) -> Array:
        """The index of the largest entry in each row."""
        return self.contenders().argmax(axis=-1)

    def contenders(self) -> Array:
        """``finite``, or -inf for entries with more zeros than the best of their row."""
        if self.zeros is None:
            return self.finite
        fewest = self.zeros.min(axis=-1, keepdims=True)
        return either.where(self.zeros == fewest, self.finite, -np.inf)

    def _host_shares(self, *, logs: bool) -> Array:
        """The shares of numpy rows, or their logarithms, in threads."""
        shape = self.finite.shape
        flat = LogProb(*(None if part is None else part.reshape(-1, shape[-1]) for part in self))
        out = np.empty(flat.finite.shape)

        def block(rows: slice) -> None:
            part = LogProb(*(None if part is None else part[rows] for part in flat))
            with np.errstate(under="ignore", invalid="ignore"):
                table = np.ascontiguousarray(part.contenders().T, dtype=np.float64)  # numpy is slow along short rows
                table = table - table.max(axis=0)
                odds = np.exp(table)
                total = odds.sum(axis=0)
                out[rows] = (table - np.log(total) if logs else odds / total).T

        in_threads(block, row_blocks(len(out), out.itemsize * shape[-1], block_bytes=limits.IN_CACHE))
        return out.reshape(shape)


def _add(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def joint(probs: Array, parts: Sequence[LogProb]) -> LogProb:
    """log pi_k plus the parts. A class of probability zero ranks below any combination of impossible features."""
    rows, impossible = LogProb.times(*parts), probs == 0
    if on_host(probs) and not impossible.any():  # under jit, XLA would take seconds to fold a table of zeros
        return rows.times(LogProb(np.log(probs)[None, :], None))
    log_probs = either.log(either.where(impossible, 1.0, probs))
    # of the kind of the rows, whose number is a symbol where a function is exported
    never = namespace(rows.finite).broadcast_to(NO_CLASS * impossible[None, :], rows.finite.shape)
    return rows.times(LogProb(log_probs[None, :], never))


def logsumexp(x: Array) -> Array:
    """log sum exp along the last axis, -inf for a row of -inf."""
    top = x.max(axis=-1, keepdims=True)
    top = either.where(either.isfinite(top), top, 0.0)
    total = either.exp(x - top).sum(axis=-1)
    positive = total > 0
    # the inner where keeps the gradient of an impossible row finite
    return either.where(positive, either.log(either.where(positive, total, 1.0)) + top[..., 0], -np.inf)
