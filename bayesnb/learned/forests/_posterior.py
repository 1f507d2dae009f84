"""The exact posterior averaged over all forests of dependence between features, given the class.

    p(x, k | D) = p(k | D) prod_j p(x_j | k, D) Z(w r_k(x)) / Z(w),    r_k(x)_ij = p(x_j | x_i, k, D) / p(x_j | k, D)

w_ij is the evidence for the edge from i to j, and Z the sum over all forests of the products of their edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple, Self

import jax
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import without_repeats
from bayesnb.compute.arrays._compute import answers_cpu_rows
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import on_host, pytree, short_repr
from bayesnb.compute.arrays._typing import Array, ArrayLike, Rows
from bayesnb.compute.numerics._stable import NEVER
from bayesnb.compute.primitives._forest_sums import edge_probabilities, log_forest_sum
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.core.families._base import Family
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._classifier import Classifier, Posterior
from bayesnb.core.results._combine import add_forests, raise_to_powers
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from bayesnb.learned.forests._bivariate_normal import Conditional
from bayesnb.learned.forests._edges import Parts, log_evidence_ratios, prepare_parts
from bayesnb.learned.forests._layout import Layout, Segments, find_places, have_several, join_places, lay_out
from bayesnb.learned.forests._pairs import PairStatistics
from bayesnb.learned.forests._ratios import PairRows, PairTables, log_ratios, pair_tables
from bayesnb.learned.forests._structures import STRUCTURES, EachParent, OneForest, log_weights


@pytree
class ForestStatistics(ModelStatistics):
    """The sufficient statistics of a model, and of all ``pairs`` of its columns.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[flag, flag, odd % 2] for odd, flag in enumerate([0, 0, 1, 1] * 5)], [0, 1] * 10
        >>> model = nb.NaiveBayes(nb.Bernoulli())
        >>> parts = [nb.fit_forests(model, X[rows], y[rows]).statistics for rows in (slice(10), slice(10, 20))]
        >>> whole = nb.fit_forests(model, statistics=nb.merge(*parts))
        >>> whole.root_probs.round(2)
        array([0.45, 0.45, 0.8 ])
    """

    pairs: PairStatistics

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together, which must be alike."""
        return replace(super().merge(other), pairs=self.pairs.merge(other.pairs))

    def spread_classes(self, places: Array) -> Self:
        """The same rows with other classes and no names: class k is number ``places[k]``, or without rows if K."""
        return replace(super().spread_classes(places), pairs=self.pairs.spread_classes(places))

    def minus(self, part: Self) -> Self:
        """The statistics without those of some of the rows, which must be alike."""
        return replace(super().minus(part), pairs=self.pairs.minus(part.pairs))

    def require_part(self, part: Self) -> None:
        """ValueError if ``part`` cannot be the statistics of some of these rows."""
        super().require_part(part)
        self.pairs.require_part(part.pairs)

    def discount(self, factor: float | Mapping[str, float]) -> Self:
        """The statistics of the same rows with their weights times ``factor``, the same for all blocks."""
        first, *others = factor.values() if isinstance(factor, Mapping) else [factor]
        if any(other != first for other in others):
            raise ValueError(f"pairs of columns of all blocks have one factor in common, got {factor}")
        return replace(super().discount(factor), pairs=self.pairs.discount(first))


