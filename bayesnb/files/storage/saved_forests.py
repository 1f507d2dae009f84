"""Check a loaded fit of forests, beside its posterior of Naive Bayes, which is checked as any other."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.numerics.branchings import is_forest
from bayesnb.results.forest_structures import STRUCTURES
from bayesnb.results.forests import ForestPosterior


def check_forest(result: ForestPosterior) -> None:
    """Raise ValueError unless the pairs are those of the model's columns, and the forest and its power are possible."""
    pairs, families, columns = result.pairs, result.model.families, result.model.columns
    sizes = [family.pair_sizes(columns[name] or 0) for name, family in families.items()]
    if None in sizes or pairs.sizes != tuple(size for of_block in sizes for size in of_block or ()):
        raise ValueError(f"pairs must be those of the model's columns, {sizes}, got {pairs.sizes!r}")
    pairs.check("pairs", len(result.posterior.statistics.class_counts))
    sums = tuple(sum(column) for column in _segments(result.segments))
    if result.segments != () and sums != pairs.sizes:
        raise ValueError(f"segments must share out the categories of each column, {pairs.sizes}, got {sums}")
    if result.structure not in STRUCTURES:
        raise ValueError(f"structure must be one of {list(STRUCTURES)}, got {result.structure!r}")
    if (result.structure == "best") != (result.parents is not None):
        raise ValueError('parents belong to the structure "best", and only to it')
    if result.parents is not None and not is_forest(result.parents, len(pairs.sizes)):
        raise ValueError(f"parents must be one of each column, -1 for roots, without circles: {result.parents!r}")
    if (result.power is None) != (result.posterior.weights is None):
        raise ValueError("the power of the forests and the weights of the features belong together")
    if result.power is not None and not (np.ndim(result.power) == 0 and 0 <= float(result.power) < np.inf):
        raise ValueError(f"power must be one number, finite and not negative, got {result.power!r}")


def _segments(given: Any) -> tuple[tuple[int, ...], ...]:
    """Segments of columns, each a tuple of positive numbers of categories."""
    for column in given if isinstance(given, tuple) else (None,):
        if not isinstance(column, tuple) or not all(type(size) is int and size > 0 for size in column):
            raise ValueError(f"segments must be tuples of numbers of categories, got {given!r}")
    return given
