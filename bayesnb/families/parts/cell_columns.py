"""Families of real numbers that fall into cells: where the edges come from, counts, densities within cells, plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Self

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.cells import all_within
from bayesnb.arrays.placement import Array, known
from bayesnb.families.base import Family, Hyperparameter, Params
from bayesnb.families.parts.cell_statistics import (
    FEWEST_CELLS,
    MOST_CELLS,
    NO_EDGE,
    HistogramStatistics,
    check_edges,
    find_edges,
)
from bayesnb.families.parts.cells import ends_of, log_density_inside, log_widths, require_exact
from bayesnb.families.parts.support import Axes, broadcast, require_finite_numbers, require_shapes, require_simplex
from bayesnb.families.priors import segments
from bayesnb.primitives.codes import Codes, codes_of_cells
from bayesnb.primitives.sums import ClassSums

SAFE = 1e15
"""Numbers up to this are within the limits of every dtype."""


class CellColumns(Family):
    """Columns of cells with ``edges``, ``atoms`` and masses; parameters are probabilities of cells, joined by cuts."""

    cells: int
    edges: Hyperparameter
    total: tuple[float, ...]
    mass: Hyperparameter
    counts: Hyperparameter
    atoms: Hyperparameter
    found: bool

    axes: ClassVar[Axes] = (("counts", "KDG"), ("mass", "1DG"), ("edges", "1DE"), ("atoms", "1DG"))
    statistics_type: ClassVar[type] = HistogramStatistics

    def __post_init__(self) -> None:
        if self.edges is not None:
            object.__setattr__(self, "edges", check_edges(self.edges))
            object.__setattr__(self, "cells", np.shape(self.edges)[-1] + 1)
        if type(self.cells) is not int or not FEWEST_CELLS <= self.cells <= MOST_CELLS:
            raise ValueError(
                f"Histogram: cells must be a number from {FEWEST_CELLS} to {MOST_CELLS}, got {self.cells!r}"
            )
        for name, least in (("mass", 0.0), ("counts", 0.0), ("atoms", -np.inf)):
            value = None if getattr(self, name) is None else known(getattr(self, name))
            if value is not None and not (value >= least).all():
                raise ValueError(f"Histogram: {name} must be numbers, {least:g} or more")
        require_finite_numbers("Histogram", counts=self.counts)
        if type(self.found) is not bool or (self.mass is not None and self.edges is None):
            raise ValueError("Histogram: found is True or False, and mass is that of cells between given edges")
        mass = None if self.mass is None else known(self.mass)
        if mass is not None and (mass > 1.0 + 1e-6).any():
            raise ValueError("Histogram: mass must be shares of the cells, at most 1")

    def check(self, x: Array, block: str) -> None:
        if not all_within(x, SAFE):  # as quick as reading the cells
            super().check(x, block)
            require_exact(x, block)

    # the cells, which rows give

    def prepare(self, x: Array, weight: Callable[[], Array | None]) -> Self:
        if self.atoms is not None:
            return self
        if self.edges is not None:
            edges = broadcast(self.edges, (x.shape[1], self.cells - 1), "edges")
            return self._replace(edges=edges[None], atoms=np.full((1, x.shape[1], self.cells), NO_EDGE))
        of_rows = weight()
        cells, heavy = known(x), known(1.0 if of_rows is None else of_rows)
        if cells is None or heavy is None:
            raise ValueError(
                f"{type(self).__name__} finds its edges from known rows, and inside a JAX transformation they are not "
                "known: give edges, or resolve the model outside, model.resolve(X, y)"
            )
        edges, atoms = find_edges(cells, None if of_rows is None else heavy, self.cells)
        return self._replace(edges=edges[None], atoms=atoms[None], found=True)

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        return {"K": num_classes, "D": num_columns, "G": self.cells, "E": self.cells - 1, "1": 1}

    @property
    def declared_columns(self) -> int | None:
        return np.shape(self.edges)[-2] if np.ndim(self.edges) > 1 else None

    # in a grid of models all have the same cells: those of the first

    @property
    def _edges(self) -> Array:
        """[D, G - 1]."""
        return self.edges[(0,) * (self.edges.ndim - 2)]

    @property
    def _atoms(self) -> Array:
        """[D, G]."""
        return self.atoms[(0,) * (self.atoms.ndim - 2)]

    @property
    def _mass(self) -> Array:
        """[D, G]."""
        return jnp.asarray(self.mass)[(0,) * (self.mass.ndim - 2)]

    @property
    def _real(self) -> Array:
        """1 for a boundary between two cells of a column, [D, G - 1]."""
        return jnp.isfinite(jnp.asarray(self._edges)).astype(jnp.result_type(float))

    # rows

    def statistics(self, x: Array, z: ClassSums) -> HistogramStatistics:
        edges, atoms = self._edges, self._atoms
        shape = (z.num_classes, x.shape[1])
        counts = z.table(self.codes(x), shape[1] * self.cells).reshape(*shape, self.cells)
        log_base = 0.0 - z.base(lambda: ends_of(edges, atoms).tail(x))
        edges, atoms = (
            either.broadcast_to(either.like(table, counts)[None], (shape[0], *table.shape)) for table in (edges, atoms)
        )
        return HistogramStatistics(counts, log_base, edges, atoms)

    def row_base_measure(self, x: Array) -> Array:
        """The log density within the cells, summed over columns, [N]."""
        return log_density_inside(self._edges, self._atoms, x).sum(axis=1)

    def log_base_measure(self, statistics: HistogramStatistics) -> Array:
        width = log_widths(self._edges, self._atoms)
        share = jnp.log(jnp.where(self._mass > 0, self._mass, 1.0))
        inside = statistics.counts * (share - width)[None]
        return inside.sum(axis=(0, 2))[None] + statistics.log_base.sum(axis=0, keepdims=True)

    def codes(self, x: Array) -> Codes:
        """The cells, with their places in a table of all columns end to end."""
        return codes_of_cells(x, self._edges)

    def at_cells(self, table: Array, x: Array) -> Array:
        """The entries of a table [K, D G] at the rows' cells, [N, K, D]; 0 for a missing cell."""
        places, seen = self.codes(x).places()
        cells = jnp.asarray(table).T[places]
        return jnp.moveaxis(cells if seen is None else jnp.where(seen[..., None], cells, 0.0), -1, 1)

    # parameters

    def check_params(self, params: Params, block: str) -> None:
        require_shapes(block, params, probs="KDG", cuts="DE", total="D")
        if self.atoms is None:
            raise ValueError(f"block {block!r}: parameters need the cells of a resolved model, model.resolve(X, y)")
        found = params["probs"].shape[-1], params["cuts"].shape[-1]
        if found != (self.cells, self.cells - 1):
            raise ValueError(
                f"params['{block}_probs'] must have {self.cells} cells and params['{block}_cuts'] {self.cells - 1} "
                f"edges, got {found[0]} and {found[1]}"
            )
        require_simplex(block, "probs", params["probs"])
        for site, most in (("cuts", 2), ("total", len(self.total))):
            values = known(params[site])
            if values is not None and not np.isin(values, np.arange(most)).all():
                raise ValueError(f"params['{block}_{site}'] must be whole numbers from 0 to {most - 1}")

    def cell_probs(self, params: Params) -> Array:
        """The probabilities of cells, [K, D, G]: those of segments, split by mass; cuts may be given class by class."""
        cuts = jnp.asarray(params["cuts"])
        cuts = cuts if cuts.ndim == 3 else cuts[None]
        return segments.split(self._mass[None], jnp.asarray(params["probs"]), cuts)

    # tables, plots and names
