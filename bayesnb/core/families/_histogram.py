"""Real features in bins, with Dirichlet priors averaged over all ways to join neighbouring bins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import all_within, unless_all
from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, known, on_host
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives._codes import Codes, find_bins, starts_of
from bayesnb.compute.primitives._segment_weights import left_out_logs
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, Params, left_out, pytree
from bayesnb.core.families._categorical import LookupFamily
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families.parts._bin_statistics import (
    NO_EDGE,
    HistogramStatistics,
    bin_mass,
    check_edges,
    find_edges,
    known_rows,
    level_bins,
    require_exact,
)
from bayesnb.core.families.parts._bins import Cuts, NumbersInBins, SegmentProbs, log_density_inside, spans_of, tails
from bayesnb.core.families.parts._support import broadcast, require_finite_numbers, require_shapes, require_simplex
from bayesnb.core.families.priors import _segments as segments


@pytree
class Histogram(LookupFamily):
    """Real features whose density is a step function: a column's numbers fall into at most G bins, and

        A_d ~ one of ``total``,  the number of cuts ~ Uniform{0, ..., G - 1},  their places ~ uniform given the number,
        p_kd(s) ~ Dirichlet(A_d q_s) over the segments s between cuts,
        x_nd | y_n = k ~ p_kd(s) q_g / q_s in bin g of segment s.

    q_g is the share of the bin in all rows, whatever their labels, and the classes share cuts and total. Posterior,
    predictive, evidence and leave-one-out are exact averages over all 2^(G - 1) sets of cuts and over the totals: sums
    of Dirichlet probabilities are Dirichlet, so that each segment has a factor of its own and the sum over cuts is a
    dynamic programme (``families.priors._segments``). The posterior has the counts of its rows as ``counts``. No cut at
    all means that the column says nothing about the class: ``cut_probability`` and ``no_cut_probability`` of a
    posterior's family give the probabilities of cuts. Boulle, MODL: a Bayes optimal discretization method (2006).

    The edges are found when the model is resolved or first counts rows, in a stream from its first 10,000 rows, without
    their labels: the bins hold about equally many rows, a value as heavy as a bin has its own, and edges are half-way
    between values. A strictly increasing map of a column thus changes no prediction at values that the fit saw. They
    and q belong to the prior: statistics with different edges do not merge, and leave-one-out keeps both.

    p(x) is the bin's probability spread over the bin, evenly between two edges; beyond the last edge it falls
    exponentially, over the width of the neighbouring bin (1 if there is only one edge). A bin that is one repeated
    value is a point mass: p(x) there is its probability. Edges that are quantiles of the same rows
    have seen them, so ``compare_evidence`` takes these histograms among themselves only, and others with edges given.

    ``fit_mle`` has the shares of the finest bins, ``fit_map`` the most probable cuts and total, with the mode of the
    segments' probabilities; where that lies on the boundary it is as for ``Categorical``.

    Args:
        cells: The most bins a column, 2 to 256; by default sqrt(N), N the weight of rows that give the edges, 8 to 32;
            with ``edges`` one more than these.
        edges: The edges between bins, which rise: [E] for all columns, or one row for each; None to find them.
        total: The totals A of the Dirichlet distributions, equally probable; positive. For each of ``levels``.
        mass: q, for a resolved model.
        counts: The counts behind the prior, for a resolved model or a posterior; 0 in a model that has seen no rows.
        atoms: The values of bins that are point masses, infinite for others, for a resolved model.
        found: True if the edges were found in rows, for a resolved model.
        levels: C of each column of ordered categories, as ``ordered`` says; () for numbers.

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

    cells: int | None = field(default=None, metadata={"static": True})
    edges: Hyperparameter = None
    total: tuple[float, ...] = field(default=(1.0, 4.0), metadata={"static": True})
    mass: Hyperparameter = None
    counts: Hyperparameter = None
    atoms: Hyperparameter = None
    found: bool = field(default=False, metadata={"static": True})
    levels: tuple[int, ...] = field(default=(), metadata={"static": True})

    sites = ("probs", "cuts", "total")
    axes = (("counts", "KDG"), ("mass", "1DG"), ("edges", "1DE"), ("atoms", "1DG"))
    statistics_type = HistogramStatistics

    def __post_init__(self) -> None:
        if self.edges is not None:
            object.__setattr__(self, "edges", check_edges(self.edges))
            object.__setattr__(self, "cells", np.shape(self.edges)[-1] + 1)
        few, many = limits.FEWEST_BINS, limits.MOST_BINS
        if self.cells is not None and (type(self.cells) is not int or not few <= self.cells <= many):
            raise ValueError(f"Histogram: cells must be a number from {few} to {many}, got {self.cells!r}")
        for name, least, most in (("mass", 0.0, 1.0 + 1e-6), ("counts", 0.0, np.inf), ("atoms", -np.inf, np.inf)):
            value = None if getattr(self, name) is None else known(getattr(self, name))
            if value is not None and not ((value >= least) & (value <= most)).all():
                kind = "shares, at most 1" if name == "mass" else f"numbers, {least:g} or more"
                raise ValueError(f"Histogram: {name} must be {kind}")
        require_finite_numbers("Histogram", counts=self.counts)
        if type(self.found) is not bool or (self.mass is not None and self.edges is None):
            raise ValueError("Histogram: found is True or False, and mass is that of bins between given edges")
        if self.levels and np.shape(self.atoms)[-2:] != (len(self.levels), max(limits.FEWEST_BINS, *self.levels)):
            raise ValueError("Histogram: levels are those of nb.Histogram.ordered([C, ...]), got others")
        totals = np.asarray(self.total)
        if totals.ndim > 1 or totals.dtype.kind not in "iuf" or not totals.size:
            raise ValueError(f"Histogram: total must be positive numbers, such as (1.0, 4.0), got {self.total!r}")
        if not ((totals >= 1e-6) & (totals <= 1e6)).all():
            raise ValueError(f"Histogram: totals must lie between 1e-6 and 1e6, got {self.total!r}")
        object.__setattr__(self, "total", tuple(float(a) for a in np.atleast_1d(totals)))

    @classmethod
    def ordered(cls, num_levels: Sequence[int]) -> Self:
        """Ordered categories: cells are levels 0, 1, ..., C - 1, or NaN, with an edge between any two neighbours.

        So all ways to join neighbouring levels are averaged, and no others: two are kept apart with probability p, and
        p ~ Beta(8, 1). Levels have equal shares, and the total is their number: where none are joined the prior is
        Dirichlet(1, ..., 1), that of ``Categorical``.

        Args:
            num_levels: C of each column. Another number counts as the nearest level.

        Example:
            >>> import bayesnb as nb
            >>> X, y = [[0], [0], [1], [2], [3], [3]], [0, 0, 0, 1, 1, 1]
            >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Histogram.ordered([4])), X, y)
            >>> post.model.families["x"].cut_probability().round(2)  # between 0 and 1, 1 and 2, 2 and 3
            array([[0.85, 0.9 , 0.85]])
        """
        sizes = np.array(num_levels, int, ndmin=1)[:, None]
        if sizes.min(initial=1) < 1 or not len(sizes):
            raise ValueError(f"Histogram.ordered takes the number of levels of each column, got {num_levels!r}")
        levels = tuple(sizes[:, 0].tolist())
        edges, atoms = level_bins(levels)
        mass = (atoms < NO_EDGE) / sizes
        return cls(edges=edges[None], total=(1.0,), mass=mass[None], atoms=atoms[None], levels=levels)

    @property
    def common_sites(self) -> tuple[str, ...]:
        return ("cuts", "total")

    @property
    def declared_columns(self) -> int | None:
        return np.shape(self.edges)[-2] if np.ndim(self.edges) > 1 else None

    def category_sizes(self, num_columns: int) -> tuple[int, ...]:
        return self.levels or (0,) * num_columns

    @property
    def num_bins(self) -> int:
        """The bins of a column, or before rows are seen the most that it can have."""
        return self.cells or limits.MANY_BINS

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        return {"K": num_classes, "D": num_columns, "G": self.num_bins, "E": self.num_bins - 1, "1": 1}

    def prepare(self, x: Array, weight: Callable[[], Array | None]) -> Self:
        """The family with the bins of these rows [N, D] and their ``weight()`` [N]; itself if it has bins."""
        if self.atoms is not None:
            return self
        if self.edges is not None:
            edges = broadcast(self.edges, (x.shape[1], self.num_bins - 1), "edges")
            return self._replace(edges=edges[None], atoms=np.full((1, x.shape[1], self.num_bins), NO_EDGE))
        numbers, heavy = known_rows("Histogram finds its edges", x, weight, "give edges, or ")
        edges, points = find_edges(numbers, heavy, self.cells)
        return self._replace(cells=points.shape[1], edges=edges[None], atoms=points[None], found=True)

    def resolve(self, pooled: HistogramStatistics, num_classes: int) -> Self:
        counts, edges, points = pooled.counts[0], pooled.edges[:1], pooled.atoms[:1]
        mass = bin_mass(counts, edges[0])[None] if self.mass is None else jnp.asarray(self.mass)
        shape = (num_classes, *counts.shape)
        known = jnp.zeros(shape, mass.dtype) if self.counts is None else broadcast(self.counts, shape, "counts")
        found = self.found or self.edges is None
        return self._replace(cells=counts.shape[1], edges=edges, atoms=points, mass=mass, counts=known, found=found)

    # in a grid of models all have the same bins: those of the first

    @property
    def _edges(self) -> Array:
        """[D, G - 1]."""
        return self.edges[(0,) * (self.edges.ndim - 2)]

    @property
    def _points(self) -> Array:
        """[D, G]."""
        return self.atoms[(0,) * (self.atoms.ndim - 2)]

    @property
    def _mass(self) -> Array:
        """[D, G]."""
        return jnp.asarray(self.mass)[(0,) * (self.mass.ndim - 2)]

    @property
    def _prior(self) -> segments.Prior:
        real = jnp.isfinite(jnp.asarray(self._edges)).astype(jnp.result_type(float))
        totals = jnp.asarray(self.total)[:, None] * jnp.asarray([self.levels or [1] * len(real)])
        return segments.Prior(self._mass, jnp.asarray(self.counts), real, totals, segments.CERTAIN * bool(self.levels))

    def params(self, block: str) -> Params:
        prior, shape = self._prior, jnp.shape(self.counts)[:2]
        known = segments.average(prior)
        with plates(block, shape, common=True):
            place = numpyro.sample(f"{block}_total", dist.Categorical(logits=known.log_sum.T))
            cuts = numpyro.sample(f"{block}_cuts", Cuts(known.log_weight, prior.real, place, prior.certain))
        concentration = prior.concentration(place)
        with plates(block, shape):
            probs = numpyro.sample(f"{block}_probs", SegmentProbs(concentration[None], prior.counts, cuts[None]))
        # how a segment splits among its bins is the program's only as far as cuts do not decide it
        return {"probs": segments.split(prior.mass[None], probs, cuts[None]), "cuts": cuts, "total": place}

    def bin_probs(self, params: Params) -> Array:
        """The probabilities of bins, [..., D, G]: those of segments, split by mass. Rows may have cuts of their own."""
        probs, cuts = jnp.asarray(params["probs"]), jnp.asarray(params["cuts"])
        return segments.split(self._mass[None], probs, cuts if cuts.ndim > 2 else cuts[None])

    def likelihood(self, params: Params) -> dist.Distribution:
        return NumbersInBins(self.bin_probs(params), self._edges, self._points)

    def check_params(self, params: Params, block: str) -> None:
        require_shapes(block, params, probs="KDG", cuts="DE", total="D")
        if self.atoms is None:
            raise ValueError(f"block {block!r}: parameters need the bins of a resolved model, model.resolve(X, y)")
        found = params["probs"].shape[-1], params["cuts"].shape[-1]
        if found != (self.num_bins, self.num_bins - 1):
            raise ValueError(
                f"params['{block}_probs'] must have {self.num_bins} bins and params['{block}_cuts'] "
                f"{self.num_bins - 1} edges, got {found[0]} and {found[1]}"
            )
        require_simplex(block, "probs", params["probs"])
        for site, most in (("cuts", 2), ("total", len(self.total))):
            values = known(params[site])
            if values is not None and not np.isin(values, np.arange(most)).all():
                raise ValueError(f"params['{block}_{site}'] must be whole numbers from 0 to {most - 1}")

    def check(self, x: Array, block: str) -> None:
        if not all_within(x, limits.SAFE_CELL):  # as quick as reading the cells
            super().check(x, block)
            require_exact(x, block)

    def statistics(self, x: Array, z: ClassSums) -> HistogramStatistics:
        edges, points = self._edges, self._points
        codes, shape = self.codes(x), (z.num_classes, x.shape[1])
        counts = z.table(codes, shape[1] * self.num_bins).reshape(*shape, self.num_bins)
        log_base = 0.0 - z.base(lambda: tails(spans_of(edges, points), x, codes.cells))
        edges, points = (
            either.broadcast_to(either.like(table, counts)[None], (shape[0], *table.shape)) for table in (edges, points)
        )
        return HistogramStatistics(counts, log_base, edges, points)

    def codes(self, x: Array) -> Codes:
        """The numbers' bins, with their places in a table of all columns end to end."""
        edges = self._edges
        return Codes(
            find_bins(x, edges), starts_of((self.num_bins,) * len(edges)), lambda codes: unless_all(codes >= 0)
        )

    def update(self, statistics: HistogramStatistics) -> Self:
        return self._replace(counts=self.counts + statistics.counts)

    def reference(self) -> Params:
        """The mean of the bins' probabilities, with all cuts."""
        return self._finest(segments.predictive(self._prior, segments.average(self._prior)))

    def mode(self) -> Params:
        prior = self._prior
        place, cuts = segments.best(prior)
        whole = segments.join_bins(prior.concentration(place)[None] + prior.counts, cuts[None])
        once = jnp.where(segments.segment_ends(cuts)[None], whole, 0.0)  # counts each segment once
        probs = dirichlet.dirichlet_mode(once)
        return {"probs": segments.split(prior.mass[None], probs, cuts[None]), "cuts": cuts, "total": place}

    def mle(self, statistics: HistogramStatistics) -> Params:
        return self._finest(dirichlet.dirichlet_mle(statistics.counts))

    def _finest(self, probs: Array) -> Params:
        cuts = self._prior.real.astype(int)
        return {"probs": probs, "cuts": cuts, "total": jnp.zeros(cuts.shape[:1], int)}

    def likelihood_tables(self, params: Params) -> LogProb:
        probs = self.bin_probs(params)
        flat = probs.reshape(len(probs), -1)
        return LogProb(stable.safe_log(flat), (flat == 0).astype(flat.dtype))

    def log_likelihood_ratio(self, statistics: HistogramStatistics, params: Params, reference: Params) -> Array:
        new, old = (self.likelihood_tables(one).finite for one in (params, reference))
        return (statistics.counts.reshape(new.shape) * (new - old)).sum()

    def row_base_measure(self, x: Array) -> Array:
        """The log density within the bins, summed over columns, [N]."""
        return log_density_inside(self._edges, self._points, x).sum(axis=1)

    def predictive_tables(self) -> LogProb:
        probs = segments.predictive(self._prior, segments.average(self._prior))
        flat = probs.reshape(len(probs), -1)
        return LogProb(jnp.log(jnp.where(flat > 0, flat, 1.0)), None)

    def leave_one_out(self, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
        if not on_host(self, statistics, x, y, weight):
            return super().leave_one_out(statistics, x, y, weight)
        # a cell takes as much work as reading 1 KiB
        terms, blocks = left_out(self, statistics, y, weight), row_blocks(len(y), x.shape[1] << 10)
        parts = in_threads(lambda rows: terms(x[rows], y[rows], weight[rows]).sum(axis=2), blocks)
        return np.concatenate([np.zeros((0, len(statistics.counts))), *parts])

    def left_out_at(
        self, terms: Callable[[Array, Array, Array], Array], y: Array, weight: Array
    ) -> Callable[[Array, Array, Array], Array]:
        """A function of numpy rows from one of the numbers of their bins, -1 where missing, labels and weights.

        The answers [N, K, D] are a table if rows with these labels and weights [N] have few of both.
        """
        pairs = np.unique(y + 1j * weight)  # classes and weights, sorted by both
        if len(pairs) * self.num_bins > len(y):  # each row by itself is less work than a table
            return lambda x, y, weight: terms(find_bins(x, self._edges), y, weight)
        bins = np.tile(np.arange(self.num_bins)[:, None], (len(pairs), self._edges.shape[0]))
        own, heavy = (np.repeat(part, self.num_bins) for part in (pairs.real, pairs.imag))
        table = terms(bins, own.astype(np.int32), heavy)

        def look_up(x: Array, y: Array, weight: Array) -> Array:
            codes, place = find_bins(x, self._edges), np.searchsorted(pairs, y + 1j * weight)
            found = table[place[:, None] * self.num_bins + np.maximum(codes, 0), :, np.arange(x.shape[1])[None]]
            return np.where(codes[:, None, :] < 0, 0.0, np.moveaxis(found, 2, 1))

        return look_up

    def log_partition(self) -> Array:
        """One row for all classes, [1, D], as they share the cuts."""
        return segments.average(self._prior).log_evidence[None]

    def log_base_measure(self, statistics: HistogramStatistics) -> Array:
        width = spans_of(self._edges, self._points).width
        inside = statistics.counts * (stable.safe_log(self._mass) - jnp.log(width))[None]
        return inside.sum(axis=(0, 2))[None] + statistics.log_base.sum(axis=0, keepdims=True)

    # the posterior of cuts

    def cut_probability(self) -> Array:
        """The probability that the classes' densities differ across each edge, [D, G - 1]; for a posterior's family."""
        return self._shares().sum(axis=(0, 2))[:, :-1]

    def no_cut_probability(self) -> Array:
        """The probability that a column has no cut, and so says nothing about the class, [D]."""
        return self._shares()[:, :, 0, -1].sum(axis=0)

    def _shares(self) -> Array:
        """The probability of each segment together with each total, [A, D, G, G]."""
        return either.exp(interpret(_log_shares, self))

    def best_segments(self, most: int) -> tuple[tuple[int, ...], ...]:
        """How many bins each segment has by the most probable cuts of a column into at most ``most`` segments."""
        cuts = np.asarray(interpret(_few_cuts, self, most=most))
        ends = [np.append(np.flatnonzero(column > 0) + 1, self.num_bins) for column in cuts]
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
    return prior.mass, prior.counts, prior.totals, segments.average(prior).log_share


_log_shares = jax.jit(lambda family: segments.average(family._prior).log_share)
_few_cuts = jax.jit(lambda family, most: segments.best(family._prior, most)[1], static_argnames="most")
