"""The predictive of rows in order by loops: ratios of counts, and Student's t whose log-gammas columns share.

The scan of ``fits._prequential``, of any family, gives the same to rounding.

In the compiled loops row s before row t of a class counts factor^(t - s). They keep sums for each class, and go on with
those of an earlier block of rows: ``first`` is the number of the block's first row, and ``last`` [K] that of each
class's last one. They take no logarithm: numpy takes those of a whole block at once. A missing cell has a factor of 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._loops import compiled, for_loops, row_blocks
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics._stable import log_gamma_ratio
from bayesnb.compute.primitives._codes import starts_of
from bayesnb.compute.primitives._distances import LOG_2PI

Tables = tuple[Array, ...]


def log_category_ratios(prior: Array, sizes: tuple[int, ...], x: Array, y: Array, factor: float) -> Array:
    """sum_d log((a_c + n_c) / (A + n)) for the category c of each cell, of columns laid end to end: prior [K, S]."""
    starts = starts_of(sizes)
    prior = np.array(prior, np.float64)
    totals = np.add.reduceat(prior, starts[:-1], axis=1) if sizes else np.zeros((len(prior), 0))
    sums, last = (np.zeros_like(prior), np.zeros_like(totals)), np.zeros(len(prior), np.int64)
    out = np.empty(len(y))
    for rows, cells, labels in _blocks(x, y):
        ratios = np.empty(cells.shape)
        _code_ratios(cells, labels, rows.start, factor, starts, (prior, totals), sums, last, ratios)
        out[rows] = np.log(ratios, out=ratios).sum(axis=1)
    return out


def log_student_densities(prior: tuple[Array, ...], x: Array, y: Array, factor: float) -> Array:
    """The sum over columns of the log of Student's t, [N], from a Normal-inverse-gamma prior: four tables [K, D]."""
    prior = tuple(np.ascontiguousarray(one, np.float64) for one in np.broadcast_arrays(*prior))
    sums, last = tuple(np.zeros((3, *prior[0].shape))), np.zeros(len(prior[0]), np.int64)
    out = np.empty(len(y))
    for rows, cells, labels in _blocks(x, y):
        shapes, widths, distances = found = tuple(np.empty((3, *cells.shape)))
        _student_cells(cells, labels, rows.start, factor, prior, sums, last, found)
        alike = cells.shape[1] and (shapes == shapes[:, :1]).all()
        shapes = shapes[:, :1] if alike else shapes
        used = ~np.isnan(shapes)
        shapes = np.where(used, shapes, 1.0)
        offsets = np.where(used, log_gamma_ratio(shapes, 0.5) - 0.5 * (LOG_2PI - np.log(2.0)), 0.0)
        terms = offsets - 0.5 * np.log(widths) - (shapes + 0.5) * np.log1p(distances)
        out[rows] = terms.sum(axis=1)
    return out


def _blocks(x: Array, y: Array) -> Iterator[tuple[slice, Array, Array]]:
    labels = np.ascontiguousarray(y, np.int64)
    for rows in row_blocks(len(y), 8 * x.shape[1], block_bytes=limits.IN_CACHE):
        yield rows, for_loops(x[rows]), labels[rows]


TINY = np.finfo(np.float64).tiny


@compiled
def _code_ratios(
    x: Array,
    y: Array,
    first: int,
    factor: float,
    starts: Array,
    prior: Tables,
    sums: Tables,
    last: Array,
    out: Array,
) -> None:
    """(a_c + n_c) / (A + n) of each cell's category c, from tables of prior and sums, [K, S], and their totals, [K, D].

    A class has as many categories as it likes, of which a row shows few. So sums do not fade at each row: they are in
    units of factor^(n - last), and ``last`` is the row at which they were written.
    """
    (prior_counts, prior_totals), (counts, totals) = prior, sums
    for n in range(x.shape[0]):
        k = y[n]
        unit = factor ** (first + n - last[k])
        if unit < 1e-100:  # before the increment 1 / unit overflows
            counts[k] *= unit
            totals[k] *= unit
            last[k], unit = first + n, 1.0
        one = 1.0 / unit
        for d in range(x.shape[1]):
            if 0 <= x[n, d] < starts[d + 1] - starts[d]:
                place = starts[d] + np.int64(x[n, d])
                known, all_ = prior_counts[k, place] + unit * counts[k, place], prior_totals[k, d] + unit * totals[k, d]
                out[n, d] = max(known / all_, TINY)
                counts[k, place] += one
                totals[k, d] += one
            else:
                out[n, d] = 1.0


@compiled
def _student_cells(
    x: Array, y: Array, first: int, factor: float, prior: Tables, sums: Tables, last: Array, found: Tables
) -> None:
    """Of Student's t for each cell: the shape, 2 rate (strength + 1) / strength, and the squared distance over it.

    Shapes are NaN for missing cells, and for columns without a scale. The sums are the moments of each class.
    """
    (loc, strength, shape, rate), (count, mean, squares) = prior, sums
    shapes, widths, distances = found
    for n in range(x.shape[0]):
        k = y[n]
        faded = factor ** (first + n - last[k])
        last[k] = first + n
        for d in range(x.shape[1]):
            value = np.float64(x[n, d])
            there = value == value
            m = count[k, d] * faded
            old, spread = mean[k, d], squares[k, d] * faded
            known = strength[k, d] + m
            shift = old - loc[k, d]
            twice_rate = 2.0 * rate[k, d] + spread + strength[k, d] * (m / known) * shift * shift
            away = value - (loc[k, d] + (m / known) * shift)
            width = twice_rate * ((known + 1.0) / known)
            used = there and rate[k, d] > 0.0
            shapes[n, d] = shape[k, d] + 0.5 * m if used else np.nan
            widths[n, d] = width if used else 1.0
            distances[n, d] = away * away / width if used else 0.0
            more = value - old if there else 0.0
            one = 1.0 if there else 0.0
            total = m + one
            share = one / total if total > 0.0 else 0.0
            count[k, d], mean[k, d], squares[k, d] = total, old + share * more, spread + share * m * more * more
