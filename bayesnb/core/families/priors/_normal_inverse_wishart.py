"""The normal-inverse-Wishart prior: Sigma ~ InverseWishart(df, scale), mu | Sigma ~ Normal(loc, Sigma / strength).

The statistics that it is updated by, and pure functions of its hyperparameters. If the classes share the covariance, df
is [1] and scale is [1, D, D] beside loc [K, D] and strength [K]. A column with variance 0 in the scale is constant, and
it stays so. Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007), section 9.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._compute import compute, compute_rows
from bayesnb.compute.arrays._placement import Array, known, pytree
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._covariances import (
    inside,
    log_partition_wishart,
    log_wishart_ratio,
    outer,
    proper,
    variances,
    whiten,
)
from bayesnb.compute.numerics._one_by_one import factors
from bayesnb.compute.primitives._distances import Distances, distances, log_student, whitening
from bayesnb.core.families.parts._statistics import (
    Statistics,
    common_mean,
    others_of,
    over,
    pooled_mean,
    require_scatter,
    require_squares,
    require_sums,
    without,
)
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics, sum_shared


@pytree
class MultivariateNormalStatistics(Statistics):
    """``mean`` [K, D], ``count`` [K] of rows, and ``scatter`` [K, D, D], the sum of d d' for deviations d of rows."""

    mean: Array
    count: Array
    scatter: Array

    axes = (("mean", "KD"), ("count", "K"), ("scatter", "KDD"))

    def check(self, block: str, num_classes: int) -> None:
        """Check the scatter as well: it must be positive semi-definite, up to rounding."""
        super().check(block, num_classes)
        scatter = np.asarray(self.scatter, np.float64)
        rounding = 1e-4 * np.abs(scatter).max(initial=0.0)
        try:
            np.linalg.cholesky(scatter + (rounding + 1e-300) * np.eye(self.num_columns))
            symmetric = (np.abs(scatter - scatter.swapaxes(1, 2)) <= rounding).all()
        except np.linalg.LinAlgError:
            symmetric = False
        if not symmetric:
            raise ValueError(f"statistics of block {block!r}: scatter must be symmetric and positive semi-definite")

    def merge(self, other: Self) -> Self:
        pair = self.mean, self.count[:, None], other.mean, other.count[:, None]
        mean, change, count, share = common_mean(*pair)
        between = (self.count[:, None] * share)[:, :, None] * change[:, :, None] * change[:, None, :]
        return type(self)(mean, count[:, 0], self.scatter + other.scatter + between)

    def minus(self, part: Self) -> Self:
        alone = (NormalStatistics(s.count[:, None], s.mean, s.variances) for s in (self, part))
        left = NormalStatistics.minus(*alone)
        some = left.squares > 0
        change = either.where(part.count[:, None] > 0, part.mean - left.mean, 0.0)
        share = left.count[:, 0] * part.count / either.where(self.count > 0, self.count, 1.0)
        between = share[:, None, None] * change[:, :, None] * change[:, None, :]
        left_over = self.scatter - part.scatter - between
        scatter = either.where(some[:, :, None] & some[:, None, :], left_over, 0.0)
        return type(self)(left.mean, left.count[:, 0], scatter)

    def require_part(self, part: Self, block: str) -> None:
        require_sums(f"block {block!r}", "count", self.count, part.count)
        require_squares(f"block {block!r}", *((s.count[:, None], s.mean, s.variances) for s in (self, part)))
        require_scatter(f"block {block!r}", self.scatter, self.minus(part).scatter)

    def pool(self) -> Self:
        mean, deviations = pooled_mean(self.mean, self.count[:, None])
        between = deviations[:, :, None] * deviations[:, None, :] * self.count[:, None, None]
        scatter = (self.scatter + between).sum(axis=0, keepdims=True)
        return type(self)(mean, self.count.sum(keepdims=True), scatter)

    @property
    def variances(self) -> Array:
        """The sums of squared deviations of each column, [K, D]."""
        return self.scatter.diagonal(axis1=1, axis2=2)

    @property
    def covariance(self) -> Array:
        """Scatter over n, [K, D, D]; 0 for a class without rows."""
        return over(self.scatter, self.count[:, None, None])


