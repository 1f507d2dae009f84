"""Whether cells have a density, in the unit of their column, or a probability."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.families import Histogram, Multinomial, MultivariateNormal, Normal


@singledispatch
def is_continuous(family: Any) -> bool:
    """True if cells are measurements, False if they are counts or codes."""
    return not family.likelihood(family.reference()).support.is_discrete


@singledispatch
def density_share(family: Any) -> Array:
    """The share of each column's values that have a density, in the unit of the column, and no probability, [D]."""
    return np.full(family.num_columns, float(is_continuous(family)))


@singledispatch
def density_weight(family: Any, statistics: Any, num_rows: float) -> Array:
    """The weight of the cells of each column that have a density, [D]."""
    share, seen = density_share(family), statistics.observed_cells
    return share * (num_rows if seen is None or not share.any() else seen.sum(axis=0))


is_continuous.register(Multinomial, lambda _: False)


@density_share.register(Normal)
@density_share.register(MultivariateNormal)
def _(family: Any) -> Array:
    scale = np.asarray(family.prior[-1])  # 0 for a column of one value, whose factor is 1
    return scale.any(axis=tuple(range(scale.ndim - 1))) * 1.0


is_continuous.register(Histogram, lambda _: True)


@density_share.register(Histogram)
def _(family: Any) -> Array:
    edges, points = (np.isfinite(np.asarray(table[0])).sum(axis=1) for table in (family.edges, family.atoms))
    return np.where(edges > 0, 1.0 - points / (1.0 + edges), 0.0)


@density_weight.register(Histogram)
def _(family: Any, statistics: Any, num_rows: float) -> Array:
    del num_rows
    return (statistics.counts.sum(axis=0) * ~np.isfinite(np.asarray(family.atoms[0]))).sum(axis=1)
