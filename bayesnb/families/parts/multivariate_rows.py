"""Multivariate normals: rows, of which constant columns have variance 0."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from bayesnb.arrays.placement import Array
from bayesnb.families.base import sum_shared
from bayesnb.families.parts.statistics import MultivariateNormalStatistics
from bayesnb.numerics.covariances import (
    inside,
    log_determinant,
    log_determinant_excess,
    outer,
    proper,
    variances,
    whiten,
)
from bayesnb.primitives.distances import LOG_2PI


class NormalOfSeen(dist.Distribution):
    """The normal distribution of those cells of a row that are ``seen`` [..., D]; the others have density one."""

    arg_constraints: ClassVar = {
        "loc": dist.constraints.real_vector,
        "covariance_matrix": dist.constraints.positive_semidefinite,
    }
    pytree_data_fields = ("loc", "covariance_matrix", "seen")
    support = dist.constraints.real_vector

    def __init__(self, loc: Array, covariance_matrix: Array, seen: Array) -> None:
        self.loc, self.covariance_matrix, self.seen = loc, covariance_matrix, seen
        super().__init__(seen.shape[:-1], seen.shape[-1:], validate_args=False)

    def log_prob(self, value: Array) -> Array:
        """Other cells are set to their mean, with variance one, and their density is subtracted."""
        law = dist.MultivariateNormal(self.loc, covariance_matrix=proper(self.covariance_matrix, self.seen))
        return law.log_prob(jnp.where(self.seen, value, self.loc)) + 0.5 * LOG_2PI * (~self.seen).sum(axis=-1)


def generating(loc: Array, covariance: Array) -> Array:
    """The covariance, with a narrow variance for columns that are constant."""
    narrow = jnp.square(1e-6 * (1.0 + jnp.abs(loc)))[..., None] * jnp.eye(loc.shape[-1])
    return jnp.where(inside(variances(covariance) > 0), covariance, narrow)


@jax.jit
def sample_normals(loc: Array, covariance: Array, noise: Array, draw: Array, y: Array) -> Array:
    """Rows m + L e of classes ``y``, [N, D], from draws of the parameters; one factor for each draw and class."""
    factor = jnp.linalg.cholesky(generating(loc, covariance))
    own = y if factor.shape[1] > 1 else jnp.zeros_like(y)
    varying = jax.lax.map(lambda row: factor[row[0], row[1]] @ row[2], (draw, own, noise), batch_size=16)
    constant = (variances(covariance) == 0)[draw, own]
    return loc[draw, y] + jnp.where(constant, 0.0, varying)


def precision_form(loc: Array, covariance: Array) -> tuple[Array, Array, Array, Array]:
    """P, w, b, l with log p(x | k) = -x' P x / 2 + w x + b - l / 2 up to a constant; P [T, D, D] are precisions."""
    on = variances(covariance) > 0
    factor = jnp.linalg.cholesky(proper(covariance, on))
    precision = jnp.where(inside(on), jnp.linalg.inv(proper(covariance, on)), 0.0)
    coefficients = (precision @ loc[:, :, None])[:, :, 0]
    return precision, coefficients, -0.5 * (loc * coefficients).sum(axis=1), log_determinant(factor)


def log_ratio_of_rows(
    statistics: MultivariateNormalStatistics, before: tuple[Array, Array], after: tuple[Array, Array], on: Array
) -> Array:
    """The log likelihood of rows at means and covariances ``after`` minus that ``before``, over the columns ``on``."""
    n, (loc, old), (new_loc, new) = statistics.count, before, after
    old, new = proper(old, on), proper(new, on)
    fitted = jnp.where(inside(on), outer(statistics.mean - loc) * n[:, None, None] + statistics.scatter, 0.0)
    bend = log_determinant_excess(sum_shared(n, old), sum_shared(fitted, old), old, new, on)
    moved = jnp.where(on, new_loc - loc, 0.0)
    pull = jnp.where(on, 2.0 * (loc - statistics.mean), 0.0) + moved
    metric = jnp.linalg.cholesky(new)
    shift = n * (whiten(metric, moved) * whiten(metric, pull)).sum(axis=-1)
    return -0.5 * (bend.sum() + shift.sum())
