"""What a column adds to the prediction of another: log p(x_j | x_i, k, D) / p(x_j | k, D) for all pairs and rows.

0 where either cell is missing: so a missing parent is not summed out, but left out. The tables are of the posterior.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from bayesnb.arrays.cells import unless_all
from bayesnb.arrays.host_calls import eagerly
from bayesnb.arrays.placement import Array, namespace
from bayesnb.families.parts.end_to_end import EndToEnd
from bayesnb.families.parts.pair_evidence import joint_moments, rows_prior
from bayesnb.families.parts.pairs import PairLayout, PairPrior, PairStatistics
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.families.parts.student_t import precision_and_offset
from bayesnb.families.priors import bivariate_normal, normal_inverse_gamma
from bayesnb.families.priors.bivariate_normal import Conditional
from bayesnb.families.priors.normal_inverse_gamma import NormalInverseGamma
from bayesnb.numerics import dirichlet, stable
from bayesnb.primitives import pair_lookups


class StudentCells(NamedTuple):
    """log p(x) = offset - power log(1 + z^2), z = (x - loc) precision."""

    loc: Array
    precision: Array
    power: Array
    offset: Array


class PairTables(NamedTuple):
    """``counted`` [K, S, S], the log ratio for each two categories; the density of real cells ``by_category``,
    [K, S, J], ``given`` a real cell, [K, J, J], and ``alone``, [K, J].
    """

    counted: Array
    by_category: StudentCells
    given: Conditional
    alone: StudentCells


def pair_tables(prior: PairPrior, statistics: PairStatistics) -> PairTables:
    """The tables of the posterior. Pure JAX."""
    layout = PairLayout(statistics.sizes)
    total = EndToEnd(layout.categories).total
    apart = rows_prior(prior, layout) + statistics.counts
    num_classes, size, _ = apart.shape
    shares = dirichlet.dirichlet_mean(apart.reshape(num_classes * size, size), total).reshape(apart.shape)
    alone = prior.concentration + jnp.diagonal(statistics.counts, axis1=1, axis2=2)
    counted = jnp.log(shares) - jnp.log(dirichlet.dirichlet_mean(alone, total))[:, None, :]
    pair = bivariate_normal.posterior(prior.reals, joint_moments(statistics))
    return PairTables(
        counted,
        student_cells(update(prior.reals, statistics.by_category)),
        bivariate_normal.conditional(pair),
        student_cells(update(prior.reals, statistics.alone)),
    )


def update(prior: NormalInverseGamma, statistics: NormalStatistics) -> NormalInverseGamma:
    """The posterior of tables [..., J] that have axes between those of the prior, [K, J]."""
    extra = (1,) * (statistics.count.ndim - prior.loc.ndim)
    shaped = (table.reshape(table.shape[0], *extra, table.shape[-1]) for table in prior)
    return normal_inverse_gamma.update(NormalInverseGamma(*shaped), statistics)


def student_cells(prior: NormalInverseGamma) -> StudentCells:
    """The predictive of a normal-inverse-gamma prior; 1 for columns without a scale."""
    precision, offset = precision_and_offset(prior)
    tables = (precision, prior.shape + 0.5, offset)
    return StudentCells(prior.loc, *(jnp.where(prior.scaleless, 0.0, table) for table in tables))


def log_student(table: StudentCells, x: Array) -> Array:
    """The log density of cells; broadcasts."""
    return table.offset - table.power * stable.log1p_square((x - table.loc) * table.precision)


def log_ratios(tables: PairTables, layout: PairLayout, cells: Array) -> Array:
    """The log ratios of rows [N, D], NaN where missing, in every class, [N, K, D, D], parents before children."""
    places, seen, reals = layout.split(cells)
    by_category = StudentCells(*(pair_lookups.look_up_rows(table, places) for table in tables.by_category))
    counted = pair_lookups.look_up_pairs(tables.counted, places)
    there = namespace(reals).concatenate([seen, ~namespace(reals).isnan(reals)], axis=1)
    return eagerly(_assemble, tables, counted, by_category, reals, unless_all(there))


@jax.jit
def _assemble(
    tables: PairTables, counted: Array, by_category: StudentCells, reals: Array, there: Array | None
) -> Array:
    x = jnp.where(jnp.isnan(reals), 0.0, reals)[:, None, None, :]
    given, alone = (jax.tree.map(lambda table: table[None], part) for part in (tables.given, tables.alone))
    child = log_student(jax.tree.map(lambda table: table[:, :, None], alone), x)
    ratios = bivariate_normal.log_conditional(given, x.swapaxes(2, 3), x) - child
    if counted.shape[2]:  # without categories nothing is copied
        mixed = log_student(by_category, x) - child
        impossible = jnp.zeros((*ratios.shape[:3], counted.shape[2]), ratios.dtype)
        upper, lower = (jnp.concatenate(part, axis=3) for part in ((counted, mixed), (impossible, ratios)))
        ratios = jnp.concatenate([upper, lower], axis=2) if reals.shape[1] else counted
    if there is None:
        return ratios
    return jnp.where(there[:, None, :, None] & there[:, None, None, :], ratios, 0.0)
