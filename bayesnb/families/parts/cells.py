"""NumPyro distributions of a histogram: of cuts, of the probabilities of cells given cuts, and of numbers in cells.

Inside a cell every class has the same density. It is uniform between two edges; in an outer cell, beyond the only edge,
it falls exponentially over the width of the neighbouring cell, or over 1 if there is none. A cell that is one value
which repeats, an atom, or that has no edge at all, has no width: its density is its probability.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import gammaln
from numpyro.distributions import constraints

from bayesnb.arrays import either
from bayesnb.arrays.placement import Array
from bayesnb.families.priors.segments import join_cells
from bayesnb.numerics.log_gamma import log_gamma_ratio
from bayesnb.primitives.codes import MISSING, find_cells
from bayesnb.primitives.segmentations import draw_segmentation, log_prior_of_count, sum_segmentations


class Ends(NamedTuple):
    """``low`` and ``high`` [D], the outermost edges; ``fall`` and ``rise`` [D], one over the scale of the outer cells,
    or 0 if one is an atom.
    """

    low: Array
    high: Array
    fall: Array
    rise: Array

    def tail(self, x: Array) -> Array:
        """How far a number lies beyond the outermost edges, in scales, [N, D]; 0 for NaN."""
        below, above = self.low[None] - x, x - self.high[None]
        fallen, risen = either.where(below > 0, below, 0.0), either.where(above > 0, above, 0.0)
        return fallen * self.fall[None] + risen * self.rise[None]


def ends_of(edges: Array, atoms: Array) -> Ends:
    """The ends of columns of cells with these edges [D, E] and atoms [D, G]."""
    real, columns = either.isfinite(edges), np.arange(edges.shape[0])
    num_edges, bounded = real.sum(axis=-1), either.where(real, edges, 0.0)
    low, high = bounded[:, 0], bounded[columns, either.maximum(num_edges - 1, 0)]
    two = num_edges > 1
    first = either.where(two, bounded[:, min(1, edges.shape[1] - 1)] - low, 1.0)
    last = either.where(two, high - bounded[columns, either.maximum(num_edges - 2, 0)], 1.0)
    fall = (num_edges > 0) & ~either.isfinite(atoms[:, 0])
    rise = (num_edges > 0) & ~either.isfinite(atoms[columns, num_edges])
    return Ends(low, high, either.where(fall, 1.0 / first, 0.0), either.where(rise, 1.0 / last, 0.0))


def log_widths(edges: Array, atoms: Array) -> Array:
    """The log of the width of each cell, [D, G]; 0 for atoms, and for cells that a column does not have."""
    real = either.isfinite(edges)
    last, at = real.sum(axis=-1)[:, None], np.arange(atoms.shape[1])[None]
    bounded = either.where(real, edges, 0.0)
    inner = either.where(real[:, 1:], bounded[:, 1:] - bounded[:, :-1], 1.0)
    one = either.ones_like(bounded[:, :1])
    width = either.concatenate([one, inner, one], axis=1)
    # an outer cell is as wide as its neighbour
    neighbour = either.where(at == 0, 1, either.where(at == last, last - 1, at))
    width = either.take_along_axis(width, either.clip(neighbour, 0, atoms.shape[1] - 1), axis=1)
    plain = ~either.isfinite(atoms) & (last > 0) & (at <= last)
    return either.where(plain, either.log(either.where(width > 0, width, 1.0)), 0.0)


def log_density_inside(edges: Array, atoms: Array, x: Array) -> Array:
    """The log density of numbers within their cells, [N, D]; 0 for NaN."""
    codes = find_cells(x, edges)
    width = either.take_along_axis(log_widths(edges, atoms).T, either.maximum(codes, 0), axis=0)
    return either.where(codes == MISSING, 0.0, -width - ends_of(edges, atoms).tail(x))


class CellValues(dist.Distribution):
    """Numbers in cells of these probabilities [..., D, G], with edges [D, E] and atoms [D, G]."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex}
    support = constraints.real
    pytree_data_fields = ("probs", "edges", "atoms")

    def __init__(self, probs: Array, edges: Array, atoms: Array) -> None:
        self.probs, self.edges, self.atoms = probs, edges, atoms
        super().__init__(batch_shape=jnp.shape(probs)[:-1], validate_args=False)

    def log_prob(self, value: Array) -> Array:
        """The log density, [..., D]."""
        flat = jnp.reshape(value, (-1, value.shape[-1]))
        codes = jnp.reshape(jnp.maximum(find_cells(flat, self.edges), 0), value.shape)
        inside = jnp.reshape(log_density_inside(self.edges, self.atoms, flat), value.shape)
        shape = jnp.broadcast_shapes(codes.shape, self.batch_shape)
        probs = jnp.broadcast_to(self.probs, (*shape, self.probs.shape[-1]))
        found = jnp.take_along_axis(probs, jnp.broadcast_to(codes, shape)[..., None], axis=-1)[..., 0]
        return jnp.where(found > 0, jnp.log(jnp.where(found > 0, found, 1.0)), -jnp.inf) + inside

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws, [..., D]: a cell, and a number inside."""
        keys, shape = jax.random.split(key, 3), (*sample_shape, *self.batch_shape)
        logs = jnp.where(self.probs > 0, jnp.log(jnp.where(self.probs > 0, self.probs, 1.0)), -jnp.inf)
        cell = jax.random.categorical(keys[0], logs, axis=-1, shape=shape)

        def at(table: Array, place: Array) -> Array:
            whole = jnp.broadcast_to(table, (*shape, table.shape[-1]))
            return jnp.take_along_axis(whole, jnp.clip(place, 0, table.shape[-1] - 1)[..., None], axis=-1)[..., 0]

        edges = jnp.where(jnp.isfinite(self.edges), self.edges, 0.0)
        last = jnp.broadcast_to(jnp.isfinite(self.edges).sum(axis=-1), shape)
        width, atom = jnp.exp(at(log_widths(self.edges, self.atoms), cell)), at(self.atoms, cell)
        far = width * jax.random.exponential(keys[1], shape, width.dtype)
        within = at(edges, cell - 1) + width * jax.random.uniform(keys[2], shape, width.dtype)
        outside = jnp.where(cell == last, at(edges, cell - 1) + far, within)
        value = jnp.where(cell == 0, at(edges, cell) - far, outside)
        return jnp.where(jnp.isfinite(atom), atom, jnp.where(last > 0, value, 0.0))

    @property
    def mean(self) -> Array:
        """The mean, [..., D]."""
        centres = centres_of(self.edges, self.atoms)
        return (self.probs * jnp.broadcast_to(centres, jnp.shape(self.probs))).sum(axis=-1)


def centres_of(edges: Array, atoms: Array) -> Array:
    """The mean of each cell, [D, G]; 0 for cells that a column does not have."""
    real = jnp.isfinite(edges)
    last = real.sum(axis=-1)[:, None]
    at, bounded = jnp.arange(atoms.shape[1])[None], jnp.where(real, edges, 0.0)
    width = jnp.exp(log_widths(edges, atoms))
    below = jnp.concatenate([bounded[:, :1], bounded], axis=1)
    inside = below + jnp.where(at == 0, -width, jnp.where(at == last, width, 0.5 * width))
    return jnp.where(jnp.isfinite(atoms), atoms, jnp.where((at <= last) & (last > 0), inside, 0.0))


def require_exact(x: Array, block: str) -> None:
    """Raise ValueError if float64 would round an integer cell: cells of one value may be several."""
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return
    odd = next((cell for cell in x[(x > 2**53) | (x < -(2.0**53))].tolist() if cell != float(cell)), None)
    if odd is not None:
        raise ValueError(
            f"block {block!r} holds {odd}, which floating point would round to {float(odd):.0f}: subtract a constant "
            "from the column, or convert it to floating point if rounding does no harm"
        )


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
