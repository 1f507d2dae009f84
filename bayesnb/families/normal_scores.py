"""Normal scores of cells: a second view of a column that is counted in cells, for ``Views``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import erfinv
from jax.scipy.stats import norm

from bayesnb.arrays.compute import interpret
from bayesnb.arrays.placement import Array, pytree
from bayesnb.families.histogram import Histogram
from bayesnb.families.left_out import left_out
from bayesnb.families.parts.cell_statistics import HistogramStatistics
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.families.parts.student_t import log_student_cells
from bayesnb.families.priors import normal_inverse_gamma as nig
from bayesnb.families.priors.normal_inverse_gamma import NormalInverseGamma
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.codes import find_cells

Sums = tuple[Array, NormalInverseGamma, NormalStatistics]


@jax.tree_util.register_static
@dataclass(frozen=True)
class NormalScores:
    """A Normal of a column's normal scores, one view of numbers in cells, for ``nb.Views`` only.

        z_g = (Phi^-1(Q_g - q_g / 2) - m) / s,    mu_k, sigma2_k ~ NormalInverseGamma(0, 1, 1, 1),
        z | y = k ~ Normal(mu_k, sigma2_k),       r_k(g) = t_k(z_g) / phi(z_g)

    for cells g with shares q_g of all rows, sums Q_g = q_1 + ... + q_g, and the mean m and standard deviation s of the
    scores. t_k is the exact predictive, Student's t, and phi the standard Normal density. Ranks have no units and no
    tails, and the scores of one class are often close to a Normal even if its numbers are not. It takes the counts of
    cells and keeps nothing else. r_k is no ratio of probabilities where cells are atoms: sum_g q_g r_k(g) is not 1, so
    it has no evidence and no draws, and is no likelihood by itself.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1.0], [2.0], [3.0], [40.0], [50.0], [600.0]], [0, 0, 0, 1, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Views(nb.NormalScores(), nb.Histogram())), X, y)
        >>> post.predict_proba([[2.0], [600.0]]).round(2)  # only the order of the numbers counts
        array([[0.72, 0.28],
               [0.21, 0.79]])
    """

    def of(self, cells: Histogram) -> ScoredCells:
        """The view of these cells."""
        return ScoredCells(cells)


@pytree
class ScoredCells:
    """The normal scores of the ``cells`` of a Histogram, with its counts: a prior's or a posterior's."""

    cells: Histogram

    statistics_type = HistogramStatistics

    def log_ratios(self) -> Array:
        """log r_k of each cell, [K, D, G]. Pure JAX."""
        scores, prior, statistics = self._sums()
        of_cells = NormalInverseGamma(*(table[:, :, None] for table in nig.update(prior, statistics)))
        return log_student_cells(of_cells, scores[None]) - norm.logpdf(scores)[None]

    def predictive_tables(self) -> LogProb:
        """The same end to end, [K, D G]. Pure JAX."""
        logs = self.log_ratios()
        return LogProb(logs.reshape(len(logs), -1), None)

    def log_predictive_terms(self, x: Array) -> Array:
        """The same at the rows' cells, [N, K, D]; 0 for a missing cell. Pure JAX."""
        return self.cells.at_cells(self.predictive_tables().finite, x)

    def leave_one_out_terms(self, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
        """log r of rows without themselves, [N, K, D]. Pure JAX."""
        return _left_out_terms(*self._parts(statistics), find_cells(x, jnp.asarray(self.cells._edges)), y, weight)

    def _sums(self) -> Sums:
        """The scores of cells, the prior, and the statistics of the scores."""
        mass, counts = self.cells._mass, jnp.asarray(self.cells.counts)
        scores = _scores(mass)
        return scores, _prior(mass, len(counts)), _statistics(scores, counts)

    def _parts(self, statistics: HistogramStatistics) -> tuple[Array, Sums]:
        """What rows without themselves need of all rows: the log ratios, and the sums."""
        posterior = ScoredCells(self.cells.update(statistics))
        return posterior.log_ratios(), posterior._sums()


@left_out.register(ScoredCells)
def _(
    scores: ScoredCells, statistics: HistogramStatistics, y: Array, weight: Array
) -> Callable[[Array, Array, Array], Array]:
    parts = interpret(ScoredCells._parts, scores, statistics)
    return scores.cells.left_out_at(partial(interpret, _left_out_terms, *parts), y, weight)


def _left_out_terms(logs: Array, sums: Sums, cells: Array, y: Array, weight: Array) -> Array:
    """log r of rows without themselves, [N, K, D], by the numbers of their cells; 0 for a missing cell, -1."""
    scores, prior, statistics = sums
    column, seen, place = jnp.arange(cells.shape[1])[None], cells >= 0, jnp.maximum(cells, 0)
    z = jnp.where(seen, scores[column, place], jnp.nan)
    others = nig.leave_out(prior, statistics, z, y, weight)
    own = log_student_cells(others, z) - jnp.where(seen, norm.logpdf(z), 0.0)
    terms = jnp.where(seen[:, None], jnp.moveaxis(logs[:, column, place], 0, 1), 0.0)
    return jnp.where((jnp.arange(len(logs))[None] == y[:, None])[:, :, None], own[:, None], terms)


def require_no_view(given: Any) -> None:
    """ValueError for a view in the place of a likelihood."""
    if isinstance(given, NormalScores):
        raise ValueError(
            "NormalScores is one view of a column and no likelihood by itself: give "
            "nb.Views(nb.NormalScores(), nb.Histogram())"
        )


def _scores(mass: Array) -> Array:
    """z [D, G]; 0 for cells that a column does not have, and in columns of one cell."""
    some = mass > 0
    middle = jnp.where(some, jnp.cumsum(mass, axis=1) - 0.5 * mass, 0.5)
    scores = jnp.sqrt(2.0) * erfinv(2.0 * middle - 1.0)  # Phi^-1
    scores = jnp.where(some, scores - (mass * scores).sum(axis=1, keepdims=True), 0.0)
    variance = (mass * scores * scores).sum(axis=1, keepdims=True)
    several = _several(mass)[:, None]
    return jnp.where(several, scores / jnp.sqrt(jnp.where(several, variance, 1.0)), 0.0)


def _several(mass: Array) -> Array:
    """True for columns of two cells and more, [D]."""
    return (mass > 0).sum(axis=1) > 1


def _prior(mass: Array, num_classes: int) -> NormalInverseGamma:
    """The prior of standardised scores, [K, D]; columns of one cell have rate 0, and so factor 1."""
    ones = jnp.ones((num_classes, len(mass)), mass.dtype)
    return NormalInverseGamma(0.0 * ones, ones, ones, jnp.where(_several(mass)[None], ones, 0.0))


def _statistics(scores: Array, counts: Array) -> NormalStatistics:
    counts = jnp.asarray(counts, scores.dtype)
    count = counts.sum(axis=2)
    mean = (counts * scores[None]).sum(axis=2) / jnp.where(count > 0, count, 1.0)
    return NormalStatistics(count, mean, (counts * jnp.square(scores[None] - mean[:, :, None])).sum(axis=2))
