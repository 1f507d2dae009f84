"""Rows as weights on the nodes of their bins, which add up if the bins are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from bayesnb.compute.arrays._placement import Array, pytree
from bayesnb.core.families.parts._bin_statistics import same_bins
from bayesnb.core.families.parts._frames import ORDER
from bayesnb.core.families.parts._statistics import Statistics, require_sums
from bayesnb.core.families.parts._support import Axes


@pytree
class NodeStatistics(Statistics):
    """``weights`` [K, D, M] of nodes, of either sign, and the ``frame`` [K, D, 4] of bins, alike for all classes."""

    weights: Array
    frame: Array

    axes: ClassVar[Axes] = (("weights", "KDM"), ("frame", "KDF"))
    signed: ClassVar[tuple[str, ...]] = ("weights",)
    fixed = alike = ("frame",)

    @property
    def num_columns(self) -> int:
        return np.shape(self.weights)[-2]

    @property
    def observed_cells(self) -> Array:
        """The weight of the cells that are not missing, [K, D]; 0 where rounding is all that is left."""
        return self.weights.sum(axis=-1)

    def axis_sizes(self, num_classes: int) -> Mapping[str, int]:
        return {"K": num_classes, "D": self.num_columns, "M": np.shape(self.weights)[-1], "F": np.shape(self.frame)[-1]}

    def check(self, block: str, num_classes: int) -> None:
        super().check(block, num_classes)
        if (np.asarray(self.frame) != np.asarray(self.frame)[:1]).any() or np.shape(self.frame)[-1] != 4:
            raise ValueError(f"statistics of block {block!r}: all classes must have the same bins, four numbers each")

    def merge(self, other: Self) -> Self:
        if not same_bins(self.frame, other.frame):
            raise ValueError(
                "statistics of Likelihood can be merged only if their bins are the same: resolve the model on some "
                "rows first, model.resolve(X, y)"
            )
        return super().merge(other)

    def minus(self, part: Self) -> Self:
        return replace(self, weights=self.weights - part.weights)

    def require_part(self, part: Self, block: str) -> None:
        bins = [np.asarray(one.weights).reshape(*one.weights.shape[:2], -1, ORDER).sum(axis=-1) for one in (self, part)]
        require_sums(f"block {block!r}", "rows in bins", *(np.maximum(rows, 0.0) for rows in bins))
