"""Check a loaded fit of forests, beside its posterior of Naive Bayes, which is checked as any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.parts.statistics import CategoricalStatistics, NormalStatistics, Statistics
from bayesnb.forests.branchings import is_forest
from bayesnb.forests.columns import category_sizes
from bayesnb.forests.pairs import JointStatistics, PairStatistics
from bayesnb.forests.results import ForestPosterior
from bayesnb.forests.structures import STRUCTURES
from bayesnb.rows.checks import accepts
from bayesnb.rows.packing import columns_behind


class FirstPairs(NamedTuple):
    """The pairs in a file of version 0.1.0: counts of two categories [K, S, S]; the moments of real columns by category
    [K, S, J]; and those of two real columns [K, J, J].
    """

    counts: Any
    count: Any
    mean: Any
    squares: Any
    both: Any
    centre: Any
    spread: Any
    product: Any
    sizes: Any

    def of_blocks(self, blocks: Mapping[str, Any]) -> PairStatistics:
        """The same pairs, of the blocks with these statistics."""
        sizes, counts = tuple(size for size in self.sizes if size), np.asarray(self.counts)
        labels, parts = len(counts) * sum(sizes), dict[str, Statistics]()
        reals = [name for name, one in blocks.items() if isinstance(one, NormalStatistics)]
        ends = np.cumsum([blocks[name].num_columns for name in reals])
        for name, end in zip(reals if labels else [], ends, strict=False):
            own = slice(end - blocks[name].num_columns, end)
            tables = (np.asarray(table)[:, :, own] for table in (self.count, self.mean, self.squares))
            parts[name] = NormalStatistics(*(np.array(table.reshape(labels, table.shape[2])) for table in tables))
        joint = JointStatistics(self.both, self.centre, self.spread, self.product)
        return PairStatistics(CategoricalStatistics(counts.reshape(labels, sum(sizes)), sizes), parts, joint)


def check_forest(result: ForestPosterior) -> None:
    """Raise ValueError unless the pairs are those of the model's columns, and the forest and its power are possible."""
    pairs, layout, segments = result.pairs, result.layout, _segments(result.segments)
    families, columns = result.model.families, result.model.columns
    sizes = tuple(size for name, family in families.items() for size in category_sizes(family, columns[name] or 0))
    of_columns = tuple(size for size in sizes if size)
    children = {*layout.reals, *layout.others} if of_columns else set()
    known = pairs.categories.sizes == of_columns and {*pairs.blocks} == children
    if not known or not all(accepts(families[name], one) for name, one in pairs.blocks.items()):
        raise ValueError(f"pairs must be those of the model's columns, {sizes}, got {pairs.categories.sizes!r}")
    pairs.check()
    found = {name: columns_behind(families[name], one) for name, one in pairs.blocks.items()}
    if any(columns[name] != size for name, size in found.items()) or pairs.reals.num_columns != layout.count(
        layout.reals
    ):
        raise ValueError(f"pairs must be those of the model's columns, {columns}, got {found}")
    if pairs.num_classes != len(result.posterior.statistics.class_counts):
        raise ValueError(f"pairs must be those of the model's classes, got {pairs.num_classes}")
    sums = tuple(sum(column) for column in segments)
    if sums != sizes:
        raise ValueError(f"segments must share out the categories of each column, {sizes}, got {sums}")
    if result.structure not in STRUCTURES:
        raise ValueError(f"structure must be one of {list(STRUCTURES)}, got {result.structure!r}")
    if (result.structure == "best") != (result.parents is not None):
        raise ValueError('parents belong to the structure "best", and only to it')
    if result.parents is not None and not is_forest(result.parents, len(layout.order)):
        raise ValueError(f"parents must be one of each column, -1 for roots, without circles: {result.parents!r}")
    if result.power is not None and result.posterior.weights is None:
        raise ValueError("the power of the forests and the weights of the features belong together")
    if result.power is not None and not (np.ndim(result.power) == 0 and 0 <= float(result.power) < np.inf):
        raise ValueError(f"power must be one number, finite and not negative, got {result.power!r}")


def _segments(given: Any) -> tuple[tuple[int, ...], ...]:
    """Segments of columns, each a tuple of positive numbers of categories."""
    for column in given if isinstance(given, tuple) else (None,):
        if not isinstance(column, tuple) or not all(type(size) is int and size > 0 for size in column):
            raise ValueError(f"segments must be tuples of numbers of categories, got {given!r}")
    return given
