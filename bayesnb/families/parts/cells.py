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


class Sizes(NamedTuple):
    """``log_width`` [D, G] of cells; ``low`` and ``high`` [D], the outermost edges; ``fall`` and ``rise`` [D], one over
    the scale of the outer cells, or 0 if one is an atom.
    """

    log_width: Array
    low: Array
    high: Array
    fall: Array
    rise: Array

    def tail(self, x: Array) -> Array:
        """How far a number lies beyond the outermost edges, in scales, [N, D]."""
        return beyond(x, self.low, self.high, self.fall, self.rise)


def sizes_of(edges: Array, atoms: Array) -> Sizes:
    """The sizes of cells with these edges [D, E] and atoms [D, G]."""
    xp = namespace(edges)
    real = xp.isfinite(edges)
    places = real.sum(axis=-1)[:, None]
    bounded = xp.where(real, edges, 0.0)
    width = xp.where(real[:, 1:], bounded[:, 1:] - bounded[:, :-1], 1.0)
    at = xp.arange(atoms.shape[1])[None]

    def pick(table: Array, place: Array) -> Array:
        """One entry of each column; 1 if the table has no such place."""
        if not table.shape[1]:
            return xp.ones(table.shape[0])
        entry = xp.take_along_axis(table, xp.clip(place, 0, table.shape[1] - 1), axis=1)[:, 0]
        return xp.where((place[:, 0] >= 0) & (place[:, 0] < table.shape[1]), entry, 1.0)

    first, last = pick(width, 0 * places), pick(width, places - 2)
    outer = xp.where(at == 0, first[:, None], last[:, None])
    inner = xp.concatenate([width[:, :1] * 0 + 1.0, width], axis=1) if width.shape[1] else xp.ones(edges.shape)
    inner = xp.concatenate([inner, xp.ones_like(edges[:, :1])], axis=1)
    whole = xp.where((at == 0) | (at == places), outer, inner)
    plain = ~xp.isfinite(atoms) & (places > 0)
    log_width = xp.where(plain & (at <= places), xp.log(xp.where(whole > 0, whole, 1.0)), 0.0)
    some = places[:, 0] > 0
    high = pick(bounded, places - 1)
    return Sizes(
        log_width,
        xp.where(some, bounded[:, 0], 0.0),
        xp.where(some, high, 0.0),
        xp.where(plain[:, 0], 1.0 / first, 0.0),
        xp.where(xp.take_along_axis(plain, places, axis=1)[:, 0], 1.0 / last, 0.0),
    )


def log_density_inside(edges: Array, atoms: Array, x: Array) -> Array:
    """The log density of numbers within their cells, [N, D]; 0 for NaN."""
    sizes, codes = sizes_of(edges, atoms), find_cells(x, edges)
    xp = namespace(codes)
    width = xp.asarray(sizes.log_width)[xp.arange(x.shape[1])[None], xp.maximum(codes, 0)]
    return xp.where(codes == MISSING, 0.0, -width - sizes.tail(x))


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
        sizes = sizes_of(self.edges, self.atoms)

        def at(table: Array, place: Array) -> Array:
            whole = jnp.broadcast_to(table, (*shape, table.shape[-1]))
            return jnp.take_along_axis(whole, jnp.clip(place, 0, table.shape[-1] - 1)[..., None], axis=-1)[..., 0]

        edges = jnp.where(jnp.isfinite(self.edges), self.edges, 0.0)
        last = jnp.broadcast_to(jnp.isfinite(self.edges).sum(axis=-1), shape)
        width, atom = jnp.exp(at(sizes.log_width, cell)), at(self.atoms, cell)
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
    sizes, real = sizes_of(edges, atoms), jnp.isfinite(edges)
    last = real.sum(axis=-1)[:, None]
    at, bounded = jnp.arange(atoms.shape[1])[None], jnp.where(real, edges, 0.0)
    width = jnp.exp(sizes.log_width)
    below = jnp.concatenate([bounded[:, :1], bounded], axis=1)
    inside = below + jnp.where(at == 0, -width, jnp.where(at == last, width, 0.5 * width))
    return jnp.where(jnp.isfinite(atoms), atoms, jnp.where((at <= last) & (last > 0), inside, 0.0))
