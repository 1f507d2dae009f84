"""A real column seen by several families at once, each with a power of its own: its numbers, its bins, their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfinv
from jax.scipy.stats import norm

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import all_within
from bayesnb.compute.arrays._compute import compute_rows, interpret
from bayesnb.compute.arrays._placement import Array, on_host, pytree
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives._codes import find_bins
from bayesnb.compute.primitives.products._student import Student
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Family, Score, left_out
from bayesnb.core.families._histogram import Histogram
from bayesnb.core.families._multivariate_normal import MultivariateNormal
from bayesnb.core.families._normal import Normal
from bayesnb.core.families.parts._bin_statistics import HistogramStatistics, ViewStatistics, require_exact
from bayesnb.core.families.priors import _normal_inverse_gamma as nig
from bayesnb.core.families.priors._normal_inverse_gamma import (
    NormalInverseGamma,
    NormalStatistics,
    log_student_cells,
    raise_student,
)

Sums = tuple[Array, NormalInverseGamma, NormalStatistics]


@jax.tree_util.register_static
@dataclass(frozen=True)
class NormalScores:
    """A Normal of a column's normal scores, one view of numbers in bins, for ``nb.Views`` only.

        z_g = (Phi^-1(Q_g - q_g / 2) - m) / s,    mu_k, sigma2_k ~ NormalInverseGamma(0, 1, 1, 1),
        z | y = k ~ Normal(mu_k, sigma2_k),       r_k(g) = t_k(z_g) / phi(z_g)

    for bins g with shares q_g of all rows, sums Q_g = q_1 + ... + q_g, and the mean m and standard deviation s of the
    scores. t_k is the exact predictive, Student's t, and phi the standard Normal density. Ranks have no units and no
    tails, and the scores of one class are often close to a Normal even if its numbers are not. It takes the counts of
    bins and keeps nothing else. r_k is no ratio of probabilities where bins are point masses: sum_g q_g r_k(g) is not
    1, so it has no evidence and no draws, and is no likelihood by itself.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1.0], [2.0], [3.0], [40.0], [50.0], [600.0]], [0, 0, 0, 1, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Views(nb.NormalScores(), nb.Histogram())), X, y)
        >>> post.predict_proba([[2.0], [600.0]]).round(2)  # only the order of the numbers counts
        array([[0.72, 0.28],
               [0.21, 0.79]])
    """


@pytree
class ScoredBins:
    """The normal scores of the bins of a ``histogram``, with its counts: a prior's or a posterior's."""

    histogram: Histogram

    statistics_type = HistogramStatistics

    def log_ratios(self) -> Array:
        """log r_k of each bin, [K, D, G]. Pure JAX."""
        scores, prior, statistics = self._sums()
        of_bins = NormalInverseGamma(*(table[:, :, None] for table in nig.update(prior, statistics)))
        return log_student_cells(of_bins, scores[None]) - norm.logpdf(scores)[None]

    def predictive_tables(self) -> LogProb:
        """The same end to end, [K, D G]. Pure JAX."""
        logs = self.log_ratios()
        return LogProb(logs.reshape(len(logs), -1), None)

    def log_predictive_terms(self, x: Array) -> Array:
        """The same at the bins of rows, [N, K, D]; 0 for a missing cell. Pure JAX."""
        return self.histogram.entries(self.predictive_tables().finite, x)

    def leave_one_out_terms(self, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
        """log r of rows without themselves, [N, K, D]. Pure JAX."""
        return _left_out_terms(*self._parts(statistics), find_bins(x, jnp.asarray(self.histogram._edges)), y, weight)

    def _sums(self) -> Sums:
        """The scores of bins, the prior, and the statistics of the scores."""
        scores, several = _scores(self.histogram._mass)
        counts = jnp.asarray(self.histogram.counts, scores.dtype)
        count = counts.sum(axis=2)
        mean = (counts * scores[None]).sum(axis=2) / jnp.where(count > 0, count, 1.0)
        squares = (counts * jnp.square(scores[None] - mean[:, :, None])).sum(axis=2)
        # a column of one bin has rate 0, and so factor 1
        ones = jnp.ones_like(count)
        prior = NormalInverseGamma(0.0 * ones, ones, ones, jnp.where(several[None], ones, 0.0))
        return scores, prior, NormalStatistics(count, mean, squares)

    def _parts(self, statistics: HistogramStatistics) -> tuple[Array, Sums]:
        """What rows without themselves need of all rows: the log ratios, and the sums."""
        posterior = ScoredBins(self.histogram.update(statistics))
        return posterior.log_ratios(), posterior._sums()


def _scores(mass: Array) -> tuple[Array, Array]:
    """z [D, G], 0 for padding bins and in columns of one bin; and True for columns of several bins, [D]."""
    some = mass > 0
    several = some.sum(axis=1) > 1
    middle = jnp.where(some, jnp.cumsum(mass, axis=1) - 0.5 * mass, 0.5)
    most = 1.0 - jnp.finfo(mass.dtype).eps  # where rounding has filled the shares of all bins below one, or above
    scores = jnp.sqrt(2.0) * erfinv(jnp.clip(2.0 * middle - 1.0, -most, most))  # Phi^-1
    scores = jnp.where(some, scores - (mass * scores).sum(axis=1, keepdims=True), 0.0)
    variance = (mass * scores * scores).sum(axis=1)
    unit = jnp.sqrt(jnp.where(several, variance, 1.0))[:, None]
    return jnp.where(several[:, None], scores / unit, 0.0), several


def _left_out_terms(logs: Array, sums: Sums, bins: Array, y: Array, weight: Array) -> Array:
    """log r of rows without themselves, [N, K, D], by the numbers of their bins; 0 for a missing cell, -1."""
    scores, prior, statistics = sums
    column, seen, place = jnp.arange(bins.shape[1])[None], bins >= 0, jnp.maximum(bins, 0)
    z = jnp.where(seen, scores[column, place], jnp.nan)
    others = nig.leave_out(prior, statistics, z, y, weight)
    own = log_student_cells(others, z) - jnp.where(seen, norm.logpdf(z), 0.0)
    terms = jnp.where(seen[:, None], jnp.moveaxis(logs[:, column, place], 0, 1), 0.0)
    return jnp.where((jnp.arange(len(logs))[None] == y[:, None])[:, :, None], own[:, None], terms)


@left_out.register(ScoredBins)
def _(
    scores: ScoredBins, statistics: HistogramStatistics, y: Array, weight: Array
) -> Callable[[Array, Array, Array], Array]:
    parts = interpret(ScoredBins._parts, scores, statistics)
    return scores.histogram.left_out_at(partial(interpret, _left_out_terms, *parts), y, weight)


def require_no_view(given: Any) -> None:
    """ValueError for a view in the place of a likelihood."""
    if isinstance(given, NormalScores):
        raise ValueError(
            "NormalScores is one view of a column and no likelihood by itself: give "
            "nb.Views(nb.NormalScores(), nb.Histogram())"
        )


def _of_generative(*names: str) -> Any:
    """What views have of their Histogram by these names."""
    return [property(attrgetter(f"generative.{name}")) for name in names]


@pytree
class Views(Family):
    """Real features seen by V views: p(y = k | x) is proportional to p(k) prod_d prod_v r_kdv(x_d)^w_dv.

    ``nb.Views(nb.NormalScores(), nb.Histogram())`` sees a column as a ``Histogram`` of bins and as a Normal of the
    bins' normal scores: steps and a smooth curve err in different places. A ``Normal`` is a third view, of the numbers
    themselves, for columns that are close to it.

    A column's powers begin at a share of one: half for a Normal, and what is left in equal shares. ``nb.temper`` learns
    them from exact leave-one-out predictions, with ``per_feature`` one for each column and view: those of the Normal
    and those of the other views apart, each as if they were the only ones, and then half of each. So the prediction is
    the geometric mean of two, and loses at most the mean of what they lose. A fit without learned powers, such as
    ``fit_posterior`` gives, has the shares as its ``powers``, [V D]: all columns of the first view, then all of the
    second. ``leave_one_out`` and ``cross_validate`` have them, too.

    The generative model is the Histogram's alone: the NumPyro program, p(x), evidence, draws, feature inclusion, and
    all estimates of parameters, such as ``fit_map``, are its own. Explanations of a column add its views up. In
    intervals the bins' probabilities vary from draw to draw, and the other views have their predictive.

    Args:
        views: One Histogram, whose bins all views share, and at most one NormalScores and one Normal with variances of
            its classes' own, in any order.

    Raises:
        ValueError: for other views.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1.0], [2.0], [3.0], [40.0], [50.0], [600.0]], [0, 0, 1, 0, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Views(nb.NormalScores(), nb.Histogram())), X, y)
        >>> post.powers["x"].tolist(), post.predict_proba([[2.0]]).round(2)
        ([0.5, 0.5], array([[0.65, 0.35]]))
        >>> nb.temper(post, X, y, per_feature=True).powers["x"].shape  # a power for each column and view
        (2,)
    """

    families: tuple[Any, ...]

    statistics_type = ViewStatistics
    sites, axes = Histogram.sites, Histogram.axes

    def __init__(self, *views: Histogram | NormalScores | Normal) -> None:
        kinds = [type(view) for view in views]
        known = {*kinds} <= {Histogram, NormalScores, Normal} and len({*kinds}) == len(kinds) and Histogram in kinds
        if not known or any(type(view) is Normal and view.shared for view in views):
            raise ValueError(
                "Views takes one Histogram, and beside it NormalScores of the same bins or a Normal with its own "
                "variances, as in nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram()), got "
                f"{', '.join(map(repr, views)) or 'no view'}"
            )
        object.__setattr__(self, "families", views)

    def __post_init__(self) -> None:
        for family in self.fitted:
            family.__post_init__()

    def __repr__(self) -> str:
        return f"Views({', '.join(map(repr, self.families))})"

    # the generative model, the Histogram

    @property
    def generative(self) -> Histogram:
        """The family that gives the program, p(x), the evidence and the parameters."""
        return next(family for family in self.families if type(family) is Histogram)

    num_columns, declared_columns, common_sites = _of_generative("num_columns", "declared_columns", "common_sites")
    params, likelihood, check_params = _of_generative("params", "likelihood", "check_params")
    reference, mode, mle = _of_generative("reference", "mode", "mle")
    likelihood_tables, likelihood_scorer = _of_generative("likelihood_tables", "likelihood_scorer")
    log_likelihood_terms, log_likelihood_ratio = _of_generative("log_likelihood_terms", "log_likelihood_ratio")
    row_base_measure, log_base_measure = _of_generative("row_base_measure", "log_base_measure")
    predictive_tables, log_predictive_terms, left_out_terms = _of_generative(
        "predictive_tables", "log_predictive_terms", "left_out_terms"
    )
    log_partition, log_partition_ratio = _of_generative("log_partition", "log_partition_ratio")
    cut_probability, no_cut_probability = _of_generative("cut_probability", "no_cut_probability")

    # each family by itself

    def map(self, change: Callable[[Any], Any]) -> Self:
        """The same with other families; normal scores have nothing of their own."""
        changed = (one if isinstance(one, NormalScores) else change(one) for one in self.families)
        return self._replace(families=tuple(changed))

    @property
    def num_classes(self) -> int | None:
        found = {family.num_classes for family in self.fitted} - {None}
        if len(found) > 1:
            raise ValueError(f"{self!r}: hyperparameters for different numbers of classes, {sorted(found)}")
        return next(iter(found), None)

    @property
    def fitted(self) -> list[Any]:
        """The families with hyperparameters and statistics of their own."""
        return [family for family in self.families if not isinstance(family, NormalScores)]

    def check(self, x: Array, block: str) -> None:
        if not all_within(x, limits.SAFE_CELL):
            Normal().check(x, block)
            require_exact(x, block)

    def resolve(self, pooled: ViewStatistics, num_classes: int) -> Self:
        return self.map(lambda family: family.resolve(pooled.of(family), num_classes))

    def statistics(self, x: Array, z: ClassSums) -> ViewStatistics:
        return ViewStatistics.join(self.generative.statistics(x, z), NormalStatistics(*z.moments(x)))

    def update(self, statistics: ViewStatistics) -> Self:
        return self.map(lambda family: family.update(statistics.of(family)))

    # the terms of all views

    @property
    def normal(self) -> Normal:
        """The view of the numbers themselves."""
        return next(one for one in self.families if type(one) is Normal)

    @property
    def _views(self) -> tuple[Any, ...]:
        """The families, with the Histogram's bins for the normal scores."""
        return tuple(ScoredBins(self.generative) if isinstance(one, NormalScores) else one for one in self.families)

    def side_by_side(self, terms: Array, x: Array) -> Array:
        """Terms of the generative model [N, K, D], and those of the other views' predictives, [N, K, V, D]."""
        own = self.generative
        return jnp.stack([terms if one is own else one.log_predictive_terms(x) for one in self._views], axis=2)

    def raised_tables(self, powers: Array) -> Any:
        """The logs of bins, [K, D G], and Student's t of a Normal, raised to powers [V, D] or [V, 1]."""
        raised = [self._raise(one.predictive_tables(), own) for one, own in zip(self._views, powers, strict=True)]
        bins = LogProb(sum(table.finite for table in raised if isinstance(table, LogProb)), None)
        of_normal = [table for table in raised if isinstance(table, Student)]
        return (bins, *of_normal) if of_normal else bins

    def _raise(self, tables: LogProb | Student, powers: Array) -> LogProb | Student:
        if isinstance(tables, Student):
            return raise_student(tables, powers)
        logs = tables.finite.reshape(len(tables.finite), -1, self.generative.cells)
        return LogProb((powers[None, :, None] * logs).reshape(tables.finite.shape), None)

    def predictive_scorer(self, tables: Any) -> Score:
        if isinstance(tables, LogProb):
            return self.generative.predictive_scorer(tables)
        of_bins, of_normal = self.generative.predictive_scorer(tables[0]), Normal().predictive_scorer(tables[1])
        return lambda x: LogProb(of_bins(x).finite + of_normal(x).finite, None)

    # rows without themselves

    def leave_one_out(self, statistics: ViewStatistics, x: Array, y: Array, weight: Array) -> Array:
        """What the views add to log p(k | x) without the row, [N, K], up to what is alike for all classes."""
        if on_host(self, statistics, x, y, weight):
            return left_out(self, statistics, y, weight)(x, y, weight) @ start_powers(self, x.shape[1])
        return compute_rows(products.sum_terms, (self, statistics), (x, y, weight), terms="_shared_terms")

    def _shared_terms(self, *given: Any) -> Array:
        return self.leave_one_out_terms(*given) * start_powers(self, given[1].shape[1])[None, None]

    def leave_one_out_terms(self, statistics: ViewStatistics, x: Array, y: Array, weight: Array) -> Array:
        """Those of each view, [N, K, V D]. Pure JAX."""
        terms = [one.leave_one_out_terms(statistics.of(one), x, y, weight) for one in self._views]
        return jnp.concatenate(terms, axis=2)


