"""Leave-one-out predictions of a multivariate normal block, from rank-one updates of the scale matrix."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.primitives.distances import Distances, distances, log_student


@jax.jit
def left_out_rows(prior: Any, posterior: Any, rows: tuple[Distances, *tuple[Array, ...]]) -> Array:
    """log p(x | k, all rows but this one), [N, K], without new matrix factors: the scale S loses c u u', of rank one.

    With u = x - loc_y, loc_y without the row, v = x - loc_k and c = w strength / (strength + w): (S - c u u')^-1 = S^-1
    + c S^-1 u u' S^-1 / (1 - c u' S^-1 u), |S - c u u'| = |S| (1 - c u' S^-1 u), and u' S^-1 v from the squared
    distances of u, v and u - v. If the row is alone in its class, loc_y is the prior's.
    """
    (squares, log_det, count), alone, left, df, y, weight = rows
    own = jnp.arange(squares.shape[1])[None] == y[:, None]
    lost = own | posterior.shared
    weight, left = (jnp.where(count > 0, part, 0.0)[:, None] for part in (weight, left))
    before = posterior.strength[y][:, None]
    strength = jnp.where(weight > 0, prior.strength[y][:, None] + left, before)
    stretch, is_alone = before / strength, (weight > 0) & (left == 0)
    factor = weight * (strength / before)  # not weight / stretch: XLA turns it into a product that overflows
    near, from_prior = (jnp.take_along_axis(table, y[:, None], axis=1) for table in (squares, alone))
    own_square = jnp.where(is_alone, from_prior, jnp.square(stretch) * near)
    rest = jnp.maximum(1.0 - factor * own_square, jnp.finfo(near.dtype).tiny)
    cross = 0.0 * squares
    if posterior.shared:
        centres, origins = (distances(posterior.loc, posterior.scale, f.loc).squares[y] for f in (posterior, prior))
        cross = jnp.where(is_alone, from_prior + squares - origins, stretch * (near + squares - centres)) / 2
    squares = jnp.where(own, own_square / rest, squares + factor * cross * cross / rest)
    log_det = log_det + jnp.where(lost, jnp.log(rest), 0.0)
    strength = jnp.where(own, strength, posterior.strength[None])
    df = jnp.where(lost, df[:, None], posterior.df[None]) - posterior.loc.shape[1] + 1.0
    width = (1.0 + 1.0 / strength) / df
    return log_student(df, Distances(squares / width, log_det + count[:, None] * jnp.log(width), count))
