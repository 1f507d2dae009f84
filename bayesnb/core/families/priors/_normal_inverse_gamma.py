"""The normal-inverse-gamma prior: sigma2 ~ InverseGamma(shape, rate), mu | sigma2 ~ Normal(loc, sigma2 / strength).

The statistics that it is updated by, and pure functions of its hyperparameters, the predictive, Student's t, among
them. If the classes share the variance, shape and rate are [1, D] beside loc [K, D]. A column with rate 0 has no scale:
its values are constant, and it stays so. Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007),
section 3.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array, pytree
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives.products._student import Student
from bayesnb.core.families.parts._statistics import (
    Statistics,
    common_mean,
    others_of,
    over,
    pooled_mean,
    require_squares,
    require_sums,
    without,
)


@pytree
class NormalStatistics(Statistics):
    """``count``, ``mean`` and ``squares`` (the sum of squared deviations from the mean), each [K, D]."""

    count: Array
    mean: Array
    squares: Array

    axes = (("count", "KD"), ("mean", "KD"), ("squares", "KD"))

    def merge(self, other: Self) -> Self:
        mean, change, count, share = common_mean(self.mean, self.count, other.mean, other.count)
        return type(self)(count, mean, self.squares + other.squares + change * change * self.count * share)

    def pool(self) -> Self:
        mean, deviations = pooled_mean(self.mean, self.count)
        squares = self.squares + deviations * deviations * self.count
        return type(self)(self.count.sum(axis=0, keepdims=True), mean, squares.sum(axis=0, keepdims=True))

    def without(self, x: Array, y: Array, weight: Array) -> Self:
        """The statistics of each row's class without the row's own cells, [N, D]."""
        missing, of_class = jnp.isnan(x), jax.tree.map(lambda table: table[y], self)
        cells = type(self)(jnp.where(missing, 0.0, weight[:, None]), x, jnp.zeros(()))
        return of_class.minus(cells)

    def minus(self, part: Self) -> Self:
        left = without(self.count, part.count)
        change = either.where(part.count > 0, part.mean - self.mean, 0.0)
        share = either.where(left > 0, part.count / either.where(left > 0, left, 1.0), 0.0)
        between = self.count * share * either.square(change)
        lost = either.where(left > 0, part.squares + between, self.squares)
        return type(self)(left, self.mean - share * change, without(self.squares, lost))

    @property
    def observed_cells(self) -> Array:
        return self.count

    def require_part(self, part: Self, block: str) -> None:
        require_sums(f"block {block!r}", "count", self.count, part.count)
        require_squares(f"block {block!r}", *((s.count, s.mean, s.squares) for s in (self, part)))

    @property
    def variance(self) -> Array:
        """Sum of squared deviations over n, 0 for fewer than two values."""
        return over(self.squares, self.count)


class NormalInverseGamma(NamedTuple):
    """The hyperparameters, arrays that broadcast against each other."""

    loc: Array
    strength: Array
    shape: Array
    rate: Array

    @property
    def scaleless(self) -> Array:
        """True for columns without a scale, which have factor 1."""
        return jnp.asarray(self.rate) == 0

    @property
    def proper_rate(self) -> Array:
        """The rate, or 1 for columns without a scale: the prior stays proper, and its variance is not used."""
        return jnp.where(self.scaleless, 1.0, self.rate)


def sum_shared(table: Array, like: Array) -> Array:
    """The table [K, ...], or its sum over the classes if the table ``like`` has one row for all of them."""
    return table.sum(axis=0, keepdims=True) if like.shape[0] < table.shape[0] else table


def update(prior: NormalInverseGamma, statistics: NormalStatistics) -> NormalInverseGamma:
    """The posterior; the formulas are in ``Normal``."""
    n = statistics.count
    strength = prior.strength + n
    loc = prior.loc + n / strength * (statistics.mean - prior.loc)
    rate = prior.rate + 0.5 * sum_shared(_squares(prior, statistics), prior.rate)
    return NormalInverseGamma(
        loc=jnp.where(prior.scaleless, prior.loc, loc),
        strength=strength,
        shape=prior.shape + 0.5 * sum_shared(n, prior.shape),
        rate=jnp.where(prior.scaleless, 0.0, rate),
    )


def _squares(prior: NormalInverseGamma, statistics: NormalStatistics) -> Array:
    """What each class adds to twice the rate: S + strength n (m - loc)^2 / strength'."""
    shrunk = prior.strength / (prior.strength + statistics.count) * statistics.count
    return statistics.squares + shrunk * jnp.square(statistics.mean - prior.loc)


def leave_out(
    prior: NormalInverseGamma, statistics: NormalStatistics, x: Array, y: Array, weight: Array
) -> NormalInverseGamma:
    """The posterior of each row's class without the row's own cells, every hyperparameter [N, D]."""
    shared = prior.rate.shape[0] < prior.loc.shape[0]
    own = jnp.zeros_like(y) if shared else y
    of_row = NormalInverseGamma(prior.loc[y], prior.strength[y], prior.shape[own], prior.rate[own])
    posterior = update(of_row, statistics.without(x, y, weight))
    if not shared:
        return posterior
    count, squares = (others_of(table) for table in (statistics.count, _squares(prior, statistics)))
    rate = jnp.where(of_row.scaleless, 0.0, posterior.rate + 0.5 * squares[y])
    return posterior._replace(shape=posterior.shape + 0.5 * count[y], rate=rate)


