"""Cells of real numbers: their sizes, and numbers whose cells have given probabilities, as a NumPyro distribution.

Inside a cell every class has the same density. It is uniform between two edges; in an outer cell, beyond the only edge,
it falls exponentially over the width of the neighbouring cell, or over 1 if there is none. A cell that is one value
which repeats, an atom, or that has no edge at all, has no width: its density is its probability.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays.placement import Array, namespace
from bayesnb.primitives.cells import MISSING, beyond, find_cells


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
        return beyond(x, self.low, self.high, self.fall, self.rise)


def ends_of(edges: Array, atoms: Array) -> Ends:
    """The ends of columns of cells with these edges [D, E] and atoms [D, G]."""
    xp = namespace(edges)
    real, columns = xp.isfinite(edges), xp.arange(edges.shape[0])
    num_edges, bounded = real.sum(axis=-1), xp.where(real, edges, 0.0)
    low, high = bounded[:, 0], bounded[columns, xp.maximum(num_edges - 1, 0)]
    two = num_edges > 1
    first = xp.where(two, bounded[:, min(1, edges.shape[1] - 1)] - low, 1.0)
    last = xp.where(two, high - bounded[columns, xp.maximum(num_edges - 2, 0)], 1.0)
    fall = (num_edges > 0) & ~xp.isfinite(atoms[:, 0])
    rise = (num_edges > 0) & ~xp.isfinite(atoms[columns, num_edges])
    return Ends(low, high, xp.where(fall, 1.0 / first, 0.0), xp.where(rise, 1.0 / last, 0.0))


def log_widths(edges: Array, atoms: Array) -> Array:
    """The log of the width of each cell, [D, G]; 0 for atoms, and for cells that a column does not have."""
    xp = namespace(edges)
    real = xp.isfinite(edges)
    last, at = real.sum(axis=-1)[:, None], xp.arange(atoms.shape[1])[None]
    bounded = xp.where(real, edges, 0.0)
    inner = xp.where(real[:, 1:], bounded[:, 1:] - bounded[:, :-1], 1.0)
    one = xp.ones_like(bounded[:, :1])
    width = xp.concatenate([one, inner, one], axis=1)
    # an outer cell is as wide as its neighbour
    neighbour = xp.where(at == 0, 1, xp.where(at == last, last - 1, at))
    width = xp.take_along_axis(width, xp.clip(neighbour, 0, atoms.shape[1] - 1), axis=1)
    plain = ~xp.isfinite(atoms) & (last > 0) & (at <= last)
    return xp.where(plain, xp.log(xp.where(width > 0, width, 1.0)), 0.0)


def log_density_inside(edges: Array, atoms: Array, x: Array) -> Array:
    """The log density of numbers within their cells, [N, D]; 0 for NaN."""
    codes = find_cells(x, edges)
    xp = namespace(codes)
    width = xp.asarray(log_widths(edges, atoms))[xp.arange(x.shape[1])[None], xp.maximum(codes, 0)]
    return xp.where(codes == MISSING, 0.0, -width - ends_of(edges, atoms).tail(x))


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
