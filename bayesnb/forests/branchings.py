"""The forest of largest weight: a maximum branching of a directed graph.

Chu and Liu, On the shortest arborescence of a directed graph (1965); Edmonds, Optimum branchings (1967).
"""

from __future__ import annotations

import numpy as np

from bayesnb.arrays.placement import Array


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


def is_forest(parents: Array, size: int) -> bool:
    """True if these are the parents of so many nodes, -1 for roots, without circles."""
    if np.shape(parents) != (size,) or np.asarray(parents).dtype.kind != "i":
        return False
    return bool(((parents >= -1) & (parents < size)).all()) and not len(_circle(parents))


def _arborescence(weights: Array, root: int) -> Array:
    """The parents in the largest tree of all nodes below the root, whose own entry is -1.

    Each node takes its heaviest edge. A circle of these becomes one node, which an edge may enter at any of its nodes,
    in the stead of that node's own edge.
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