def leave_out_by_class(
    prior: NormalInverseGamma, statistics: NormalStatistics, x: Array, y: Array, weight: Array
) -> NormalInverseGamma:
    """The posteriors of all classes without each row, [N, K, D]: a row changes a shared variance in every class."""
    posterior = update(prior, statistics)
    left = jax.tree.map(lambda table: table[:, None], leave_out(prior, statistics, x, y, weight))
    own = (jnp.arange(prior.loc.shape[0])[None] == y[:, None])[:, :, None]
    loc = jnp.where(own, left.loc, posterior.loc[None])
    return left._replace(loc=loc, strength=jnp.where(own, left.strength, posterior.strength[None]))


def mode(prior: NormalInverseGamma) -> tuple[Array, Array]:
    """The joint mode of the means and variances: mu = loc, sigma2 = rate / (shape + 1 + 1/2 per mean of the column)."""
    means_per_variance = prior.loc.shape[0] // prior.rate.shape[0]
    return prior.loc, prior.rate / (prior.shape + 1.0 + 0.5 * means_per_variance)


def log_partition(prior: NormalInverseGamma) -> Array:
    """log Gamma(shape) - shape log rate - log(strength) / 2, up to a constant; 0 for columns without a scale."""
    strengths = sum_shared(jnp.log(prior.strength), prior.rate)
    value = gammaln(prior.shape) - prior.shape * jnp.log(prior.proper_rate) - 0.5 * strengths
    return jnp.where(prior.scaleless, 0.0, value)


def log_partition_ratio(prior: NormalInverseGamma, statistics: NormalStatistics) -> Array:
    """The posterior's log partition minus the prior's."""
    rate, grown = prior.proper_rate, 0.5 * sum_shared(_squares(prior, statistics), prior.rate)
    shapes = stable.log_gamma_ratio(prior.shape, 0.5 * sum_shared(statistics.count, prior.shape), rate + grown)
    strengths = sum_shared(jnp.log1p(statistics.count / prior.strength), prior.rate)
    value = shapes - prior.shape * jnp.log1p(grown / rate) - 0.5 * strengths
    return jnp.where(prior.scaleless, 0.0, value)


def centre(prior: NormalInverseGamma, statistics: NormalStatistics) -> tuple[NormalInverseGamma, NormalStatistics]:
    """The prior and statistics in coordinates where the posterior is of order one."""
    centre, scale = units(prior, statistics)
    moved = prior._replace(loc=(prior.loc - centre) / scale, rate=prior.rate / jnp.square(scale))
    mean = jnp.where(statistics.count > 0, (statistics.mean - centre) / scale, 0.0)
    return moved, NormalStatistics(statistics.count, mean, statistics.squares / jnp.square(scale))


def units(prior: NormalInverseGamma, statistics: NormalStatistics) -> tuple[Array, Array]:
    """The posterior mean of mu, and the root of the posterior's rate / shape."""
    posterior = update(prior, statistics)
    return posterior.loc, jnp.sqrt(posterior.proper_rate / posterior.shape)


# the predictive, Student's t with 2 shape degrees of freedom


def student(prior: NormalInverseGamma) -> Student:
    """The predictive, with 2 shape degrees of freedom; columns without a scale have factor 1."""
    prior = NormalInverseGamma(*jnp.broadcast_arrays(*prior))
    precision, offset = precision_and_offset(prior)
    loc, shape, off = prior.loc, prior.shape, prior.scaleless
    centre = products.centre_of(loc)
    loc, precision = loc - centre, jnp.where(off, 0.0, precision)
    power, offset = (jnp.where(off, 0.0, table) for table in (shape + 0.5, offset))
    condition = jnp.max(jnp.abs(loc) * precision * jnp.sqrt(2.0 * power), initial=0.0)
    return Student(loc, precision, power, offset, centre, condition)


def raise_student(table: Student, powers: Array) -> Student:
    """The log densities of columns times powers, [D] or [1]."""
    return table._replace(power=powers[None] * table.power, offset=powers[None] * table.offset)


def log_student_cells(prior: NormalInverseGamma, x: Array) -> Array:
    """The log predictive, cell by cell; 0 for NaN and for columns without a scale."""
    precision, offset = precision_and_offset(prior)
    missing = jnp.isnan(x)
    z = jnp.where(missing, 0.0, x - prior.loc) * precision
    return jnp.where(missing | prior.scaleless, 0.0, offset - (prior.shape + 0.5) * stable.log1p_square(z))


def precision_and_offset(prior: NormalInverseGamma) -> tuple[Array, Array]:
    """The precision, 1 / sqrt(2 rate (strength + 1) / strength), and the constant of the log density."""
    inflation = 1.0 / prior.strength
    precision = jnp.sqrt(0.5 / prior.proper_rate) / jnp.sqrt(1.0 + inflation)
    log_width = jnp.log(2.0 * jnp.pi * prior.proper_rate) + jnp.log1p(inflation)
    return precision, stable.log_gamma_ratio(prior.shape, 0.5) - 0.5 * log_width