@pytree
class ForestPosterior(Classifier):
    """The exact posterior with each feature's dependence on at most one other, as ``fit_forests`` returns.

    ``posterior`` is that of Naive Bayes, ``pairs`` the statistics of all pairs of columns, ``parents`` [D] the most
    probable forest, -1 for roots, if ``structure`` is "best"; ``segments`` how many bins each segment of a column
    joins: pairs count segments instead of bins. After ``temper``, ``posterior`` has powers of the features, and
    ``power`` is that of the forest's ratio. Blocks ``apart``, as the estimator leaves words, depend on the class alone:
    D counts the features of the others.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[flag, flag, odd % 2] for odd, flag in enumerate([0, 0, 1, 1] * 5)], [0, 1] * 10
        >>> fit = nb.fit_forests(nb.NaiveBayes(nb.Bernoulli()), X, y, structure="best")
        >>> fit.parents.tolist(), fit.predict_proba([[1, 1, 1]]).round(2)
        ([-1, 0, -1], array([[0.08, 0.92]]))
    """

    posterior: Posterior
    pairs: PairStatistics
    parents: Array | None = None
    power: Array | None = None
    structure: str = field(default="average", metadata={"static": True})
    segments: Segments = field(default=(), metadata={"static": True})
    apart: tuple[str, ...] = field(default=(), metadata={"static": True})

    def __repr__(self) -> str:
        powers = ""
        if self.power is not None:
            powers = f"{self.posterior.describe_powers()}, power={short_repr(self.power)}"
        counts = short_repr(self.posterior.statistics.class_counts)
        prior = f"structure={self.structure!r}, prior={self.posterior.prior!r}"
        return f"{type(self).__name__}({prior}, class_counts={counts}{powers})"

    @property
    def layout(self) -> Layout:
        """The blocks and their features in the order of tables of pairs."""
        return lay_out(self.families, self.model.columns)

    @property
    def families(self) -> dict[str, Family]:
        """The families of the blocks among which there are edges."""
        return {name: family for name, family in self.model.families.items() if name not in self.apart}

    @property
    def model(self) -> NaiveBayes:
        """The posterior of Naive Bayes, without edges."""
        return self.posterior.model

    @property
    def statistics(self) -> ForestStatistics:
        """The statistics of the rows: with those of others, by ``nb.merge``, they are what ``fit_forests`` takes."""
        of_model = self.posterior.statistics
        return ForestStatistics(of_model.class_counts, of_model.blocks, self.pairs, classes=of_model.classes)

    @property
    def log_evidence(self) -> Array:
        """log p(X, y) averaged over all forests; of the "best" one, log p(X, y | forest): a float64 scalar.

        Powers do not change it. ValueError for "aode", an average of predictions with no evidence of its own.
        """
        evidence = self._edge_evidence("log_evidence")
        if self.structure == "best":
            return self.posterior.log_evidence + (self.chosen_edges() * evidence).sum()
        equal = either.where(evidence == NEVER, NEVER, 0.0)
        posterior, prior = (log_forest_sum(log_weights(table)) for table in (evidence, equal))
        return self.posterior.log_evidence + posterior - prior

    @property
    def edge_probs(self) -> Array:
        """The posterior probability that feature j depends on feature i, [D, D], parents i first; columns in order of
        the blocks. Zeros and ones for "best"; ValueError for "aode".
        """
        evidence = self._edge_evidence("edge_probs")
        probs = self.chosen_edges() if self.structure == "best" else edge_probabilities(log_weights(evidence))
        return either.clip(self.of_features(probs), 0.0, 1.0)

    @property
    def root_probs(self) -> Array:
        """The posterior probability that each feature depends on no other, [D]."""
        probs = self.edge_probs
        return either.clip(1.0 - probs.sum(axis=0), 0.0, 1.0)

    def _edge_evidence(self, what: str) -> Array:
        if self.structure == "aode":
            raise ValueError(f'{what} needs a posterior over forests, which "aode" has not: fit structure="average"')
        return forest_evidence(self)

    @property
    def ordered_parents(self) -> Array | None:
        """The ``parents`` in the order of tables."""
        if self.parents is None:
            return None
        found, place = either.take(self.parents, self.edged), np.zeros(len(self.segments), int)
        place[self.edged] = np.arange(len(self.edged))
        return either.where(found < 0, -1, either.take(place, either.maximum(found, 0)))

    @property
    def edged(self) -> Array:
        """The features that may have edges, in the order of tables: of the columns with categories those of several."""
        return np.array([d for d in self.layout.order if len(self.segments[d]) != 1], int)

    def of_features(self, table: Array) -> Array:
        """A table of the features that may have edges for all of the model, in their order, [F, F]; 0 for others."""
        places = (np.arange(len(self.segments))[:, None] == self.edged[None]).astype(float)
        return places @ table @ places.T

    def chosen_edges(self) -> Array:
        """1 for the edges of the "best" forest, [F, F] in the order of tables."""
        parents: Any = self.ordered_parents
        return (np.arange(len(parents))[:, None] == parents[None]).astype(float)

    def with_class_probs(self, class_probs: ArrayLike) -> Self:
        """The same fit for a population with these class probabilities [K]."""
        return replace(self, posterior=self.posterior.with_class_probs(class_probs))

    @answers_cpu_rows
    def log_joint(self, X: Rows) -> Array:
        """log p(y = k, x) of each row, [N, K]; after ``temper``, log p(y = k | x) plus the model's log p(x)."""
        if self.power is None:
            return super().log_joint(X)
        model = replace(self, posterior=replace(self.posterior, powers=None), power=None)
        return self.predict_log_proba(X) + model.log_density(X)[:, None]

    def draws(self, key: Array, num_draws: int) -> tuple[Sites, Array]:
        """ValueError: the parameters of the forests are integrated out."""
        del key, num_draws
        raise ValueError(
            "a ForestPosterior has no draws: the parameters of all its forests are integrated out; fit_posterior has"
        )

    def _scorer(self) -> Score:
        score, log_ratios = raise_to_powers(self.model, self.posterior.all_powers), score_forests([self])
        power = 1.0 if self.power is None else self.power
        return lambda arrays: add_forests(score(arrays), log_ratios(arrays)[0], power)


