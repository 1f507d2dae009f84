"""Mutual information and Bayes factor of every pair of columns within one class.

Two columns of categories form a table of counts. With a real column the measure is the share R^2 of its variance that
the other column explains: the squared correlation with a real column, the correlation ratio with categories. So any
dependence between categories is detected, but only that of the mean of a real column. All pairs come from one matrix
product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from bayesnb.arrays.placement import Array
from bayesnb.arrays.threads import row_blocks

TINY = np.finfo(np.float64).tiny
"""The smallest divisor, in place of 0 for an empty sum."""

ROUNDING = 1e-12
"""Squared deviations below this share of the sum of squares are rounding: the column counts as constant."""


class Pairs(NamedTuple):
    """For each pair: the weight of rows where both are observed, mutual information in nats, and log Bayes factor.

    ``cautious`` is the smaller of two log Bayes factors for categories, see ``_categories``; otherwise the same one.
    """

    weight: Array
    information: Array
    evidence: Array
    cautious: Array


def pairs_of(cells: Array, weight: Array, sizes: Array) -> Pairs:
    """All pairs, [D, D] each; ignore the diagonal.

    Args:
        cells: The rows of a class [N, D], NaN where missing: columns of categories, as codes, then real ones.
        weight: Positive weights [N].
        sizes: The number of categories of each column that has any.
    """
    sums = _sums(cells, weight, sizes)
    counted = _categories(sums["category", "category"], sizes)
    mixed = _category_and_real(sums["category", "seen"], sums["category", "z"], sums["category", "square"], sizes)
    real = _reals(sums["seen", "seen"], sums["z", "seen"], sums["square", "seen"], sums["z", "z"])
    return Pairs(*(np.block([[a, b], [b.T, c]]) for a, b, c in zip(counted, mixed, real, strict=True)))


def _sums(cells: Array, weight: Array, sizes: Array) -> dict[tuple[str, str], Array]:
    """F^T W F by the parts of the row features F = [category, seen, z, square].

    ``category`` is a zero or a one for each of the S categories of all columns; ``seen`` is one if a real cell is
    observed; ``z`` are the real cells centred and scaled, 0 if missing, and ``square`` their squares.
    """
    codes, z = cells[:, : len(sizes)], _in_units(cells[:, len(sizes) :], weight)
    column = np.repeat(np.arange(len(sizes)), sizes)
    category = np.arange(len(column)) - _starts(sizes)[column]
    ends = len(column) + z.shape[1] * np.arange(4)
    parts = dict(zip(("category", "seen", "z", "square"), map(slice, (0, *ends[:-1]), ends), strict=True))
    total = np.zeros((ends[-1], ends[-1]))
    for rows in row_blocks(len(cells), total[0].nbytes):
        seen, values = ~np.isnan(z[rows]), np.nan_to_num(z[rows])
        features = np.hstack([codes[rows][:, column] == category, seen, values, np.square(values)])
        total += features.T @ (weight[rows, None] * features)
    return {(a, b): total[parts[a], parts[b]] for a in parts for b in parts}


def _in_units(x: Array, weight: Array) -> Array:
    """Columns centred and divided by their largest deviation: sums of squares neither cancel nor overflow."""
    x = x - weight @ np.nan_to_num(x) / np.maximum(weight @ ~np.isnan(x), TINY)
    farthest = np.fmax.reduce(np.abs(x), axis=0)
    return x / np.where(farthest > 0, farthest, 1.0)


def _starts(sizes: Array) -> Array:
    """The index of each column's first category among all S."""
    return np.cumsum(sizes) - sizes


def _by_column(values: Array, sizes: Array) -> Array:
    """Sums over the categories of each column, [S, ...] to [Dc, ...]."""
    return np.add.reduceat(values.astype(np.float64), _starts(sizes), axis=0)