def generative(family: Any) -> Any:
    """The family that has the block's program, p(x), evidence and parameters: itself, or the Histogram of views."""
    return family.generative if isinstance(family, Views) else family


def of_evidence(family: Any, statistics: Any) -> tuple[Any, Any]:
    """The family, with its statistics, that says whether a column depends on the class: the Normal of views.

    A Histogram would say so of every column: its edges are quantiles of all rows, so that all classes together fill its
    bins evenly, and its prior expects that of no column.
    """
    views = family.families if isinstance(family, Views) else ()
    one = next((view for view in views if type(view) is Normal), generative(family))
    return one, statistics.of(one) if views else statistics


def of_generative(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a family, for ``Views``: that of the Histogram, which generates the rows."""
    return lambda views, *given: function(views.generative, *given)


def shares(family: Any) -> Array:
    """The starting power of each view, one row for each group of views that learns its powers separately, [G, V].

    Those of a fit are their mean over groups. ``Views`` have several terms, and a Normal among them is a group.
    """
    if not isinstance(family, Views):
        return np.ones((1, 1))
    normal = np.array([type(one) is Normal for one in family.families])
    groups = np.array([group for group in (normal, ~normal) if group.any()], float)
    return groups / groups.sum(axis=1, keepdims=True)


def generative_share(family: Any) -> Array:
    """All of the power for the view that generates the rows, [1, V]."""
    views = family.families if isinstance(family, Views) else (family,)
    return np.array([[float(one is generative(family)) for one in views]])


def start_powers(family: Any, num_columns: int) -> Array:
    """The powers of a fit that has learned none, [P]."""
    return np.repeat(shares(family).mean(axis=0), 1 if family.one_feature else num_columns)


def by_view(family: Any, powers: Array) -> Array:
    """The powers of each view's columns, [V, D], or [V, 1] from one power of the whole block. Pure JAX."""
    powers = jnp.asarray(powers)
    if powers.shape[0] == 1:
        return powers[None] * shares(family).mean(axis=0)[:, None]
    return powers.reshape(len(shares(family)[0]), -1)


@left_out.register(Views)
def _(views: Views, statistics: ViewStatistics, y: Array, weight: Array) -> Callable[[Array, Array, Array], Array]:
    of_view = [left_out(one, statistics.of(one), y, weight) for one in views._views]
    return lambda *rows: np.concatenate([terms(*rows) for terms in of_view], axis=2)


def with_views(family: Family) -> Any:
    """The family, or for a Normal three views of its columns, of which it is one."""
    return Views(family, NormalScores(), Histogram()) if type(family) is Normal else family


def with_covariance(family: Family, covariance: str) -> Any:
    """The columns of views of which one is a Normal with a covariance; None for another family, whose user chose it."""
    views: tuple[Any, ...] = family._views if isinstance(family, Views) else ()
    return MultivariateNormal(covariance) if any(isinstance(view, Normal) for view in views) else None