class Prepared(NamedTuple):
    """What the log ratios of rows are computed from, of M fits that differ in structures and powers alone."""

    parts: Parts
    tables: PairTables
    combines: list[Any]
    looked_up: Array | None
    """The tables, 0 for impossible edges, if all M are sums over pairs of numpy's categories; else None."""

    def log_ratios(self, rows: PairRows) -> Array:
        """Those of rows, [N, M, K]."""
        if self.looked_up is not None and on_host(rows):
            found = [one.of_tables(self.looked_up, rows.places) for one in self.combines]
        else:
            ratios = log_ratios(self.tables, rows)
            found = [combine(ratios, None) for combine in self.combines]
        return either.concatenate([one[:, None] for one in found], axis=1)


def prepare(fits: Sequence[ForestPosterior]) -> Prepared:
    """The tables of the pairs' predictions, and how ratios are combined."""
    parts = forest_parts(fits[0])
    evidence, tables = log_evidence_ratios(parts), pair_tables(parts)
    tables = tables._replace(given=Conditional(*map(without_repeats, tables.given)))
    combines = [STRUCTURES[fit.structure](evidence, fit.ordered_parents) for fit in fits]
    simple = on_host(tables, evidence) and all(isinstance(one, OneForest | EachParent) for one in combines)
    if not simple or not parts.sizes or len(parts.sizes) < len(evidence):
        return Prepared(parts, tables, combines, None)
    column = np.repeat(np.arange(len(parts.sizes)), parts.sizes)
    possible = np.pad((evidence != NEVER)[np.ix_(column, column)], [(0, 1), (0, 1)])
    return Prepared(parts, tables, combines, np.where(possible, tables.counted, 0.0))


def score_forests(fits: Sequence[ForestPosterior]) -> Callable[[Mapping[str, Array]], Sequence[Array]]:
    """The function from rows to the log ratios of fits that differ in structures and powers alone, [M, N, K]."""
    prepared, first = prepare(fits), fits[0]
    row_bytes = 8 * first.pairs.num_classes * max(len(first.layout.order), 1) ** 2

    def of_rows(arrays: Mapping[str, Array]) -> Sequence[Array]:
        rows = find_rows(first, first.model.families, arrays)
        at_once = prepared.looked_up is not None and on_host(rows)
        found: Any = prepared.log_ratios(rows) if at_once else _by_blocks(prepared.log_ratios, rows, row_bytes)
        return either.moveaxis(found, 1, 0)

    return of_rows


def _by_blocks(function: Callable[[PairRows], Array], rows: PairRows, row_bytes: int) -> Array:
    """``function`` of blocks of rows, of numpy's in threads."""
    num_rows, together = rows.places.shape[0], max(limits.IN_CACHE // row_bytes, 1)
    if on_host(rows):
        blocks = row_blocks(num_rows, row_bytes, block_bytes=limits.IN_CACHE)
        parts = in_threads(lambda some: function(jax.tree.map(lambda a: a[some], rows)), blocks)
        return np.concatenate(parts) if parts else function(rows)
    if not isinstance(num_rows, int) or num_rows <= together:  # an exported function has any number of rows
        return function(rows)
    return jax.lax.map(lambda row: function(jax.tree.map(lambda a: a[None], row))[0], rows, batch_size=together)


def find_rows(fit: ForestPosterior, families: Mapping[str, Family], arrays: Mapping[str, Array]) -> PairRows:
    """The rows as forests take them, in floating point."""
    layout = fit.layout
    joined = layout.joined(fit.segments)
    places = join_places(find_places(layout, families, arrays), joined, have_several(joined))
    blocks = tuple(either.floats(arrays[name]) for name in (*layout.reals, *layout.others))
    none = either.floats(places[:, :0])
    return PairRows(places, blocks, either.concatenate([none, *blocks[: len(layout.reals)]], axis=1))


def forest_parts(fit: ForestPosterior) -> Parts:
    """The priors and the statistics of all pairs, by their labels."""
    layout = fit.layout
    families, blocks = (
        {name: of[name] for name, _ in layout.features}
        for of in (fit.posterior.prior.families, fit.posterior.statistics.blocks)
    )
    return prepare_parts(families, blocks, fit.pairs, layout, layout.joined(fit.segments))


def forest_evidence(fit: ForestPosterior) -> Array:
    """The log evidence of each edge [F, F], in the order of tables."""
    return log_evidence_ratios(forest_parts(fit))
