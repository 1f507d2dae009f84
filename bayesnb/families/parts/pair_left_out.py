"""What pairs of columns tell of each row of the fit, without the row: for exact leave-one-out.

The row leaves with its whole weight. ``removed`` is the log evidence ratio of a pair with the row less that without it;
``ratios`` are log p(x_j | x_i, k, others) / p(x_j | k, others) in the row's own class. For numpy rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.cells import without_repeats
from bayesnb.arrays.host_calls import finalise, without_compiling
from bayesnb.arrays.placement import Array
from bayesnb.families.parts.end_to_end import EndToEnd
from bayesnb.families.parts.pair_evidence import joint_moments, over_categories, where_seen
from bayesnb.families.parts.pair_predictive import log_student, student_cells
from bayesnb.families.parts.pairs import PairLayout, PairPrior, PairStatistics
from bayesnb.families.parts.statistics import NormalStatistics, without
from bayesnb.families.priors import bivariate_normal, normal_inverse_gamma
from bayesnb.families.priors.bivariate_normal import Moments
from bayesnb.families.priors.normal_inverse_gamma import NormalInverseGamma
from bayesnb.numerics import dirichlet
from bayesnb.numerics.log_gamma import log_gamma_ratio


class Counts(NamedTuple):
    """Pseudo-counts and counts of categories: of the child's in the parent's, ``own`` [N, I, I] of ``rows`` [N, I, I];
    in rows where the parent is seen, ``seen`` of ``of_seen``; and alone, ``alone`` of ``of_alone`` [N, I].
    """

    own: Array
    rows: Array
    seen: Array
    of_seen: Array
    alone: Array
    of_alone: Array


class Tables(NamedTuple):
    """What rows look up, by class: pseudo-counts of categories alone, their shares and sums; counts; and moments."""

    concentration: Array
    share: Array
    total: Array
    counts: Array
    rows: Array
    both: Array
    by_category: NormalStatistics
    where_seen: NormalStatistics
    alone: NormalStatistics
    moments: Moments
    partition: Array
    prior: NormalInverseGamma


@jax.jit
def _tables(prior: PairPrior, statistics: PairStatistics) -> Tables:
    layout = PairLayout(statistics.sizes)
    flat, moments = EndToEnd(layout.categories), joint_moments(statistics)
    rows = over_categories(statistics.counts, layout)  # of the parent's categories, where the child is seen
    return Tables(
        prior.concentration,
        dirichlet.dirichlet_mean(prior.concentration, flat.total),
        flat.of_columns(prior.concentration),
        statistics.counts,
        rows.swapaxes(1, 2),
        over_categories(rows.swapaxes(1, 2), layout),
        statistics.by_category,
        where_seen(statistics, layout),
        statistics.alone,
        moments,
        bivariate_normal.log_partition(bivariate_normal.posterior(prior.reals, moments)),
        prior.reals,
    )


Rows = Callable[[Array, Array, Array], tuple[Array, Array]]
"""From cells [N, D], labels [N] and weights [N] to ``removed`` and ``ratios``, [N, D, D] each."""


def prepare_left_out(prior: PairPrior, statistics: PairStatistics) -> Rows:
    """The function of rows, for statistics in which they are."""
    layout, tables = PairLayout(statistics.sizes), finalise(_tables, prior, statistics)
    columns, narrow = np.arange(len(layout.categories)), (tables.moments, tables.prior)
    narrow = jax.tree.map(without_repeats, narrow)

    def left_out(cells: Array, y: Array, weight: Array) -> tuple[Array, Array]:
        places, seen, x = layout.split(cells)
        k, a, b = y[:, None, None], places[:, :, None], places[:, None, :]
        pseudo = tables.share[y[:, None], places], tables.concentration[y[:, None], places], tables.total[y]
        counts = Counts(
            tables.counts[k, a, b],
            tables.rows[k, a, columns[None, None, :]],
            tables.rows[k, b, columns[None, :, None]],
            tables.both[y],
            tables.counts[y[:, None], places, places],
            tables.both[y][:, columns, columns],
        )
        by_category = jax.tree.map(lambda table: table[y[:, None], places], tables.by_category)
        of_class = (tables.where_seen, tables.alone, tables.partition, tables.prior)
        own = jax.tree.map(lambda table: table[y], of_class)
        pair = jax.tree.map(lambda table: table[np.minimum(y, len(table) - 1)], narrow)
        rows, unit = (seen, x, weight), bool((weight == 1).all())
        return without_compiling(_left_out, pseudo, counts, by_category, own, pair, rows, unit=unit)

    return left_out


def _left_out(
    pseudo: Any, counts: Counts, by_category: NormalStatistics, own: Any, pair: Any, rows: Any, unit: bool
) -> tuple[Array, Array]:
    (seen, x, weight), (pooled, alone, partition, prior) = rows, own
    there, w = ~jnp.isnan(x), weight[:, None, None]
    x = jnp.where(there, x, 0.0)
    row = NormalStatistics(jnp.where(there, weight[:, None], 0.0), x, jnp.zeros(()))
    margin = log_student(student_cells(normal_inverse_gamma.update(prior, alone.minus(row))), x)[:, None]
    counted = _categories(pseudo, counts, w, unit)
    mixed = _reals_by_category(by_category, pooled, prior, row, margin, unit)
    moments, narrow = pair
    real = _reals(moments, narrow, partition, x, w, margin)
    both = jnp.concatenate([seen, there], axis=1)
    mask = both[:, :, None] & both[:, None, :]

    def assemble(counted: Array, mixed: Array, real: Array) -> Array:
        nothing = jnp.zeros((len(x), real.shape[1], counted.shape[2]))
        upper, lower = (jnp.concatenate(part, axis=2) for part in ((counted, mixed), (nothing, real)))
        return jnp.where(mask, jnp.concatenate([upper, lower], axis=1), 0.0)

    removed, ratios = (assemble(*parts) for parts in zip(counted, mixed, real, strict=True))
    return removed, ratios


def _categories(pseudo: tuple[Array, Array, Array], counts: Counts, w: Array, unit: bool) -> tuple[Array, Array]:
    share, own, total = pseudo
    first, rows = share[:, :, None] * own[:, None, :], share[:, :, None] * total[:, None, :]
    cell = first + without(counts.own, w), rows + without(counts.rows, w)
    among = own[:, None, :] + without(counts.seen, w), total[:, None, :] + without(counts.of_seen, w)
    single = own + without(counts.alone, w[:, 0]), total + without(counts.of_alone, w[:, 0])
    given = jnp.log(cell[0] / cell[1])
    ratios = given - jnp.log(single[0] / single[1])[:, None, :]
    if unit:  # Gamma(a + 1) / Gamma(a) = a
        return given - jnp.log(among[0] / among[1]), ratios
    rises = [log_gamma_ratio(one, w) for one in (*cell, *among)]
    return rises[0] - rises[1] - rises[2] + rises[3], ratios


def _reals_by_category(
    part: NormalStatistics, pooled: NormalStatistics, prior: Any, row: NormalStatistics, margin: Array, unit: bool
) -> tuple[Array, Array]:
    shaped = NormalInverseGamma(*(table[:, None] for table in prior))
    row = NormalStatistics(row.count[:, None], row.mean[:, None], row.squares)
    left, others = part.minus(row), pooled.minus(row)

    def predictive(statistics: NormalStatistics) -> Array:
        return log_student(student_cells(normal_inverse_gamma.update(shaped, statistics)), row.mean)

    def partition(statistics: NormalStatistics) -> Array:
        return normal_inverse_gamma.log_partition_ratio(shaped, statistics)

    given = predictive(left)
    if unit:  # one row changes the evidence by its predictive
        return given - predictive(others), given - margin
    return partition(part) - partition(left) - partition(pooled) + partition(others), given - margin


def _reals(
    moments: Moments, prior: NormalInverseGamma, partition: Array, x: Array, w: Array, margin: Array
) -> tuple[Array, Array]:
    parent, child = x[:, :, None], x[:, None, :]
    left = bivariate_normal.posterior(prior, moments.without(parent, child, w))
    given = bivariate_normal.log_conditional(bivariate_normal.conditional(left), parent, child)
    return partition - bivariate_normal.log_partition(left), given - margin
