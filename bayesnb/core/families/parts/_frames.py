"""A column as weights on fixed nodes: sums of every smooth function of its numbers, from a table of fixed size.

    u = a smooth map of the support, cut into ``BINS`` bins of equal width with ``ORDER`` Chebyshev nodes in each
    sum_n z_n f(x_n) = sum_m W_m f(X_m),   W_m = sum_n z_n l_m(u(x_n)),   l_m: the Lagrange polynomials of a cell's bin

for f that is smooth in u, such as log p(. | theta) at every theta. A table at the nodes is looked up by the transpose,
f(x) = sum_m l_m(u(x)) f(X_m). Berrut and Trefethen, Barycentric Lagrange interpolation (2004).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import constraints

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives._polynomials import look_up_polynomials, scale_at
from bayesnb.compute.primitives.sums import ClassSums, HostSums

BINS, ORDER = 64, 8

EXACT = 64
"""Counts below this have a node each; log Gamma(x + r) has a pole near 0, where no polynomial fits."""

DEGREES = np.arange(ORDER)
NODES = np.cos((DEGREES + 0.5) * np.pi / ORDER)
LAGRANGE = np.where(DEGREES > 0, 2.0, 1.0)[:, None] * np.cos(DEGREES[:, None] * np.arccos(NODES)) / ORDER
"""l_j(t) = sum_i T_i(t) ``LAGRANGE``[i, j], with Chebyshev polynomials T_i."""

LAST = LAGRANGE[[-1, 2]].T * [1.0, 1e-10]
"""What is lost of a function, from its values at the nodes: its last Chebyshev coefficient, and digits if it is steep.
"""

SCALES = ("line", "positive", "unit", "circle", "count")
"""The supports that have a map: all numbers, positive ones, those in (0, 1), angles, and counts."""


class Frame(NamedTuple):
    """Bins of columns: ``table`` [D, 4] has the origin and unit of numbers, and the start and width of bins in u."""

    scale: str
    table: Array

    @property
    def exact(self) -> int:
        """How many nodes are counts."""
        return exact_nodes(self.scale)

    @property
    def size(self) -> int:
        """The number of nodes M of a column."""
        return self.exact + BINS * ORDER

    @property
    def nodes(self) -> Array:
        """X [D, M]."""
        origin, unit, start, width = (self.table[:, i, None] for i in range(4))
        place = (np.arange(BINS)[:, None] + 0.5 + 0.5 * NODES).reshape(1, -1)
        u = start + width * place
        x = {
            "line": lambda: origin + 0.5 * unit * (either.exp(u) - either.exp(-u)),
            "unit": lambda: either.sigmoid(u),
            "circle": lambda: u,
        }.get(self.scale, lambda: either.exp(u))()
        counts = np.broadcast_to(np.arange(self.exact, dtype=x.dtype), (len(x), self.exact))
        return either.concatenate([either.like(counts, x), x], axis=1)

    def spread(self, x: Array) -> tuple[Array, Array, Array]:
        """For cells [N, D] the first of their nodes, the weights of these [N, D, P], and False beyond the bins."""
        first, t = self.place(x)
        inside = ~either.isnan(t)
        powers = [either.ones_like(t), either.where(inside, t, 0.0)]
        for _ in range(ORDER - 2):
            powers.append(2.0 * powers[1] * powers[-1] - powers[-2])
        weights = either.where(inside[..., None], either.stack(powers, axis=-1) @ LAGRANGE.astype(t.dtype), 0.0)
        return first, weights, inside

    def place(self, x: Array) -> tuple[Array, Array]:
        """For cells [N, D] the first of their nodes, and where they lie in their bins, from -1 to 1.

        NaN for a missing cell, or one beyond the bins, which has no weight.
        """
        table = either.like(self.table, x)
        place = (to_u(self.scale, x, table) - table[None, :, 2]) / table[None, :, 3]
        inside = (place >= 0) & (place <= BINS)
        number = either.minimum(either.floor(either.where(inside, place, 0.0)), BINS - 1)
        t = either.where(inside, 2.0 * (place - number) - 1.0, np.nan)
        first = self.exact + ORDER * number.astype(np.int32)
        if self.exact:
            counts = x < EXACT
            first = either.where(counts, either.where(counts, x, 0).astype(np.int32), first)
            t = either.where(counts, NODES[0], t)
        return first, t


def exact_nodes(scale: str) -> int:
    """How many of a column's nodes, the first ones, are counts."""
    return EXACT if scale == "count" else 0


