"""Log probabilities in which an impossible event is counted, not lost.

A product of likelihoods is kept as 0^zeros · exp(finite): ``zeros`` counts the factors that are exactly zero and
``finite`` is the log of all the others. Its logarithm is -inf where zeros > 0, so an impossible class never beats a
possible one, no 0 · (-inf) ever arises, and a row that is impossible under *every* class can still be ranked: fewest
impossible features first, then the finite part.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from bayesnb.arrays import Array, namespace


class LogProb(NamedTuple):
    """The number 0^zeros · exp(finite), elementwise; both arrays have one shape, [N, K] for a table of classes."""

    finite: Array
    zeros: Array

    def times(self, *others: LogProb) -> LogProb:
        """The product of these probabilities."""
        return reduce(lambda a, b: LogProb(a.finite + b.finite, a.zeros + b.zeros), others, self)

    def plus(self, other: LogProb) -> LogProb:
        """The sum of two probabilities; where the numbers of zeros differ the smaller number wins outright."""
        xp = namespace(self.finite)
        zeros = xp.minimum(self.zeros, other.zeros)
        here, there = (xp.where(p.zeros == zeros, p.finite, -xp.inf) for p in (self, other))
        return LogProb(xp.logaddexp(here, there), zeros)

    def log(self) -> Array:
        """The logarithm, -inf where impossible."""
        xp = namespace(self.finite)
        return xp.where(self.zeros > 0, -xp.inf, self.finite)

    def normalised(self) -> Array:
        """The logarithm of each entry's share of its row: log p / sum_k p, along the last axis. Never NaN."""
        xp = namespace(self.finite)
        fewest = xp.min(self.zeros, axis=-1, keepdims=True)
        contenders = xp.where(self.zeros == fewest, self.finite, -xp.inf)
        # relative to the largest first: subtracting a large log of the sum at the end would lose the digits
        relative = contenders - xp.max(contenders, axis=-1, keepdims=True)
        return relative - xp.log(xp.sum(xp.exp(relative), axis=-1, keepdims=True))


def logsumexp(x: Array) -> Array:
    """log sum exp along the last axis, -inf for a row of -inf."""
    xp = namespace(x)
    top = xp.max(x, axis=-1, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.sum(xp.exp(x - top), axis=-1)
    positive = total > 0
    # the double where keeps the gradient of an impossible row finite
    return xp.where(positive, xp.log(xp.where(positive, total, 1.0)) + top[..., 0], -xp.inf)
