"""NumPyro distributions of cuts, and of the probabilities of cells given cuts."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.scipy.special import gammaln
from numpyro.distributions import constraints

from bayesnb.arrays.placement import Array
from bayesnb.families.priors.segments import join_cells
from bayesnb.numerics.log_gamma import log_gamma_ratio
from bayesnb.primitives.segmentations import draw_segmentation, log_prior_of_count, sum_segmentations


class Cuts(dist.Distribution):
    """Cuts [D, G - 1], 1 or 0, whose segments have weights exp(``log_weight``), by the table that ``which`` [D] says.

    ``log_weight`` [A, D, G, G] are the tables of the columns, and ``real`` [D, G - 1] is 1 for a boundary of cells.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"log_weight": constraints.dependent, "real": constraints.dependent}
    support = constraints.independent(constraints.boolean, 1)
    pytree_data_fields = ("log_weight", "real", "which")

    def __init__(self, log_weight: Array, real: Array, which: Array) -> None:
        self.log_weight, self.real, self.which = log_weight, real, which
        super().__init__(batch_shape=jnp.shape(real)[:-1], event_shape=jnp.shape(real)[-1:], validate_args=False)

    def log_prob(self, value: Array) -> Array:
        """The log probability of cuts, [D]."""
        columns, size = jnp.arange(len(self.real)), self.real.shape[-1] + 1
        which, tables = self.which.astype(int), self.log_weight
        prior = log_prior_of_count(self.real)[columns, value.sum(axis=-1).astype(int)]
        one = jnp.ones((len(self.real), 1), bool)
        ends, begins = (jnp.concatenate(parts, axis=-1) for parts in ((value > 0, one), (one, value > 0)))
        start = jax.lax.cummax(jnp.where(begins, jnp.arange(size)[None], 0), axis=1)
        segments = tables[which[:, None], columns[:, None], start, jnp.arange(size)[None]]
        # the sums of all tables: under vmap they are the same for every draw
        real = jnp.broadcast_to(self.real[None], (len(tables), *self.real.shape))
        whole = sum_segmentations(tables, real)[0][which, columns]
        logs = prior + jnp.where(ends, segments, 0.0).sum(axis=-1) - whole
        return jnp.where(((value <= 0) | (self.real > 0)).all(axis=-1), logs, -jnp.inf)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Exact draws of cuts, [..., D, G - 1]."""
        if sample_shape:
            keys = jax.random.split(key, sample_shape[0])
            return jax.vmap(lambda one: self.sample(one, sample_shape[1:]))(keys)
        return draw_segmentation(key, self.log_weight, self.real, self.which)


class SegmentProbs(dist.Distribution):
    """Probabilities v of cells, [K, D, G]: those of segments are Dirichlet(a_s + c_s), their shares Dirichlet(a_g).

        log p(v) = log Dirichlet(v; a) + sum_s [c_s log V_s - log Gamma(a_s + c_s) / Gamma(a_s)]
                   + log Gamma(A + n) / Gamma(A),    A = sum_g a_g,  n = sum_g c_g

    with ``concentration`` a [D, G], 0 for cells that do not exist, ``counts`` c and ``cuts`` [D, G - 1]. Without counts
    it is Dirichlet(a), whatever the cuts, since sums of Dirichlet probabilities are Dirichlet.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration": constraints.dependent,
        "counts": constraints.dependent,
    }
    support = constraints.simplex
    pytree_data_fields = ("concentration", "counts", "cuts")

    def __init__(self, concentration: Array, counts: Array, cuts: Array) -> None:
        self.concentration, self.counts, self.cuts = concentration, counts, cuts
        shape = jnp.broadcast_shapes(jnp.shape(concentration), jnp.shape(counts), (*jnp.shape(cuts)[:-1], 1))
        super().__init__(batch_shape=shape[:-1], event_shape=shape[-1:], validate_args=False)

    def log_prob(self, value: Array) -> Array:
        """The log density on the simplex of cells, [..., K, D]."""
        a = self.concentration
        some = a > 0
        safe = jnp.where(some & (value > 0), value, 1.0)
        cells = jnp.where(some, (a - 1.0) * jnp.log(safe) - gammaln(jnp.where(some, a, 1.0)), 0.0).sum(axis=-1)
        ends = jnp.concatenate([self.cuts > 0, jnp.ones((*self.cuts.shape[:-1], 1), bool)], axis=-1)
        whole, mass, rows = (join_cells(x, self.cuts) for x in (value, a, self.counts))
        seen = ends & (mass > 0)
        here = rows * jnp.log(jnp.where(whole > 0, whole, 1.0)) - log_gamma_ratio(jnp.where(seen, mass, 1.0), rows)
        total, n = a.sum(axis=-1), self.counts.sum(axis=-1)
        return cells + jnp.where(seen, here, 0.0).sum(axis=-1) + gammaln(total + n)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws, [..., K, D, G]."""
        keys, shape = jax.random.split(key), (*sample_shape, *self.batch_shape, *self.event_shape)
        mass, rows = join_cells(self.concentration, self.cuts), join_cells(self.counts, self.cuts)

        def logs(key: Any, a: Array) -> Array:
            a = jnp.broadcast_to(a, shape)
            return jnp.where(a > 0, jax.random.loggamma(key, jnp.where(a > 0, a, 1.0)), -jnp.inf)

        ends = jnp.concatenate([self.cuts > 0, jnp.ones((*self.cuts.shape[:-1], 1), bool)], axis=-1)
        segments = jax.nn.softmax(jnp.where(ends, logs(keys[0], mass + rows), -jnp.inf), axis=-1)
        shares = jax.nn.softmax(logs(keys[1], self.concentration), axis=-1)
        inside = join_cells(shares, self.cuts)
        even = join_cells(self.concentration, self.cuts)
        return join_cells(segments, self.cuts) * jnp.where(
            inside > 0, shares / jnp.where(inside > 0, inside, 1.0), self.concentration / jnp.where(even > 0, even, 1.0)
        )
