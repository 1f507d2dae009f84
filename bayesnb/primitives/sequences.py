"""Compiled loops over numpy rows in order: each row under what the rows of its class before it say, which fade.

Row s before row t of a class counts factor^(t - s). The loops keep sums for each class, and go on with those of an
earlier block of rows: ``first`` is the number of the block's first row, and ``last`` [K] that of each class's last one.
They take no logarithm: numpy takes those of a whole block at once. A missing cell has a factor of 1.
"""

from __future__ import annotations

import numpy as np

from bayesnb.arrays.compiled import compiled
from bayesnb.arrays.placement import Array

FADED = 1e-100
"""Sums that stand for less than this share of what was added are written anew, lest new rows become too large."""

MOST_FACTORS = 8
"""The largest count whose rising factorial is a product; it does not overflow for numbers up to ``LARGEST_BASE``."""

LARGEST_BASE = 1e30

TINY = np.finfo(np.float64).tiny


@compiled
def code_ratios(
    x: Array,
    y: Array,
    first: int,
    factor: float,
    starts: Array,
    prior: Array,
    prior_totals: Array,
    counts: Array,
    totals: Array,
    last: Array,
    ratios: Array,
) -> None:
    """(a_c + n_c) / (A + n) of each cell's category c, at its place in the tables [K, S]; totals are [K, D].

    A class has as many categories as it likes, of which a row shows few. So sums do not fade at each row: they are in
    units of factor^(n - last), and ``last`` is the row at which they were written.
    """
    for n in range(x.shape[0]):
        k = y[n]
        unit = factor ** (first + n - last[k])
        if unit < FADED:
            counts[k] *= unit
            totals[k] *= unit
            last[k], unit = first + n, 1.0
        one = 1.0 / unit
        for d in range(x.shape[1]):
            if 0 <= x[n, d] < starts[d + 1] - starts[d]:
                place = starts[d] + np.int64(x[n, d])
                known, all_ = prior[k, place] + unit * counts[k, place], prior_totals[k, d] + unit * totals[k, d]
                ratios[n, d] = max(known / all_, TINY)
                counts[k, place] += one
                totals[k, d] += one
            else:
                ratios[n, d] = 1.0


@compiled
def count_sums(
    x: Array,
    y: Array,
    first: int,
    factor: float,
    prior: Array,
    sums: Array,
    cells: Array,
    last: Array,
    shapes: Array,
    seen: Array,
    rising: Array,
) -> None:
    """a + s for each cell, the faded weight of observed cells, and (a + s) (a + s + 1) ... (a + s + x - 1).

    That product is NaN where it would be long, or x is not whole.
    """
    for n in range(x.shape[0]):
        k = y[n]
        faded = factor ** (first + n - last[k])
        last[k] = first + n
        for d in range(x.shape[1]):
            value = np.float64(x[n, d])
            there = value == value
            count = value if there else 0.0
            sums[k, d] *= faded
            cells[k, d] *= faded
            shape, product = prior[k, d] + sums[k, d], 1.0
            if count <= MOST_FACTORS and count == np.floor(count) and shape < LARGEST_BASE:
                for j in range(int(count)):
                    product *= shape + j
            else:
                product = np.nan
            shapes[n, d], seen[n, d], rising[n, d] = shape, cells[k, d], product
            sums[k, d] += count
            cells[k, d] += 1.0 if there else 0.0


@compiled
def student_cells(
    x: Array,
    y: Array,
    first: int,
    factor: float,
    loc: Array,
    strength: Array,
    shape: Array,
    rate: Array,
    count: Array,
    mean: Array,
    squares: Array,
    last: Array,
    shapes: Array,
    widths: Array,
    distances: Array,
) -> None:
    """Of Student's t for each cell: the shape, 2 rate (strength + 1) / strength, and the squared distance over it.

    Shapes are NaN for missing cells, and for columns without a scale. The sums are the moments of each class.
    """
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