class NormalInverseWishart(NamedTuple):
    """The hyperparameters."""

    loc: Array
    strength: Array
    df: Array
    scale: Array

    @property
    def varying(self) -> Array:
        """False for columns without a scale, which have factor 1, [K, D] or [1, D]."""
        return variances(jnp.asarray(self.scale)) > 0

    @property
    def marginal_df(self) -> Array:
        """Degrees of freedom of the columns that vary: those of a marginal of the inverse Wishart."""
        return self.df - (~self.varying).sum(axis=1)

    def cut(self, matrix: Array) -> Array:
        """The matrix with zeros for the columns without a scale."""
        return jnp.where(inside(self.varying), matrix, 0.0)


def update(prior: NormalInverseWishart, statistics: MultivariateNormalStatistics) -> NormalInverseWishart:
    """The posterior; the formulas are in ``MultivariateNormal``."""
    strength = prior.strength + statistics.count
    loc = prior.loc + (statistics.count / strength)[:, None] * (statistics.mean - prior.loc)
    return NormalInverseWishart(
        loc=jnp.where(prior.varying, loc, prior.loc),
        strength=strength,
        df=prior.df + sum_shared(statistics.count, prior.df),
        scale=prior.cut(prior.scale + _scatter(prior, statistics)),
    )


def _scatter(prior: NormalInverseWishart, statistics: MultivariateNormalStatistics) -> Array:
    """What the rows add to the scale: S + strength n (m - loc)(m - loc)' / strength'."""
    shrunk = prior.strength / (prior.strength + statistics.count) * statistics.count
    of_classes = statistics.scatter + shrunk[:, None, None] * outer(statistics.mean - prior.loc)
    return sum_shared(of_classes, prior.scale)


def mean(prior: NormalInverseWishart) -> tuple[Array, Array]:
    """The mean of mu; for Sigma, whose mean may not exist, the inverse of the mean precision."""
    return prior.loc, prior.cut(proper(prior.scale, prior.varying) / prior.df[:, None, None])


def mode(prior: NormalInverseWishart) -> tuple[Array, Array]:
    """The joint mode of the means and covariances of d columns: Sigma = scale / (df + d + 1 + its number of means)."""
    means_per_covariance = prior.loc.shape[0] // prior.scale.shape[0]
    divisor = prior.marginal_df + prior.varying.sum(axis=1) + 1.0 + means_per_covariance
    return prior.loc, prior.cut(prior.scale / divisor[:, None, None])


def centre(
    prior: NormalInverseWishart, statistics: MultivariateNormalStatistics
) -> tuple[NormalInverseWishart, MultivariateNormalStatistics]:
    """The prior and statistics in coordinates where the posterior is of order one."""
    n, (centre, _, inverse) = statistics.count, units(prior, statistics)
    scale = prior.cut(inverse @ prior.scale @ inverse.mT)
    mean = jnp.where(n[:, None] > 0, whiten(inverse, statistics.mean - centre), 0.0)
    moved = MultivariateNormalStatistics(mean, n, inverse @ statistics.scatter @ inverse.mT)
    return prior._replace(loc=whiten(inverse, prior.loc - centre), scale=scale), moved


def units(prior: NormalInverseWishart, statistics: MultivariateNormalStatistics) -> tuple[Array, Array, Array]:
    """The posterior mean of mu, and the factor of the posterior's scale / df with its inverse."""
    posterior = update(prior, statistics)
    return posterior.loc, *factors(proper(posterior.scale, prior.varying) / posterior.df[:, None, None])


def log_partition(prior: NormalInverseWishart) -> Array:
    """The log normalising constant, up to one of D alone, [K, 1]; columns without a scale do not count."""
    on, strengths = prior.varying, sum_shared(jnp.log(prior.strength), prior.df)
    value = log_partition_wishart(prior.marginal_df, prior.scale, on) - 0.5 * on.sum(axis=1) * strengths
    return value[:, None]


