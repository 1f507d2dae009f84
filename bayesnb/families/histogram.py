"""Real features in cells, with Dirichlet priors averaged over all ways to join neighbouring cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.arrays.compute import compute, interpret
from bayesnb.arrays.loops import in_threads, row_blocks
from bayesnb.arrays.placement import Array, on_host
from bayesnb.families.base import Hyperparameter, Params, Score, pytree
from bayesnb.families.hyperparameters import plates
from bayesnb.families.left_out import left_out
from bayesnb.families.parts.cell_columns import CellColumns
from bayesnb.families.parts.cell_statistics import HistogramStatistics, cell_mass
from bayesnb.families.parts.cells import CellValues, Cuts, SegmentProbs
from bayesnb.families.parts.support import broadcast
from bayesnb.families.priors import segments
from bayesnb.numerics import dirichlet, stable
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives import products
from bayesnb.primitives.codes import find_cells
from bayesnb.primitives.segmentations.weights import left_out_logs

ROW_BYTES = 1 << 10
"""Leave-one-out splits rows into threads as if each column had so many bytes: as much work as reading them."""


@pytree
class Histogram(CellColumns):
    """Real features whose density is a step function: a column's numbers fall into at most G cells, and

        A_d ~ one of ``total``,  the number of cuts ~ Uniform{0, ..., G - 1},  their places ~ uniform given the number,
        p_kd(s) ~ Dirichlet(A_d q_s) over the segments s between cuts,
        x_nd | y_n = k ~ p_kd(s) q_g / q_s in cell g of segment s.

    q_g is the share of the cell in all rows, whatever their labels, and the classes share cuts and total. Posterior,
    predictive, evidence and leave-one-out are exact averages over all 2^(G - 1) sets of cuts and over the totals: sums
    of Dirichlet probabilities are Dirichlet, so that each segment has a factor of its own and the sum over cuts is a
    dynamic programme (``families.priors.segments``). The posterior has the counts of its rows as ``counts``. No cut at
    all means that the column says nothing about the class: ``cut_probability`` and ``no_cut_probability`` of a
    posterior's family give the probabilities of cuts. Boulle, MODL: a Bayes optimal discretization method (2006).

    The edges are found when the model is resolved or first counts rows, in a stream from its first 10,000 rows, without
    their labels: the cells hold about equally many rows, a value as heavy as a cell has its own, and edges are half-way
    between values. A strictly increasing map of a column thus changes no prediction at values that the fit saw. They
    and q belong to the prior: statistics with different edges do not merge, and leave-one-out keeps both.

    p(x) is the cell's probability spread over the cell, evenly between two edges; beyond the last edge it falls
    exponentially, over the width of the neighbouring cell (1 if there is only one edge). A cell that is one repeated
    value is an atom: p(x) there is its probability. Edges that are quantiles of the same rows
    have seen them, so ``compare_evidence`` takes these histograms among themselves only, and others with edges given.

    ``fit_mle`` has the shares of the finest cells, ``fit_map`` the most probable cuts and total, with the mode of the
    segments' probabilities; where that lies on the boundary it is as for ``Categorical``.

    Args:
        cells: The most cells a column, 2 to 256; with ``edges`` one more than these.
        edges: The edges between cells, which rise: [E] for all columns, or one row for each; None to find them.
        total: The totals A of the Dirichlet distributions, equally probable; positive.
        mass: q, for a resolved model.
        counts: The counts behind the prior, for a resolved model or a posterior; 0 in a model that has seen no rows.
        atoms: The values of cells that are atoms, infinite for others, for a resolved model.
        found: True if the edges were found in rows, for a resolved model.

    Cells are finite numbers or NaN (missing). Sites: ``block_probs`` [K, D, G] on the simplex, of which only the sums
    over segments count; ``block_cuts`` [D, G - 1], 1 or 0; ``block_total`` [D], the place of A in ``total``.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]], [0, 0, 1, 1, 1, 1, 0, 0]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Histogram(cells=4)), X, y)
        >>> post.predict_proba([[1.5], [4.5], [7.5]]).round(2)  # class 1 lies in the middle
        array([[0.7, 0.3],
               [0.3, 0.7],
               [0.7, 0.3]])
        >>> post.model.families["x"].no_cut_probability().round(2)
        array([0.21])
    """

    cells: int = field(default=32, metadata={"static": True})
    edges: Hyperparameter = None
    total: tuple[float, ...] = field(default=(1.0, 4.0), metadata={"static": True})
    mass: Hyperparameter = None
    counts: Hyperparameter = None
    atoms: Hyperparameter = None
    found: bool = field(default=False, metadata={"static": True})

    sites = ("probs", "cuts", "total")

    def __post_init__(self) -> None:
        super().__post_init__()
        totals = np.asarray(self.total)
        if totals.ndim > 1 or totals.dtype.kind not in "iuf" or not totals.size:
            raise ValueError(f"Histogram: total must be positive numbers, such as (1.0, 4.0), got {self.total!r}")
        if not ((totals >= 1e-6) & (totals <= 1e6)).all():
            raise ValueError(f"Histogram: totals must lie between 1e-6 and 1e6, got {self.total!r}")
        object.__setattr__(self, "total", tuple(float(a) for a in np.atleast_1d(totals)))

    @property
    def common_sites(self) -> tuple[str, ...]:
        return ("cuts", "total")

    def resolve(self, pooled: HistogramStatistics, num_classes: int) -> Self:
        counts, edges, atoms = pooled.counts[0], pooled.edges[:1], pooled.atoms[:1]
        mass = cell_mass(counts, edges[0])[None] if self.mass is None else jnp.asarray(self.mass)
        shape = (num_classes, *counts.shape)
        known = jnp.zeros(shape, mass.dtype) if self.counts is None else broadcast(self.counts, shape, "counts")
        return self._replace(edges=edges, atoms=atoms, mass=mass, counts=known, found=self.found or self.edges is None)

    @property
    def _prior(self) -> segments.Prior:
        return segments.Prior(self._mass, jnp.asarray(self.counts), self._real, self.total)

    def params(self, block: str) -> Params:
        prior, shape = self._prior, jnp.shape(self.counts)[:2]
        known = segments.average(prior)
        with plates(block, shape, common=True):
            place = numpyro.sample(f"{block}_total", dist.Categorical(logits=known.log_sum.T))
            cuts = numpyro.sample(f"{block}_cuts", Cuts(known.log_weight, prior.real, place))
        concentration = jnp.asarray(self.total)[place][:, None] * prior.mass
        with plates(block, shape):
            probs = numpyro.sample(f"{block}_probs", SegmentProbs(concentration[None], prior.counts, cuts[None]))
        # how a segment splits among its cells is the program's only as far as cuts do not decide it
        return {"probs": segments.split(prior.mass[None], probs, cuts[None]), "cuts": cuts, "total": place}

    def likelihood(self, params: Params) -> dist.Distribution:
        probs = segments.split(self._mass[None], jnp.asarray(params["probs"]), jnp.asarray(params["cuts"]))
        return CellValues(probs, self._edges, self._atoms)

    def update(self, statistics: HistogramStatistics) -> Self:
        return self._replace(counts=self.counts + statistics.counts)

    def reference(self) -> Params:
        """The mean of the cells' probabilities, with all cuts."""
        return self._finest(segments.predictive(self._prior, segments.average(self._prior)))

    def mode(self) -> Params:
        prior = self._prior
        place, cuts = segments.best(prior)
        concentration = jnp.asarray(self.total)[place][:, None] * prior.mass
        whole = segments.join_cells(concentration[None] + prior.counts, cuts[None])
        last = jnp.concatenate([cuts > 0, jnp.ones((len(cuts), 1), bool)], axis=-1)  # counts each segment once
        probs = dirichlet.dirichlet_mode(jnp.where(last[None], whole, 0.0))
        return {"probs": segments.split(prior.mass[None], probs, cuts[None]), "cuts": cuts, "total": place}

    def mle(self, statistics: HistogramStatistics) -> Params:
        return self._finest(dirichlet.dirichlet_mle(statistics.counts))

    def _finest(self, probs: Array) -> Params:
        cuts = self._real.astype(int)
        return {"probs": probs, "cuts": cuts, "total": jnp.zeros(cuts.shape[:1], int)}

    def likelihood_tables(self, params: Params) -> LogProb:
        probs = self.cell_probs(params)
        flat = probs.reshape(len(probs), -1)
        return LogProb(stable.safe_log(flat), (flat == 0).astype(flat.dtype))

    def likelihood_scorer(self, tables: LogProb) -> Score:
        return products.lookup(self.codes, tables)

    predictive_scorer = likelihood_scorer

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        return LogProb(*(self.at_cells(table, x) for table in self.likelihood_tables(params)))

    def log_likelihood_ratio(self, statistics: HistogramStatistics, params: Params, reference: Params) -> Array:
        new, old = (self.likelihood_tables(one).finite for one in (params, reference))
        return (statistics.counts.reshape(new.shape) * (new - old)).sum()

    def predictive_tables(self) -> LogProb:
        probs = segments.predictive(self._prior, segments.average(self._prior))
        flat = probs.reshape(len(probs), -1)
        return LogProb(jnp.log(jnp.where(flat > 0, flat, 1.0)), None)

    def log_predictive_terms(self, x: Array) -> Array:
        return self.at_cells(self.predictive_tables().finite, x)

    def left_out_terms(self, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
        terms = self.leave_one_out_terms(statistics, x, y, weight)
        return jnp.take_along_axis(terms, jnp.asarray(y)[:, None, None], axis=1)[:, 0]

    def leave_one_out_terms(self, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
        prior = self.update(statistics)._prior
        known, codes = segments.average(prior), find_cells(x, jnp.asarray(self._edges))

        def of_row(row: tuple[Array, Array, Array]) -> Array:
            own, heavy, cells = row
            table = segments.left_out(prior, known, own, heavy)
            return jnp.take_along_axis(table, jnp.maximum(cells, 0)[None, :, None], axis=2)[:, :, 0]

        terms = jax.lax.map(of_row, (jnp.asarray(y), jnp.asarray(weight, known.share.dtype), codes))
        return jnp.where(codes[:, None, :] < 0, 0.0, terms)

    def leave_one_out(self, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
        if not on_host(self, statistics, x, y, weight):
            return super().leave_one_out(statistics, x, y, weight)
        terms, blocks = left_out(self, statistics, y, weight), row_blocks(len(y), x.shape[1] * ROW_BYTES)
        parts = in_threads(lambda rows: terms(x[rows], y[rows], weight[rows]).sum(axis=2), blocks)
        return np.concatenate([np.zeros((0, len(statistics.counts))), *parts])

    def left_out_at(
        self, terms: Callable[[Array, Array, Array], Array], y: Array, weight: Array
    ) -> Callable[[Array, Array, Array], Array]:
        """A function of numpy rows from one of the numbers of their cells, -1 where missing, labels and weights.

        The answers [N, K, D] are a table if rows with these labels and weights [N] have few of both.
        """
        pairs = np.unique(y + 1j * weight)  # classes and weights, sorted by both
        if len(pairs) * self.cells > len(y):  # each row by itself is less work than a table
            return lambda x, y, weight: terms(find_cells(x, self._edges), y, weight)
        cells = np.tile(np.arange(self.cells)[:, None], (len(pairs), self._edges.shape[0]))
        own, heavy = (np.repeat(part, self.cells) for part in (pairs.real, pairs.imag))
        table = terms(cells, own.astype(np.int32), heavy)

        def look_up(x: Array, y: Array, weight: Array) -> Array:
            codes, place = find_cells(x, self._edges), np.searchsorted(pairs, y + 1j * weight)
            found = table[place[:, None] * self.cells + np.maximum(codes, 0), :, np.arange(x.shape[1])[None]]
            return np.where(codes[:, None, :] < 0, 0.0, np.moveaxis(found, 2, 1))

        return look_up

    def log_partition(self) -> Array:
        """One row for all classes, [1, D], as they share the cuts."""
        return segments.average(self._prior).log_evidence[None]

    def cut_probability(self) -> Array:
        """The probability that the classes' densities differ across each edge, [D, G - 1]; for a posterior's family."""
        return compute(_cut_probability, self)

    def no_cut_probability(self) -> Array:
        """The probability that a column has no cut, and so says nothing about the class, [D]."""
        return compute(_no_cut_probability, self)

    def best_segments(self, most: int) -> tuple[tuple[int, ...], ...]:
        """How many cells each segment has by the most probable cuts of a column into at most ``most`` segments."""
        cuts = np.asarray(compute(_few_cuts, self, most=most))
        ends = [np.append(np.flatnonzero(column > 0) + 1, self.cells) for column in cuts]
        return tuple(tuple(np.diff(end, prepend=0).tolist()) for end in ends)


@left_out.register(Histogram)
def _(
    family: Histogram, statistics: HistogramStatistics, y: Array, weight: Array
) -> Callable[[Array, Array, Array], Array]:
    known = interpret(_left_out_parts, family, statistics)
    return family.left_out_at(partial(left_out_logs, parts=known), y, weight)


def _left_out_parts(family: Histogram, statistics: HistogramStatistics) -> tuple[Array, Array, Array, Array]:
    """What ``left_out_logs`` needs of all rows."""
    prior = family.update(statistics)._prior
    return prior.mass, prior.counts, jnp.asarray(prior.totals), segments.average(prior).log_share


@partial(jax.jit, static_argnames="most")
def _few_cuts(family: Histogram, most: int) -> Array:
    return segments.best(family._prior, most)[1]


@jax.jit
def _cut_probability(family: Histogram) -> Array:
    return segments.cut_probability(segments.average(family._prior))


@jax.jit
def _no_cut_probability(family: Histogram) -> Array:
    return segments.average(family._prior).share[:, :, 0, -1].sum(axis=0)
