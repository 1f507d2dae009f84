"""Dirichlets of many classes, most of whose words they never saw: the formulas of ``numerics/dirichlet`` for tables.

The counts of a class are cells of its own, and the prior is the row that classes share, in ``ClassTable``.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
from jax.scipy.special import gammaln

from bayesnb.arrays.class_table import ClassTable
from bayesnb.arrays.placement import Array
from bayesnb.numerics.log_gamma import log_gamma_ratio


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