def to_u(scale: str, x: Array, table: Array) -> Array:
    """u of cells [N, D]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        match scale:
            case "line":
                z = (x - table[None, :, 0]) / table[None, :, 1]
                size = abs(z)
                far = either.log1p(size + size * size / (1.0 + either.sqrt(1.0 + size * size)))  # arsinh
                return either.where(z < 0, -far, far)
            case "unit":
                return either.log(x) - either.log1p(-x)
            case "circle":
                return x
            case "count":
                return either.log(either.maximum(x, EXACT - 0.5))
        return either.log(x)


def find_frame(scale: str, x: Array) -> Array:
    """The table [D, 4] of bins for numpy rows [N, D], half their range wider at both ends, whatever their weights."""
    step = -(-len(x) // limits.QUANTILE_ROWS) or 1
    table = np.tile([0.0, 1.0, 0.0, 1.0], (x.shape[1], 1))
    for d, column in enumerate(x.T.astype(np.float64)):
        seen = column[np.isfinite(to_u(scale, column[:, None], table[d : d + 1])[:, 0])]
        if scale == "line" and len(seen):
            low, middle, high = np.quantile(np.unique(seen[::step]), [0.25, 0.5, 0.75])
            table[d, :2] = middle, (high - low) / 1.35 or np.ptp(seen) or abs(middle) or 1.0
        u = to_u(scale, seen[:, None], table[d : d + 1])
        low, high = (u.min(), u.max()) if u.size else (-1.0, 1.0)
        room = max(0.5 * (high - low), 0.75)
        ends = {"circle": (-np.pi, np.pi), "count": (np.log(EXACT - 0.5), high + room)}.get(
            scale, (low - room, high + room)
        )
        table[d, 2:] = ends[0], (ends[1] - ends[0]) / BINS
    return table


def scale_of(support: Any) -> str | None:
    """The map for a support; None if there is none."""
    known = ((constraints.real, "line"), (constraints.circular, "circle"), (constraints.unit_interval, "unit"),
             (constraints.nonnegative_integer, "count"), (constraints.boolean, "count"))  # fmt: skip
    found = next((scale for one, scale in known if support is one), None)
    above = isinstance(support, type(constraints.positive) | type(constraints.greater_than(0.0)))
    return "positive" if found is None and above and np.min(support.lower_bound) >= 0.0 else found


def look_up(frame: Frame, x: Array, tables: Array) -> tuple[Array, Array]:
    """The sums over columns of tables [K, D, M] at numpy cells [N, D], [N, K], and False for those beyond the bins."""
    first, t = frame.place(x)
    table = np.concatenate([tables.reshape(len(tables), -1).T, np.zeros((ORDER, len(tables)))])
    found = np.zeros((len(x), len(tables)))
    look_up_polynomials(first, t, frame.size, NODES, scale_at(NODES), table, found)
    return found, ~np.isnan(t)


def class_sums_of(frame: Frame, x: Array, z: ClassSums) -> tuple[Array, Array]:
    """The class sums of the weights of cells [N, D], [K, D M] or [K, D, M], and False for those beyond the bins."""
    size = frame.size
    if isinstance(z, HostSums):
        first, t = frame.place(x)
        return z.spread(first, t, size, NODES), ~np.isnan(t)
    first, weights, inside = frame.spread(x)

    def of_column(column: tuple[Array, Array]) -> Array:
        place, weight = column
        rows = jnp.arange(len(place))[:, None]
        spread = jnp.zeros((len(place), size), weight.dtype)
        return z.sum(spread.at[rows, place[:, None] + jnp.arange(weight.shape[1])[None]].add(weight, mode="drop"))

    return jnp.moveaxis(jax.lax.map(of_column, (first.T, jnp.moveaxis(weights, 1, 0))), 0, 1), inside
