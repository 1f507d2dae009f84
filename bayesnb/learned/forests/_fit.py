"""The exact posterior averaged over all forests of dependence: each feature may depend on the class and on one other.

A forest is a set of edges between features without circles, in which each feature has at most one parent; it is the
same for all classes. With the prior 1 / D for an edge, relative to no parent, the sum over all forests is a determinant
(``primitives._forest_sums``), of the evidence of each edge alone (``forests._edges``). Meila and Jaakkola,
Tractable Bayesian learning of tree belief networks (2006), sum undirected trees; Friedman, Geiger and Goldszmidt,
Bayesian network classifiers (1997), choose one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
from scipy.special import gammaln

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import to_host
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.numerics._stable import NEVER
from bayesnb.compute.primitives._codes import starts_of
from bayesnb.core.fits._closed_form import conjugate, fit_posterior
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import columns_in
from bayesnb.core.rows._labelled_rows import Specification, label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, summarise
from bayesnb.learned.forests._edges import LabelAxis
from bayesnb.learned.forests._layout import has_categories, lay_out, segments_of
from bayesnb.learned.forests._pairs import PairStatistics, count_pairs
from bayesnb.learned.forests._posterior import ForestPosterior, ForestStatistics, forest_evidence, forest_parts
from bayesnb.learned.forests._structures import STRUCTURES, largest_branching, log_weights

TIE_DIGITS, PREFERENCE = 6, 1e-7
"""Decimals of the log evidence by which edges are told apart, and what may be added to it where they tie."""


def fit_forests(
    model: NaiveBayes,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    *,
    structure: str = "average",
    sample_weight: ArrayLike | None = None,
    statistics: ForestStatistics | None = None,
) -> ForestPosterior:
    """The exact posterior in which each feature may depend on one other, averaged over all forests of dependence.

    p(x, k | D) sums over all forests by the matrix-tree theorem. Columns of Bernoulli, Categorical and Histogram blocks
    may be parents: given category c in class k any feature has a distribution of its own, that of its family under the
    label (k, c), with the prior that it has without a parent. A feature is a column, or a whole block such as a
    Multinomial. A Normal column may also depend on another; no feature else depends on a number. What each row costs
    grows with D^3, for "aode" with D^2. ``dependence`` shows the same evidence pair by pair.

    A feature of a Histogram has categories for others: the segments, at most 8, of its most probable cuts, with the
    prior Dirichlet(A q), A the mean of ``total``. Alone it keeps its average over all cuts, and the forests' ratio has
    the cuts given, so that p(x, k) is approximate; a feature without cuts has no edges. Leave-one-out is
    exact with edges and segments kept.

    A missing cell neither is a parent nor has one: its edges have ratio 1, and count only the rows with both cells. So
    with missing cells the average is approximate; without them it is exact.

    Arguments not listed are as in ``fit_mle``; the fit itself is in float64 on the host.

    Args:
        structure: "average" over all forests; "best", the most probable one; or "aode", the mean over the D forests in
            which one feature is the parent of all others (averaged one-dependence estimators).
        statistics: Instead of rows, the ``statistics`` of a ForestPosterior, or several, merged by ``nb.merge``, or
            those of ``nb.stream(model, ..., pairs=True)``.

    Raises:
        ValueError: if the data do not fit the model, for blocks whose classes share parameters, more than 256 features,
            an unknown structure, and in a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[flag, flag, odd % 2] for odd, flag in enumerate([0, 0, 1, 1] * 5)], [0, 1] * 10
        >>> fit = nb.fit_forests(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> fit.edge_probs.round(2)
        array([[0.  , 0.5 , 0.1 ],
               [0.5 , 0.  , 0.1 ],
               [0.05, 0.05, 0.  ]])
    """
    arguments.require_known("fit_forests", model, X, y, sample_weight, statistics)
    if structure not in STRUCTURES:
        raise ValueError(f"structure must be {', '.join(map(repr, STRUCTURES))}, got {structure!r}")
    if statistics is None:
        statistics = forest_statistics(conjugate(model), X, y, sample_weight=sample_weight)
    elif not isinstance(statistics, ForestStatistics) or not (X is None and y is None and sample_weight is None):
        raise ValueError(
            "give rows, or statistics of pairs and not both: those of nb.stream(model, ..., pairs=True), or the "
            "attribute of a ForestPosterior"
        )
    of_model = ModelStatistics(statistics.class_counts, statistics.blocks, classes=statistics.classes)
    return add_pairs(fit_posterior(model, statistics=of_model), statistics.pairs, structure)


def add_pairs(
    posterior: Posterior, pairs: PairStatistics, structure: str = "average", apart: tuple[str, ...] = ()
) -> ForestPosterior:
    """The posterior with the statistics of its pairs, the segments of its columns and, if "best", that forest.

    Blocks that stand ``apart`` have no pairs.
    """
    fit = ForestPosterior(posterior, pairs, structure=structure, apart=apart)
    return choose_parents(replace(fit, segments=segments_of(fit.families, fit.model.columns)))


def choose_parents(fit: ForestPosterior, preferences: Array | None = None) -> ForestPosterior:
    """The fit with its most probable forest, if "best"; ``preferences`` [F] by feature decide where edges tie."""
    if fit.structure != "best":
        return fit
    evidence, features, order = forest_evidence(fit), np.sort(fit.edged), np.argsort(fit.edged)
    own = find_preferences(fit) if preferences is None else preferences
    # both directions of an edge may have one evidence, and rounding, as of another order of rows, is not to choose
    weights: Array = np.asarray(log_weights(evidence)).round(TIE_DIGITS) + own[fit.edged, None]
    found, parents = largest_branching(weights[np.ix_(order, order)]), np.full(len(fit.segments), -1)
    parents[features] = np.where(found < 0, -1, features[found])
    return replace(fit, parents=parents)


def find_preferences(fit: ForestPosterior) -> Array:
    """What tells edges that tie apart, by their parents [F]: nothing that the order of rows or columns changes."""
    parts, evidence = forest_parts(fit), forest_evidence(fit)
    sums = np.where(evidence == NEVER, 0.0, evidence).sum(axis=1)
    if parts.sizes:  # an edge that ties with its reverse differs from it where cells are missing
        counts = parts.children[0].statistics.counts.reshape(parts.num_classes, parts.num_labels, -1)
        logs = gammaln(LabelAxis.cut(counts, len(parts.sizes)).alone + 1.0).sum(axis=(0, 1))
        sums[: len(parts.sizes)] += np.add.reduceat(logs, starts_of(parts.sizes)[:-1])
    found = np.zeros(len(fit.segments))
    found[fit.edged] = PREFERENCE * (sums / np.abs(sums).max(initial=1.0)).round(4)
    return found


def forest_statistics(
    model: Specification, X: Any, y: Any, *, sample_weight: Any = None, num_classes: int | None = None
) -> ForestStatistics:
    """The sufficient statistics of rows, and of all pairs of their columns; arguments as of ``sufficient_statistics``.

    Raises:
        ValueError: as ``fit_forests`` does.
    """
    if X is None:
        raise ValueError("give rows, X and y, or statistics, as the attribute of a ForestPosterior has")
    _require_labels(model)
    X, y, sample_weight = to_host((X, y, sample_weight))
    rows = label_rows(model, X, y, sample_weight, num_classes, sparse=False).drop_unused()
    columns = {name: columns_in(family, rows.arrays[name]) for name, family in rows.families.items()}
    layout = lay_out(rows.families, columns)
    if len(layout.order) > limits.MOST_FOREST_FEATURES:
        raise ValueError(
            f"fit_forests takes at most {limits.MOST_FOREST_FEATURES} features, got {len(layout.order):,}: use the "
            "powers of nb.temper(nb.fit_posterior(model, X, y), X, y, per_feature=True) instead, or fewer columns"
        )
    found = summarise(rows)
    return ForestStatistics(found.class_counts, found.blocks, count_pairs(layout, rows))


def _require_labels(model: Specification) -> None:
    """ValueError for a block whose classes share parameters, before its rows are read: they may be sparse."""
    for name, family in model.families.items():
        if family.common_sites and not has_categories(family):
            raise ValueError(
                f"block {name!r} is {family!r}, whose classes share parameters, and in a forest each category of "
                "another column is a class of its own: give it parameters by class, leave the block out, or use "
                "nb.temper(..., per_feature=True) on its fit_posterior"
            )


def check_pairs(posterior: Posterior, pairs: Any, apart: tuple[str, ...]) -> None:
    """ValueError unless the pairs are those of columns that are not ``apart``: of their categories, or of segments."""
    pairs.check()
    prior = posterior.prior.with_sites(None)
    none: dict[str, Any] = {name: np.zeros((0, columns or 0)) for name, columns in prior.columns.items()}
    rows = label_rows(prior, none["x"] if prior.single else none, np.zeros(0, int))
    families, own = (
        {name: family for name, family in model.families.items() if name not in apart}
        for model in (prior, posterior.model)
    )
    if len(families) + len(apart) != len(prior.families) or not families:
        raise ValueError(f"apart must be some of the blocks {[*prior.families]}, got {apart}")
    layout = lay_out(families, prior.columns)
    joined = layout.joined(segments_of(own, prior.columns))
    # those of segments first: of many columns of numbers the pairs of all bins would not fit in memory
    possible = (_layout(count_pairs(layout, rows, segments)) for segments in (joined, None))
    if _layout(pairs) not in possible:
        raise ValueError(f"pairs must be those of the model's columns and classes, got {_layout(pairs)}")


def _layout(tree: Any) -> str:
    """The structure of a pytree, and the shapes of its arrays."""
    return str(jax.tree.map(np.shape, tree))
