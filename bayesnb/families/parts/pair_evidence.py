"""The evidence that a column depends on another within the classes, for all pairs of columns.

    log prod_k M_k(x_j | x_i) / M_k(x_j),  over the rows of class k in which both cells are observed

Categories given categories: a Dirichlet for each category c of the parent, with the child's own concentration times the
prior's E[theta_ic]; columns with as many pseudo-rows then have a joint Dirichlet, as BDeu has: Heckerman, Geiger and
Chickering, Learning Bayesian networks (1995). Real cells given categories: the child's own prior in each category. Real
given real: ``priors.bivariate_normal``. Categories given a real cell have no closed form, and such pairs do not occur:
Lauritzen and Wermuth, Graphical models for associations between variables, some of which are qualitative (1989).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.families.parts.end_to_end import EndToEnd
from bayesnb.families.parts.pairs import PairLayout, PairPrior, PairStatistics
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.families.priors import bivariate_normal, normal_inverse_gamma
from bayesnb.families.priors.bivariate_normal import Moments
from bayesnb.families.priors.normal_inverse_gamma import NormalInverseGamma
from bayesnb.numerics import dirichlet
from bayesnb.primitives.codes import starts_of
from bayesnb.primitives.forest_sums import NEVER


def log_evidence_ratios(prior: PairPrior, statistics: PairStatistics) -> Array:
    """The log of that ratio [D, D], parents first; ``NEVER`` where no dependence is possible. Pure JAX.

    A column of one category, such as a histogram's without cuts, has no edges: they would be other words for no edge.
    """
    layout = PairLayout(statistics.sizes)
    num_codes, num_reals = len(layout.categories), prior.reals.loc.shape[1]
    counted = _categories(prior, statistics, layout)
    mixed = _reals_by_category(prior, statistics, layout)
    real = bivariate_normal.log_bayes_factor(prior.reals, joint_moments(statistics)).sum(axis=0)
    impossible = jnp.full((num_reals, num_codes), NEVER)
    ratios = jnp.block([[counted, mixed], [impossible, real]])
    same = np.array([*layout.categories, *[0] * num_reals]) == 1
    never = np.eye(num_codes + num_reals, dtype=bool) | same[:, None] | same[None, :]
    return jnp.where(never, NEVER, ratios)


def rows_prior(prior: PairPrior, layout: PairLayout) -> Array:
    """The concentration of the child's categories in each of the parent's, [K, S, S]."""
    parent = dirichlet.dirichlet_mean(prior.concentration, EndToEnd(layout.categories).total)
    return parent[:, :, None] * prior.concentration[:, None, :]


def over_categories(table: Array, layout: PairLayout) -> Array:
    """The sums over the categories of each column, [K, S, X] to [K, I, X]."""
    num_classes, size, width = table.shape
    flat = table.swapaxes(1, 2).reshape(num_classes * width, size)
    sums = EndToEnd(layout.categories).of_columns(flat)
    return sums.reshape(num_classes, width, len(layout.categories)).swapaxes(1, 2)


def at_categories(by_column: Array, layout: PairLayout) -> Array:
    """The values of columns [K, I, X], repeated for each of their categories, [K, S, X]."""
    return jnp.take(by_column, EndToEnd(layout.categories).columns, axis=1, mode="clip")


def joint_moments(statistics: PairStatistics) -> Moments:
    """The moments of two real columns, [K, J, J]."""
    centre, spread = statistics.centre, statistics.spread
    swapped = centre.swapaxes(1, 2), spread.swapaxes(1, 2)
    return Moments(statistics.both, centre, swapped[0], spread, swapped[1], statistics.product)


def where_seen(statistics: PairStatistics, layout: PairLayout) -> NormalStatistics:
    """Real columns in the rows where a column of categories is seen, [K, I, J]."""
    part, alone = statistics.by_category, statistics.alone.mean[:, None]  # about the column's mean little cancels
    count = over_categories(part.count, layout)
    mean = alone + over_categories(part.count * (part.mean - alone), layout) / jnp.where(count > 0, count, 1.0)
    apart = jnp.where(part.count > 0, part.mean - at_categories(mean, layout), 0.0)
    squares = over_categories(part.squares + part.count * jnp.square(apart), layout)
    return NormalStatistics(count, mean, squares)


def _categories(prior: PairPrior, statistics: PairStatistics, layout: PairLayout) -> Array:
    """[I, I]."""
    num_classes, size = prior.concentration.shape
    num_columns, starts = len(layout.categories), starts_of(layout.categories)[:-1]
    flat = EndToEnd(layout.categories)

    def evidence(concentration: Array, counts: Array) -> Array:
        """Of each column of categories, [K, X, S] to [K, X, I]."""
        rows = num_classes * counts.shape[1]
        prior = jnp.broadcast_to(concentration, counts.shape).reshape(rows, size)
        ratio = dirichlet.log_multivariate_beta_ratio(prior, counts.reshape(rows, size), flat.total)
        return ratio[:, starts].reshape(num_classes, counts.shape[1], num_columns)

    apart = over_categories(evidence(rows_prior(prior, layout), statistics.counts), layout)
    together = evidence(prior.concentration[:, None], over_categories(statistics.counts, layout))
    return (apart - together).sum(axis=0)


def _reals_by_category(prior: PairPrior, statistics: PairStatistics, layout: PairLayout) -> Array:
    """[I, J]."""

    def evidence(of_rows: NormalStatistics) -> Array:
        """Of each real column, [K, X, J]."""
        shape = of_rows.count.shape
        repeated = NormalInverseGamma(*(jnp.repeat(table, shape[1], axis=0) for table in prior.reals))
        rows = jax.tree.map(lambda table: table.reshape(repeated.loc.shape), of_rows)
        return normal_inverse_gamma.log_partition_ratio(repeated, rows).reshape(shape)

    apart = over_categories(evidence(statistics.by_category), layout)
    return (apart - evidence(where_seen(statistics, layout))).sum(axis=0)