def log_partition_ratio(prior: NormalInverseWishart, statistics: MultivariateNormalStatistics) -> Array:
    """The posterior's log partition minus the prior's, [K, 1]."""
    on, count = prior.varying, sum_shared(statistics.count, prior.df)
    change = log_wishart_ratio(prior.marginal_df, count, prior.scale, prior.cut(_scatter(prior, statistics)), on)
    strengths = sum_shared(jnp.log1p(statistics.count / prior.strength), prior.df)
    return (change - 0.5 * on.sum(axis=1) * strengths)[:, None]


def log_left_out(
    prior: NormalInverseWishart, posterior: NormalInverseWishart, count: Array, x: Array, y: Array, weight: Array
) -> Array:
    """log p(x | k, all rows but this one), [N, K]; ``count`` [K] are the rows of each class."""
    left = without(count[y], weight)
    between = distances(compute(whitening, posterior.loc, posterior.scale), x)
    df = left + (prior.df[y] if _own(prior) else prior.df[0] + others_of(count)[y])
    # if a row is alone in its class, its difference from the class mean is pure rounding: use the prior mean
    rest = known(left)
    some = rest is None or (rest == 0).any()
    alone = distances(compute(whitening, prior.loc, posterior.scale), x) if some else between
    return compute_rows(_log_left_out, (prior, posterior), (between, alone, left, df, y, weight))


def _own(prior: NormalInverseWishart) -> bool:
    return len(prior.df) == len(prior.loc)


@jax.jit
def _log_left_out(
    prior: NormalInverseWishart, posterior: NormalInverseWishart, rows: tuple[Distances, Distances, *tuple[Array, ...]]
) -> Array:
    """log p(x | k, all rows but this one), [N, K], without new matrix factors: the scale S loses c u u', of rank one.

    With u = x - loc_y, loc_y without the row, v = x - loc_k and c = w strength / (strength + w): (S - c u u')^-1 = S^-1
    + c S^-1 u u' S^-1 / (1 - c u' S^-1 u), |S - c u u'| = |S| (1 - c u' S^-1 u), and u' S^-1 v from the squared
    distances of u, v and u - v. If the row is alone in its class, loc_y is the prior's.
    """
    between, alone, left, df, y, weight = rows
    squares, (_, log_det, count) = between.squares, between
    own = jnp.arange(squares.shape[1])[None] == y[:, None]
    shared = not _own(posterior)
    lost = own | shared
    weight, left = (jnp.where(count > 0, part, 0.0)[:, None] for part in (weight, left))
    before = posterior.strength[y][:, None]
    strength = jnp.where(weight > 0, prior.strength[y][:, None] + left, before)
    stretch, is_alone = before / strength, (weight > 0) & (left == 0)
    factor = weight * (strength / before)  # not weight / stretch: XLA turns it into a product that overflows
    near, from_prior = (jnp.take_along_axis(table, y[:, None], axis=1) for table in (squares, alone.squares))
    own_square = jnp.where(is_alone, from_prior, jnp.square(stretch) * near)
    rest = jnp.maximum(1.0 - factor * own_square, jnp.finfo(near.dtype).tiny)
    cross = 0.0 * squares
    if shared:
        about = whitening(posterior.loc, posterior.scale)
        centres, origins = (distances(about, f.loc).squares[y] for f in (posterior, prior))
        cross = jnp.where(is_alone, from_prior + squares - origins, stretch * (near + squares - centres)) / 2
    squares = jnp.where(own, own_square / rest, squares + factor * cross * cross / rest)
    log_det = log_det + jnp.where(lost, jnp.log(rest), 0.0)
    strength = jnp.where(own, strength, posterior.strength[None])
    df = jnp.where(lost, df[:, None], posterior.df[None]) - posterior.loc.shape[1] + 1.0
    width = (1.0 + 1.0 / strength) / df
    return log_student(df, Distances(stable.root(squares / width), log_det + count[:, None] * jnp.log(width), count))
