"""What the pairs' log ratios of a row are combined to: over all forests, in one, or over those with one common parent.

Tables [..., D, D] have parents before children. ``removed`` are the log ratios by which a row that is left out has
changed the evidence of the edges, and None for new rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.placement import Array
from bayesnb.numerics.log_prob import logsumexp
from bayesnb.numerics.stable import NEVER
from bayesnb.primitives.forest_sums import log_forest_sum

Combine = Callable[[Array, Array | None], Array]
"""From log ratios [N, K, D, D] and ``removed`` [N, 1, D, D] or None to the log ratio of the row, [N, K]."""


def average(evidence: Array, edges: Array | None) -> Combine:
    """log Z(w r) / Z(w) over all forests, with w_ij the edge's evidence times its prior 1 / D."""
    del edges
    weights = log_weights(evidence)[None, None]
    whole = log_forest_sum(weights)

    def combine(ratios: Array, removed: Array | None) -> Array:
        if removed is None:
            return log_forest_sum(weights + ratios) - whole
        left = weights - removed
        return log_forest_sum(left + ratios) - log_forest_sum(left)

    return combine


def best(evidence: Array, edges: Array | None) -> Combine:
    """The product of the ratios of one forest's ``edges`` [D, D]."""
    del evidence
    forest: Array = edges
    return lambda ratios, _: (ratios * forest[None, None]).sum(axis=(-2, -1))


def aode(evidence: Array, edges: Array | None) -> Combine:
    """The mean over i of the products over j of the ratios, where i is the parent of every other feature.

    Webb, Boughton and Wang, Not so naive Bayes: aggregating one-dependence estimators (2005).
    """
    del edges
    possible, part = evidence[None, None] != NEVER, have_edges(evidence)
    parents = either.where(part | ~part.any(), 0.0, -np.inf)[None, None]

    def combine(ratios: Array, _: Array | None) -> Array:
        of_parent = either.where(possible, ratios, 0.0).sum(axis=-1)
        return logsumexp(of_parent + parents) - logsumexp(parents)

    return combine


STRUCTURES: dict[str, Any] = {"average": average, "best": best, "aode": aode}
"""By name, the functions of the evidence [D, D] of the edges, and of those of the best forest, that combine ratios."""


def log_weights(evidence: Array) -> Array:
    """The log weights of the edges: a feature is a root or picks one of D parents at even odds. D counts those
    with edges.
    """
    return evidence - either.log(either.maximum(have_edges(evidence).sum(), 1))


def have_edges(evidence: Array) -> Array:
    """True for features that may be a parent or have one, [D]."""
    possible = evidence != NEVER
    return possible.any(axis=0) | possible.any(axis=1)
