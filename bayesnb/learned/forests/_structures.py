"""What the pairs' log ratios of a row are combined to: over all forests, in one, or over those with one common parent.

Tables [..., D, D] have parents before children. ``removed`` are the log ratios by which a row that is left out has
changed the evidence of the edges, and None for new rows. The best forest is a maximum branching of a directed graph
(Chu and Liu, On the shortest arborescence of a directed graph, 1965; Edmonds, Optimum branchings, 1967).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics._log_prob import logsumexp
from bayesnb.compute.numerics._stable import NEVER
from bayesnb.compute.primitives._forest_sums import log_forest_sum
from bayesnb.compute.primitives._pair_sums import sum_edges, sum_parents


def largest_branching(weights: Array) -> Array:
    """The parent of each node [D], -1 for roots, in the forest whose edges have the largest sum of weights.

    ``weights`` are [D, D], of edges from parents to children; a root adds 0. The diagonal is not read.
    """
    size = len(weights)
    table = np.full((size + 1, size + 1), -np.inf)
    table[:size, :size], table[size, :size] = weights, 0.0
    np.fill_diagonal(table, -np.inf)
    parents = _arborescence(table, size)[:size]
    return np.where(parents == size, -1, parents)


def _arborescence(weights: Array, root: int) -> Array:
    """The parents in the largest tree of all nodes below the root, whose own entry is -1.

    Each node takes its heaviest edge. A circle of these becomes one node, which an edge may enter at any of its nodes
    instead of that node's own edge.
    """
    parents = weights.argmax(axis=0)
    parents[root] = -1
    circle = _circle(parents)
    if not len(circle):
        return parents
    outside = np.setdiff1d(np.arange(len(weights)), circle)
    own = weights[parents[circle], circle]
    entering = weights[np.ix_(outside, circle)] - own[None, :]
    leaving = weights[np.ix_(circle, outside)]
    smaller = np.full((len(outside) + 1, len(outside) + 1), -np.inf)
    smaller[:-1, :-1] = weights[np.ix_(outside, outside)]
    smaller[:-1, -1], smaller[-1, :-1] = entering.max(axis=1), leaving.max(axis=0)
    found = _arborescence(smaller, int(np.searchsorted(outside, root)))
    of_outside, above = found[:-1], found[-1]
    parents[outside] = np.where(of_outside >= 0, np.append(outside, -1)[of_outside], -1)
    below = outside[of_outside == len(outside)]
    parents[below] = circle[leaving[:, of_outside == len(outside)].argmax(axis=0)]
    parents[circle[entering[above].argmax()]] = outside[above]
    return parents


def _circle(parents: Array) -> Array:
    """The nodes of a circle, or none."""
    colour = np.zeros(len(parents), int)
    for start in range(len(parents)):
        node = start
        while node >= 0 and not colour[node]:
            colour[node] = start + 1
            node = parents[node]
        if node >= 0 and colour[node] == start + 1:
            circle = [node]
            while parents[circle[-1]] != node:
                circle.append(parents[circle[-1]])
            return np.array(circle)
    return np.zeros(0, int)


Combine = Callable[[Array, Array | None], Array]
"""From log ratios [N, K, D, D] and ``removed`` [N, 1, D, D] or None to the log ratio of the row, [N, K]."""


def average(evidence: Array, parents: Array | None) -> Combine:
    """log Z(w r) / Z(w) over all forests, with w_ij the edge's evidence times its prior 1 / D."""
    del parents
    weights = log_weights(evidence)[None, None]
    whole = log_forest_sum(weights)

    def combine(ratios: Array, removed: Array | None) -> Array:
        if removed is None:
            return log_forest_sum(weights + ratios) - whole
        left = weights - removed
        return log_forest_sum(left + ratios) - log_forest_sum(left)

    return combine


class OneForest(NamedTuple):
    """The product of the ratios of one forest's edges, with the ``parents`` [D] of the columns, -1 for roots."""

    parents: Array

    @property
    def edges(self) -> Array:
        """True for the edges, [D, D]."""
        return np.arange(len(self.parents))[:, None] == self.parents[None]

    def __call__(self, ratios: Array, removed: Array | None) -> Array:
        del removed
        return (ratios * self.edges.astype(float)[None, None]).sum(axis=(-2, -1))

    def of_tables(self, tables: Array, places: Array) -> Array:
        """The same of rows of categories."""
        return sum_edges(tables, places, self.parents)

    def of_parents(self, sums: Array) -> Array:
        """The same from the sums of each parent's edges, [N, D] to [N]."""
        return sums.sum(axis=1)


class EachParent(NamedTuple):
    """The mean over i of the products over j of the ratios, where i is the parent of every other feature.

    ``edges`` [D, D] are those that are possible; ``log_shares`` [D] is -inf for features that are no parents. Webb,
    Boughton and Wang, Not so naive Bayes: aggregating one-dependence estimators (2005).
    """

    edges: Array
    log_shares: Array

    def __call__(self, ratios: Array, removed: Array | None) -> Array:
        del removed
        return logsumexp(either.where(self.edges[None, None], ratios, 0.0).sum(axis=-1) + self.log_shares[None, None])

    def of_tables(self, tables: Array, places: Array) -> Array:
        """The same of rows of categories."""
        return sum_parents(tables, places, self.log_shares)

    def of_parents(self, sums: Array) -> Array:
        """The same from the sums of each parent's edges, [N, D] to [N]."""
        return logsumexp(sums + self.log_shares[None])


def best(evidence: Array, parents: Any) -> OneForest:
    """The ratios of the most probable forest."""
    del evidence
    return OneForest(parents)


def aode(evidence: Array, parents: Array | None) -> EachParent | OneForest:
    """The mean over the features as the parent of all others."""
    del parents
    if not len(evidence):
        return OneForest(np.zeros(0, int))  # a mean over no feature
    possible, part = evidence != NEVER, have_edges(evidence)
    part = part | ~part.any()
    return EachParent(possible, either.where(part, 0.0, -np.inf) - either.log(either.maximum(part.sum(), 1)))


STRUCTURES: dict[str, Any] = {"average": average, "best": best, "aode": aode}
"""By name, the functions of the evidence [D, D] of the edges, and of the best forest's parents, that combine ratios."""


def log_weights(evidence: Array) -> Array:
    """The log weights of the edges: a feature is a root or picks one of D parents at even odds. D counts those
    with edges.
    """
    return evidence - either.log(either.maximum(have_edges(evidence).sum(), 1))


def have_edges(evidence: Array) -> Array:
    """True for features that may be a parent or have one, [D]."""
    possible = evidence != NEVER
    return possible.any(axis=0) | possible.any(axis=1)
