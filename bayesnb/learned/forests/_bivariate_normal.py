"""Two real columns with a normal-inverse-Wishart prior: the second given the first, against the second alone.

    Sigma ~ InverseWishart(2 shape + 1, 2 diag(rate)), mu | Sigma ~ Normal(loc, Sigma / strength), x ~ Normal(mu, Sigma)

Each column alone has the normal-inverse-gamma prior (loc, strength, shape, rate), so the prior of the pair contradicts
none of a column: Dawid and Lauritzen, Hyper Markov laws in the statistical analysis of decomposable graphical models
(1993). If strength or shape of the columns differ, those of the second, the child, count. Pure functions; arrays are
tables of pairs, parents before children on the last two axes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp

from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._stable import log_gamma_ratio
from bayesnb.core.families.priors._normal_inverse_gamma import NormalInverseGamma

LOG_PI = math.log(math.pi)


class Moments(NamedTuple):
    """Of rows with both cells: their weight, both means, both sums of squared deviations, and that of the products."""

    count: Array
    parent_mean: Array
    child_mean: Array
    parent_squares: Array
    child_squares: Array
    product: Array

    def without(self, parent: Array, child: Array, weight: Array) -> Moments:
        """The moments without one row of this weight; a weight of 0 changes nothing."""
        left = jnp.maximum(self.count - weight, 0.0)
        known = jnp.where(left > 0, left, 1.0)
        share = jnp.where(left > 0, self.count * weight / known, 0.0)
        a, b = parent - self.parent_mean, child - self.child_mean
        empty, product = left <= 0, self.product - share * a * b
        squares, others = self.parent_squares - share * a * a, self.child_squares - share * b * b
        return Moments(
            left,
            self.parent_mean - weight / known * a,
            self.child_mean - weight / known * b,
            jnp.where(empty, 0.0, jnp.maximum(squares, 0.0)),
            jnp.where(empty, 0.0, jnp.maximum(others, 0.0)),
            jnp.where(empty, 0.0, product),
        )


class Pair(NamedTuple):
    """A posterior: mu's ``strength``, the ``degrees`` of freedom of each column, 2 shape', both means, the roots of the
    inverse Wishart's diagonal, its correlation, and log(1 - correlation^2). ``off`` marks pairs with a column without a
    scale.
    """

    strength: Array
    degrees: Array
    parent_loc: Array
    child_loc: Array
    parent_scale: Array
    child_scale: Array
    correlation: Array
    unexplained: Array
    off: Array


def posterior(prior: NormalInverseGamma, moments: Moments) -> Pair:
    """The posterior of all pairs of columns with these priors, [..., J]."""
    parent = NormalInverseGamma(*(table[..., :, None] for table in prior))
    child = NormalInverseGamma(*(table[..., None, :] for table in prior))
    off, count = parent.scaleless | child.scaleless, moments.count
    strength = child.strength + count
    shrunk = child.strength / strength * count
    a, b = moments.parent_mean - parent.loc, moments.child_mean - child.loc
    start = 2.0 * parent.proper_rate * (child.shape / parent.shape)  # at the child's shape: the same mean precision
    squares = jnp.sqrt(start + moments.parent_squares + shrunk * a * a)
    others = jnp.sqrt(2.0 * child.proper_rate + moments.child_squares + shrunk * b * b)
    correlation = (moments.product + shrunk * a * b) / squares / others
    limit = 1.0 - jnp.finfo(correlation.dtype).eps  # rounding must not make columns determine each other
    correlation = jnp.where(off, 0.0, jnp.clip(correlation, -limit, limit))
    return Pair(
        strength,
        2.0 * child.shape + count,
        parent.loc + count / strength * a,
        child.loc + count / strength * b,
        squares,
        others,
        correlation,
        jnp.log1p(-correlation * correlation),
        off,
    )


def log_bayes_factor(prior: NormalInverseGamma, moments: Moments) -> Array:
    """log p(child | parent) - log p(child), of the rows with both cells; 0 for columns without a scale."""
    if not moments.count.size:  # no columns: to trace it all would take as long as all else of a forest
        return moments.count
    nothing = Moments(*(0.0 * table for table in moments))
    return log_partition(posterior(prior, moments)) - log_partition(posterior(prior, nothing))


def log_partition(pair: Pair) -> Array:
    """The log partition of the pair less those of both columns, up to a constant."""
    scales = jnp.log(pair.parent_scale) + jnp.log(pair.child_scale)
    value = log_gamma_ratio(0.5 * pair.degrees, 0.5) - scales - 0.5 * (pair.degrees + 1.0) * pair.unexplained
    return jnp.where(pair.off, 0.0, value)


class Conditional(NamedTuple):
    """log p(child | parent) = offset - log(1 + a^2) / 2 - power log(1 + u^2), Student's t with 2 shape' + 1 degrees:

    a = (parent - parent_loc) parent_precision, b likewise, u = stretch (b - slope a) / sqrt(1 + a^2).
    """

    parent_loc: Array
    parent_precision: Array
    child_loc: Array
    child_precision: Array
    slope: Array
    stretch: Array
    power: Array
    offset: Array


def conditional(pair: Pair) -> Conditional:
    """The tables of a posterior; pairs that are ``off`` have density 1."""
    inflation = jnp.sqrt(1.0 + 1.0 / pair.strength)
    parent, child = (jnp.where(pair.off, 0.0, 1.0 / (s * inflation)) for s in (pair.parent_scale, pair.child_scale))
    stretch = 1.0 / jnp.sqrt((1.0 - pair.correlation) * (1.0 + pair.correlation))
    width = jnp.log(jnp.where(pair.off, 1.0, child)) - 0.5 * pair.unexplained
    offset = log_gamma_ratio(0.5 * (pair.degrees + 1.0), 0.5) - 0.5 * LOG_PI + width
    power, offset = (jnp.where(pair.off, 0.0, table) for table in (0.5 * pair.degrees + 1.0, offset))
    return Conditional(pair.parent_loc, parent, pair.child_loc, child, pair.correlation, stretch, power, offset)


def predictive(prior: NormalInverseGamma, moments: Moments) -> Conditional:
    """The tables of the posterior of all pairs."""
    if not moments.count.size:
        return Conditional(*[moments.count] * len(Conditional._fields))
    return conditional(posterior(prior, moments))


def log_conditional(table: Conditional, parent: Array, child: Array) -> Array:
    """log p(child | parent) of cells; broadcasts."""
    a, b = (parent - table.parent_loc) * table.parent_precision, (child - table.child_loc) * table.child_precision
    spread = 0.5 * stable.log1p_square(a)
    u = table.stretch * (b - table.slope * a) * jnp.exp(-spread)
    return table.offset - spread - table.power * stable.log1p_square(u)
