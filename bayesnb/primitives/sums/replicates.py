"""Class sums of rows of one class under many weightings at once: the replicates take the place of classes.

A sum over rows is one product for all replicates, weights [R, B] times values [B, D].
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from bayesnb.arrays.cells import observed
from bayesnb.arrays.placement import Array
from bayesnb.primitives.codes import Codes, Places
from bayesnb.primitives.sums.host import HostSums
from bayesnb.primitives.sums.interface import Labels

DELICATE = 1e-4
"""Below this ratio of variance about the mean to variance about the origin, cancellation has cost digits: recompute the
column."""


class ReplicateSums(HostSums):
    """Class sums by numpy and scipy, for one block of rows; ``weights`` [R, B] are those of each replicate."""

    def __init__(self, weights: Array) -> None:
        self.weights = np.ascontiguousarray(weights, np.float64)
        super().__init__(Labels(self.weights.T, None), len(weights), evidence=False)

    def table(self, codes: Codes | Places, size: int) -> Array:
        places, seen = codes.places()
        rows, columns = places.shape
        cells = np.ones(places.size) if seen is None else seen.reshape(-1).astype(np.float64)
        one_hot = scipy.sparse.csr_array((cells, places.reshape(-1), np.arange(rows + 1) * columns), shape=(rows, size))
        return (one_hot.T @ self.weights.T).T

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        seen = observed(x)
        count = self.cell_counts(seen, x.shape[1])
        # the origin is the observed value of each column nearest its mean, or 0: a constant column is exact
        cells = np.ones(x.shape, bool) if seen is None else seen
        origin = np.where(cells, x, 0).sum(axis=0, dtype=np.float64) / np.maximum(cells.sum(axis=0), 1)
        if len(x):
            distance = np.where(cells, np.abs(x - origin), np.inf)
            nearest = x[distance.argmin(axis=0), np.arange(x.shape[1])]
            origin = np.nan_to_num(nearest.astype(np.float64))
        deviations = x.astype(np.float64) - origin
        if seen is not None:
            deviations[~seen] = 0.0
        total = self.weights @ deviations
        change = total / np.maximum(count, np.finfo(np.float64).tiny)
        about_origin = self.weights @ np.square(deviations, out=deviations)
        mean, squares = origin + change, about_origin - total * change
        columns = (squares < DELICATE * about_origin).any(axis=0).nonzero()[0]
        if columns.size:
            _, mean[:, columns], squares[:, columns] = super().moments(x[:, columns])
        return count, mean, squares
