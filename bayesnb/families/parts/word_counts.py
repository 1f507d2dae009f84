"""Words: their counts by class, sparse where classes are many, and the formulas of Dirichlets for such tables.

A class of a ``ClassTable`` has cells of its own, its counts, beside the row that classes share, the prior. The formulas
are those of ``numerics/dirichlet``. A row that is left out changes its own class only, and there its own words only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from bayesnb.arrays.cells import row_sums
from bayesnb.arrays.class_table import ClassTable, cells_at, is_class_table, whole
from bayesnb.arrays.compute import compute_rows
from bayesnb.arrays.placement import Array, pytree
from bayesnb.families.left_out import class_rows, require_sums, without
from bayesnb.families.parts.statistics import Statistics
from bayesnb.numerics.log_gamma import log_gamma_ratio
from bayesnb.primitives.products import of_pairs


@pytree
class MultinomialStatistics(Statistics):
    """``counts`` [K, D]: sum of z x; ``log_base`` [K, 1]: sum of z times the log multinomial coefficients.

    Counts of many classes, of which most never saw most words, are a ``ClassTable``.
    """

    counts: Any
    log_base: Array

    axes = (("counts", "KD"), ("log_base", "K1"))

    def check(self, block: str, num_classes: int) -> None:
        if not is_class_table(self.counts):
            return super().check(block, num_classes)
        self.counts.check(f"statistics of block {block!r}", "counts")
        if np.any(self.counts.base) or np.any(np.asarray(self.counts.total) != 1):
            raise ValueError(f"statistics of block {block!r}: counts that are not stored must be 0")
        # the sums of the classes stand for the cells, which are checked
        return Statistics.check(replace(self, counts=self.counts.sum(axis=1)), block, num_classes)

    def merge(self, other: Self) -> Self:
        return self.map(lambda _, a, b: a + b, other)

    def pool(self) -> Self:
        return self.map(lambda _, a: a.sum(axis=0, keepdims=True))

    def spread_classes(self, places: Array) -> Self:
        counts = self.counts.take(places) if is_class_table(self.counts) else class_rows(self.counts, places)
        return type(self)(counts, class_rows(self.log_base, places))

    def minus(self, part: Self) -> Self:
        if is_class_table(self.counts) and is_class_table(part.counts):
            cells = without(self.counts.values, part.counts.at(self.counts.rows, self.counts.columns))
            left = ClassTable.of_cells(replace(self.counts, values=cells).own().copy())
        else:
            left = without(whole(self.counts), whole(part.counts))
        return type(self)(left, self.log_base - part.log_base)

    def require_part(self, part: Self, block: str) -> None:
        total, less, classes = self.counts, part.counts, None
        if is_class_table(total) and is_class_table(less):
            total, less, classes = total.at(less.rows, less.columns), less.values, less.rows
        require_sums(f"block {block!r}", "counts", whole(total), whole(less), classes=classes)

    def spread(self, codes: Sequence[Array], sizes: Sequence[int]) -> Self:
        """The same counts over more words: word d becomes word ``codes[0][d]`` of ``sizes[0]``."""
        if is_class_table(self.counts):
            return replace(self, counts=self.counts.spread(codes[0], *sizes))
        counts = np.zeros((self.counts.shape[0], *sizes))
        counts[:, codes[0]] = self.counts
        return replace(self, counts=counts)


def mode_of_table(concentration: ClassTable) -> ClassTable:
    """The modes of the classes: max(a - 1, 0) renormalised, or the mean where that is all zero."""
    base, own = concentration.base, concentration.values
    raised = jnp.maximum(base - 1.0, 0.0)
    beyond = jnp.maximum(base[0, concentration.columns] + own - 1.0, 0.0) - raised[0, concentration.columns]
    modes = replace(concentration, base=raised, values=beyond)
    return _either(modes, replace(concentration, base=jnp.asarray(base)))


def mle_of_table(counts: ClassTable) -> ClassTable:
    """The shares of the counts; a class without any gets those of all classes, or the uniform distribution."""
    pooled = counts.sum(axis=0).base
    pooled = jnp.where(pooled.sum() > 0, pooled, 1.0)
    return _either(counts, replace(counts, base=pooled))


def _either(one: ClassTable, other: ClassTable) -> ClassTable:
    """The rows of one table over their sums, or of the other, which has the same places, where they are all zero."""
    sums, others = one.sum(axis=1)[:, 0], other.sum(axis=1)[:, 0]
    good = sums > 0
    return replace(
        one,
        base=jnp.concatenate([one.base, other.base]),
        group=jnp.where(good, 0, 1).astype(jnp.int32),
        total=jnp.where(good, sums, others),
        values=jnp.where(good[one.rows], one.values, other.values),
    )


def log_partition_of_table(concentration: ClassTable) -> Array:
    """The log partition of each Dirichlet, sum log Gamma(a) - log Gamma(sum a), [K, 1]."""
    alone = concentration.base[0, concentration.columns]
    cells = log_gamma_ratio(alone, concentration.values)
    parts = replace(concentration, base=gammaln(concentration.base), values=cells)
    return parts.sum(axis=1) - gammaln(concentration.sum(axis=1))


def log_partition_ratio_of_table(concentration: ClassTable, counts: ClassTable) -> Array:
    """The log partition of Dirichlet(a + n) minus that of Dirichlet(a), [K, 1]: only cells with counts add to it."""
    before, change = concentration.sum(axis=1), counts.sum(axis=1)
    unit = before + change
    cells = log_gamma_ratio(concentration.base[0, counts.columns], counts.values, unit[counts.rows, 0])
    parts = replace(counts, values=cells).sum(axis=1)
    return parts - log_gamma_ratio(before, change, unit)


def left_out_words(concentration: Any, counts: Any, x: Any, y: Array, weight: Array) -> Array:
    """log p(x_n | class y_n, all rows but this one), [N], of the Dirichlet-multinomial, but for its coefficient.

    The tables [K, D], arrays or a ``ClassTable``, are those of the prior and of all rows; x is a scipy matrix.
    """
    row = np.repeat(np.arange(len(y)), np.diff(x.indptr))
    count, length = x.data.astype(np.float64), row_sums(x)
    before, all_ = (cells_at(table, y[row], x.indices) for table in (concentration, counts))
    words = _risen(before + without(all_, weight[row] * count), count)
    before, all_ = (np.asarray(table.sum(axis=1, keepdims=True))[y, 0] for table in (concentration, counts))
    return np.bincount(row, words, len(y)) - _risen(before + without(all_, weight * length), length)


def _risen(a: Array, count: Array) -> Array:
    """log Gamma(a + x) / Gamma(a)."""
    risen: Array = compute_rows(of_pairs, (), (a[:, None], count[:, None]))
    return risen[:, 0]
