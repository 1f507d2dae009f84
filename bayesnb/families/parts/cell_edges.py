"""Edges of cells of about equal mass, found from the rows of a column whatever their labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array, as_array, is_traced

NO_EDGE = np.inf
"""What fills up the edges of columns with fewer cells than others, and the atoms of cells that are intervals."""

MOST_ROWS = 1 << 17
"""Of more rows every second, third, ... one is looked at: a quantile is then right to .003."""

FEWEST_CELLS, MOST_CELLS = 2, 256


def find_edges(x: Array, weight: Array | None, num_cells: int) -> tuple[Array, Array]:
    """Edges [D, G - 1] of numpy rows [N, D] with these weights [N], and the atoms [D, G]: values that repeat.

    A value as heavy as an average cell is a cell of its own, and the other cells hold about as many rows as each other.
    An edge is half-way between two values. If there are no more values than cells, each has its cell.
    """
    if weight is not None:
        x, weight = x[weight > 0], weight[weight > 0]
    step = -(-len(x) // MOST_ROWS) or 1
    x, weight = x[::step], None if weight is None else weight[::step]
    edges = np.full((x.shape[1], num_cells - 1), NO_EDGE)
    atoms = np.full((x.shape[1], num_cells), NO_EDGE)
    columns = x.T.astype(np.float64, order="C")
    if weight is None:
        columns.sort(axis=1)  # NaN behind all numbers
    for d, column in enumerate(columns):
        values, mass = _values(column, weight)
        if not len(values):
            continue
        cell = _cells(mass, num_cells)
        first = np.flatnonzero(np.diff(cell)) + 1  # the first value of each cell but the lowest
        low, high = values[first - 1], values[first]
        middle = low + 0.5 * (high - low)
        edges[d, : len(first)] = np.where(middle > low, middle, high)  # between neighbours among floats lies nothing
        atom = (np.bincount(cell)[cell] == 1) & (mass > 1.0)
        atoms[d, cell[atom]] = values[atom]
    return edges, atoms


def _values(column: Array, weight: Array | None) -> tuple[Array, Array]:
    """The distinct finite values in order, and the weight of each; a column without weights is sorted already."""
    seen = np.isfinite(column)
    if weight is None:
        column = column if seen.all() else column[seen]
        first = np.flatnonzero(np.diff(column, prepend=-np.inf) > 0)
        return column[first], np.diff(first, append=len(column)).astype(np.float64)
    values, place = np.unique(column[seen], return_inverse=True)
    return values, np.bincount(place, weights=weight[seen], minlength=len(values))


def _cells(mass: Array, num_cells: int) -> Array:
    """The cell of each value, 0, 1, ... in order, for values of these masses."""
    if len(mass) <= num_cells:
        return np.arange(len(mass))
    heavy = np.zeros(len(mass), bool)
    # each heavy value may also cut one cell of others in two
    most = (num_cells - 1) // 2
    candidates = np.flatnonzero(mass * num_cells >= mass.sum())
    heavy[candidates[np.argsort(-mass[candidates], kind="stable")[:most]]] = True
    rest = np.where(heavy, 0.0, mass)
    bins = num_cells - 2 * int(heavy.sum())
    middle = np.cumsum(rest) - 0.5 * rest
    group = np.minimum((middle / rest.sum() * bins).astype(int), bins - 1)
    new = np.ones(len(mass), bool)
    new[1:] = (np.diff(group) > 0) | heavy[1:] | heavy[:-1]
    return np.cumsum(new) - 1


def check_edges(given: Any) -> Array:
    """Edges that a user gives, for all columns [E] or one row a column [D, E], with infinite ones at the end of a row.

    Raises:
        ValueError: unless they are numbers that rise, between 1 and 255 of them.
    """
    if is_traced(given):
        return given
    if isinstance(given, list | tuple) and any(np.ndim(row) == 1 for row in given):
        size = max(map(len, given), default=0)
        given = [[*row, *[NO_EDGE] * (size - len(row))] for row in given]
    edges = as_array(given)
    shown = np.asarray(edges)
    if shown.ndim not in (1, 2, 3) or shown.dtype.kind not in "iuf" or not 1 <= shown.shape[-1] < MOST_CELLS:
        raise ValueError(
            f"Histogram: edges are numbers between cells, [E] for all columns or a row for each, from 1 to "
            f"{MOST_CELLS - 1}, got an array of shape {shown.shape} and type {shown.dtype}"
        )
    last = shown == NO_EDGE
    before, after = shown[..., :-1], shown[..., 1:]
    if np.isnan(shown).any() or (shown == -np.inf).any() or not ((after > before) | (last[..., 1:])).all():
        raise ValueError(
            "Histogram: edges must be finite and rise within a column: sort them, and leave out NaN and repeated ones"
        )
    return edges
