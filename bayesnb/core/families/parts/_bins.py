"""NumPyro distributions of a histogram: of cuts, of the probabilities of bins given cuts, and of numbers in bins.

Inside a bin every class has the same density. It is uniform between two edges; in an outer bin, beyond the last edge,
it falls exponentially over the width of the neighbouring bin, or over 1 if there is none. A bin that is one value
which repeats, a point mass, or that has no edge at all, has no width: its density is its probability.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import gammaln
from numpyro.distributions import constraints

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics._stable import log_gamma_ratio
from bayesnb.compute.primitives import _segmentations as segmentations
from bayesnb.compute.primitives._codes import MISSING, find_bins
from bayesnb.core.families.priors._segments import join_bins, segment_ends


class Spans(NamedTuple):
    """Of each bin, [D, G]: ``start``, an edge; ``width``, 1 for bins without one; and ``side``, -1 for the outer bin
    below all edges, 1 for that above and 0 for the others. ``plain`` is False for point masses and padding bins.
    """

    start: Array
    width: Array
    side: Array
    plain: Array


def spans_of(edges: Array, points: Array) -> Spans:
    """The spans of bins with these edges [D, E] and point masses [D, G]."""
    real = either.isfinite(edges)
    last, at = real.sum(axis=-1)[:, None], np.arange(points.shape[1])[None]
    bounded = either.where(real, edges, 0.0)
    inner = either.where(real[:, 1:], bounded[:, 1:] - bounded[:, :-1], 1.0)
    one = either.ones_like(bounded[:, :1])
    width = either.concatenate([one, inner, one], axis=1)
    # an outer bin is as wide as its neighbour
    neighbour = either.where(at == 0, 1, either.where(at == last, last - 1, at))
    width = either.take_along_axis(width, either.clip(neighbour, 0, points.shape[1] - 1), axis=1)
    plain = ~either.isfinite(points) & (last > 0) & (at <= last)
    side = either.where(plain, either.where(at == 0, -1, either.where(at == last, 1, 0)), 0)
    start = either.concatenate([bounded[:, :1], bounded], axis=1)
    return Spans(start, either.where(plain & (width > 0), width, 1.0), side, plain)


def tails(spans: Spans, x: Array, codes: Array) -> Array:
    """How far numbers lie beyond the outermost edges, in widths of the outer bin, [N, D]; 0 for NaN. ``codes`` are
    those of their bins.
    """
    own = either.maximum(codes, 0)
    side, start, width = (either.take_along_axis(t.T, own, axis=0) for t in (spans.side, spans.start, spans.width))
    return either.where((side != 0) & (codes != MISSING), side * (x - start) / width, 0.0)


def log_density_inside(edges: Array, points: Array, x: Array) -> Array:
    """The log density of numbers within their bins, [N, D]; 0 for NaN."""
    codes, spans = find_bins(x, edges), spans_of(edges, points)
    width = either.take_along_axis(spans.width.T, either.maximum(codes, 0), axis=0)
    return either.where(codes == MISSING, 0.0, -either.log(width) - tails(spans, x, codes))


def centres_of(edges: Array, points: Array) -> Array:
    """The mean of each bin, [D, G]; 0 for padding bins."""
    start, width, side, plain = spans_of(edges, points)
    inside = jnp.where(plain, start + jnp.where(side == 0, 0.5, side) * width, 0.0)
    return jnp.where(jnp.isfinite(points), points, inside)


class NumbersInBins(dist.Distribution):
    """Numbers in bins of these probabilities [..., D, G], with edges [D, E] and point masses [D, G]."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex}
    support = constraints.real
    pytree_data_fields = ("probs", "edges", "points")

    def __init__(self, probs: Array, edges: Array, points: Array) -> None:
        self.probs, self.edges, self.points = probs, edges, points
        super().__init__(batch_shape=jnp.shape(probs)[:-1], validate_args=False)

    def log_prob(self, value: Array) -> Array:
        """The log density, [..., D]."""
        flat = jnp.reshape(value, (-1, value.shape[-1]))
        codes = jnp.reshape(jnp.maximum(find_bins(flat, self.edges), 0), value.shape)
        inside = jnp.reshape(log_density_inside(self.edges, self.points, flat), value.shape)
        shape = jnp.broadcast_shapes(codes.shape, self.batch_shape)
        probs = jnp.broadcast_to(self.probs, (*shape, self.probs.shape[-1]))
        found = jnp.take_along_axis(probs, jnp.broadcast_to(codes, shape)[..., None], axis=-1)[..., 0]
        return jnp.where(found > 0, jnp.log(jnp.where(found > 0, found, 1.0)), -jnp.inf) + inside

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws, [..., D]: a bin, and a number inside."""
        keys, shape = jax.random.split(key, 3), (*sample_shape, *self.batch_shape)
        logs = jnp.where(self.probs > 0, jnp.log(jnp.where(self.probs > 0, self.probs, 1.0)), -jnp.inf)
        own = jax.random.categorical(keys[0], logs, axis=-1, shape=shape)

        def at(table: Array) -> Array:
            whole = jnp.broadcast_to(table, (*shape, table.shape[-1]))
            return jnp.take_along_axis(whole, own[..., None], axis=-1)[..., 0]

        start, width, side, plain = map(at, spans_of(self.edges, self.points))
        far = jax.random.exponential(keys[1], shape, width.dtype)
        within = jax.random.uniform(keys[2], shape, width.dtype)
        value, point = start + width * jnp.where(side == 0, within, side * far), at(self.points)
        return jnp.where(jnp.isfinite(point), point, jnp.where(plain, value, 0.0))

    @property
    def mean(self) -> Array:
        """The mean, [..., D]."""
        centres = centres_of(self.edges, self.points)
        return (self.probs * jnp.broadcast_to(centres, jnp.shape(self.probs))).sum(axis=-1)


class Cuts(dist.Distribution):
    """Cuts [D, G - 1], 1 or 0, whose segments have weights exp(``log_weight``), by the table that ``which`` [D] says.

    ``log_weight`` [A, D, G, G] are the tables of the columns, and ``real`` [D, G - 1] is 1 for a bin edge. Before
    the tables each is a cut with probability p ~ Beta(1 + M, 1), where M are ``certain``.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"log_weight": constraints.dependent, "real": constraints.dependent}
    support = constraints.independent(constraints.boolean, 1)
    pytree_data_fields = ("log_weight", "real", "which")
    pytree_aux_fields = ("certain",)

    def __init__(self, log_weight: Array, real: Array, which: Array, certain: int = 0) -> None:
        self.log_weight, self.real, self.which, self.certain = log_weight, real, which, certain
        super().__init__(batch_shape=jnp.shape(real)[:-1], event_shape=jnp.shape(real)[-1:], validate_args=False)

    def log_prob(self, value: Array) -> Array:
        """The log probability of cuts, [D]."""
        columns, size = jnp.arange(len(self.real)), self.real.shape[-1] + 1
        which, tables = self.which.astype(int), self.log_weight
        prior = segmentations.log_prior_of_count(self.real, self.certain)[columns, value.sum(axis=-1).astype(int)]
        ends = segment_ends(value)
        begins = jnp.roll(ends, 1, axis=-1)
        start = jax.lax.cummax(jnp.where(begins, jnp.arange(size)[None], 0), axis=1)
        segments = tables[which[:, None], columns[:, None], start, jnp.arange(size)[None]]
        # the sums of all tables: under vmap they are the same for every draw
        real = jnp.broadcast_to(self.real[None], (len(tables), *self.real.shape))
        given = segmentations.with_certain_cuts(tables, real, self.certain)
        whole = segmentations.sum_segmentations(*given)[0][which, columns] + jnp.log(1.0 + self.certain)
        logs = prior + jnp.where(ends, segments, 0.0).sum(axis=-1) - whole
        return jnp.where(((value <= 0) | (self.real > 0)).all(axis=-1), logs, -jnp.inf)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Exact draws of cuts, [..., D, G - 1]."""
        if sample_shape:
            keys = jax.random.split(key, sample_shape[0])
            return jax.vmap(lambda one: self.sample(one, sample_shape[1:]))(keys)
        given = segmentations.with_certain_cuts(self.log_weight, self.real, self.certain)
        return segmentations.draw_segmentation(key, *given, self.which)[:, : self.real.shape[1]]


class SegmentProbs(dist.Distribution):
    """Probabilities v of bins, [K, D, G]: those of segments are Dirichlet(a_s + c_s), their shares Dirichlet(a_g).

        log p(v) = log Dirichlet(v; a) + sum_s [c_s log V_s - log Gamma(a_s + c_s) / Gamma(a_s)]
                   + log Gamma(A + n) / Gamma(A),    A = sum_g a_g,  n = sum_g c_g

    with ``concentration`` a [D, G], 0 for padding bins, ``counts`` c and ``cuts`` [D, G - 1]. Without counts
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
        """The log density on the simplex of bins, [..., K, D]."""
        a = self.concentration
        some = a > 0
        safe = jnp.where(some & (value > 0), value, 1.0)
        alone = jnp.where(some, (a - 1.0) * jnp.log(safe) - gammaln(jnp.where(some, a, 1.0)), 0.0).sum(axis=-1)
        ends = segment_ends(self.cuts)
        whole, mass, rows = (join_bins(x, self.cuts) for x in (value, a, self.counts))
        seen = ends & (mass > 0)
        here = rows * jnp.log(jnp.where(whole > 0, whole, 1.0)) - log_gamma_ratio(jnp.where(seen, mass, 1.0), rows)
        total, n = a.sum(axis=-1), self.counts.sum(axis=-1)
        return alone + jnp.where(seen, here, 0.0).sum(axis=-1) + gammaln(total + n)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws, [..., K, D, G]."""
        keys, shape = jax.random.split(key), (*sample_shape, *self.batch_shape, *self.event_shape)
        mass, rows = join_bins(self.concentration, self.cuts), join_bins(self.counts, self.cuts)

        def logs(key: Any, a: Array) -> Array:
            a = jnp.broadcast_to(a, shape)
            return jnp.where(a > 0, jax.random.loggamma(key, jnp.where(a > 0, a, 1.0)), -jnp.inf)

        ends = segment_ends(self.cuts)
        segments = jax.nn.softmax(jnp.where(ends, logs(keys[0], mass + rows), -jnp.inf), axis=-1)
        shares = jax.nn.softmax(logs(keys[1], self.concentration), axis=-1)
        inside = join_bins(shares, self.cuts)
        even = join_bins(self.concentration, self.cuts)
        return join_bins(segments, self.cuts) * jnp.where(
            inside > 0, shares / jnp.where(inside > 0, inside, 1.0), self.concentration / jnp.where(even > 0, even, 1.0)
        )