def _categories(counts: Array, sizes: Array) -> Pairs:
    """Pairs of two columns of categories [Dc, Dc], from all their tables of counts [S, S].

    The Bayes factor is that of one Dirichlet(1) over the cells against a Dirichlet(1) for each of two margins; with n
    rows the evidence of Dirichlet(1) over C cells is Gamma(C) / Gamma(C + n) prod_c n_c!
    """
    margins = _by_column(counts.T, sizes).T  # [S, Dc], of each category, over rows where the other column is observed
    n = _by_column(margins, sizes)

    def cells_less_margins(f: Callable[[Array], Array]) -> Array:
        margin = _by_column(f(margins), sizes)
        return _by_column(_by_column(f(counts), sizes).T, sizes) - margin - margin.T

    information = (cells_less_margins(lambda m: xlogy(m, m)) + xlogy(n, n)) / np.maximum(n, TINY)
    evidence = cells_less_margins(lambda m: gammaln(m + 1.0))
    for cells, sign in ((np.outer(sizes, sizes), 1), (sizes[:, None], -1), (sizes[None, :], -1)):
        evidence += sign * (gammaln(cells) - gammaln(cells + n))
    # independent columns with the margins that the prior over cells implies: in tables with fewer rows than cells these
    # stay nearly uniform as the cells do, whereas the margins' own Dirichlet(1) follows the noise
    alike = _by_column(_by_column(gammaln(counts + 1.0), sizes).T, sizes)
    implied = _by_column(gammaln(margins + sizes) - gammaln(sizes), sizes)
    all_cells = np.outer(sizes, sizes)
    alike = alike - implied - implied.T - (gammaln(all_cells) - gammaln(all_cells + n))
    return Pairs(n, np.maximum(information, 0.0), evidence, np.minimum(evidence, alike))


def _category_and_real(counts: Array, sums: Array, squares: Array, sizes: Array) -> Pairs:
    """Pairs of categories and a real column [Dc, Dr], from sums of the real column by category [S, Dr]."""
    n, total = _by_column(counts, sizes), _by_column(squares, sizes)
    by_mean = np.square(_by_column(sums, sizes)) / np.maximum(n, TINY)
    by_category = _by_column(np.square(sums) / np.maximum(counts, TINY), sizes)
    varies = total - by_mean > ROUNDING * total
    slopes = np.where(varies, np.maximum(_by_column(counts > 0, sizes) - 1.0, 0.0), 0.0)
    information, evidence = _regression(n, _share(by_category - by_mean, total - by_mean, varies), slopes)
    # the mutual information is at most the entropy of the categories
    entropy = (xlogy(n, n) - _by_column(xlogy(counts, counts), sizes)) / np.maximum(n, TINY)
    return Pairs(n, np.minimum(information, np.maximum(entropy, 0.0)), evidence, evidence)


def _reals(n: Array, sums: Array, squares: Array, products: Array) -> Pairs:
    """Pairs of two real columns [Dr, Dr]; entry (a, b) of the sums is over a, in rows where b is observed."""
    spread = squares - np.square(sums) / np.maximum(n, TINY)
    varies = spread > ROUNDING * squares
    varies &= varies.T
    covariance = products - sums * sums.T / np.maximum(n, TINY)
    information, evidence = _regression(n, _share(np.square(covariance), spread * spread.T, varies), varies)
    return Pairs(n, information, evidence, evidence)


def _regression(n: Array, explained: Array, slopes: Array) -> tuple[Array, Array]:
    """I = -1/2 log(1 - n / (n + 1) R^2) and log BF = (n - 1) I - p/2 log(n + 1).

    They compare a linear regression with p slopes to one without, under Zellner's g-prior with unit information, g = n;
    intercept and variance have the same flat prior in both, so location and scale do not matter. Liang et al., Mixtures
    of g priors for Bayesian variable selection (2008), section 2. The prior shrinks R^2 by n / (n + 1), which keeps the
    result finite for columns that determine each other.
    """
    information = -0.5 * np.log1p(-n / (n + 1.0) * explained)
    return information, (n - 1.0) * information - 0.5 * slopes * np.log1p(n)


def _share(part: Array, whole: Array, varies: Array) -> Array:
    """part / whole in [0, 1], and 0 if a column does not vary."""
    return np.where(varies, np.clip(part / np.where(varies, whole, 1.0), 0.0, 1.0), 0.0)
