"""The exact posterior averaged over all forests of dependence: each feature may depend on the class and on one other.

A forest is a set of edges between features without circles, in which each feature has at most one parent; it is the
same for all classes. With the prior 1 / D for an edge, relative to no parent, the sum over all forests is a determinant
(``primitives.forest_sums``), of the evidence of each edge alone (``families.parts.pair_evidence``). Meila and Jaakkola,
Tractable Bayesian learning of tree belief networks (2006), sum undirected trees; Friedman, Geiger and Goldszmidt,
Bayesian network classifiers (1997), choose one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from bayesnb.arrays import memory
from bayesnb.arrays.placement import to_host
from bayesnb.arrays.typing import ArrayLike, LabelsLike, Rows
from bayesnb.families.parts.pairs import PairLayout, pair_statistics
from bayesnb.fits.closed_form import conjugate, fit_posterior
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.numerics.branchings import largest_branching
from bayesnb.results.forest_structures import STRUCTURES, log_weights
from bayesnb.results.forests import ForestPosterior, ForestStatistics, forest_tables, pair_cells
from bayesnb.rows import arguments
from bayesnb.rows.labelled_rows import LabelledRows, Specification, label_rows
from bayesnb.rows.statistics import ModelStatistics, summarise

MOST_FEATURES = 256
"""A row costs K D^3 / 3 operations."""


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

    p(x, k | D) sums over all forests by the matrix-tree theorem. Features of Bernoulli, Categorical, Normal and
    Histogram blocks take part, mixed in one model; a real feature may depend on categories, categories do not depend on
    a real feature. Every feature keeps the prior that it has without a parent. What each row costs grows with D^3, for
    "aode" with D^2.

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
        ValueError: if the data do not fit the model, for blocks of other families, more than 256 features, an unknown
            structure, and in a JAX transformation.

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
    posterior = fit_posterior(model, statistics=of_model)
    columns = {name: family.columns_behind(statistics.blocks[name]) for name, family in model.families.items()}
    found = [family.pair_segments(columns[name]) for name, family in posterior.model.families.items()]
    segments = tuple(chain.from_iterable(found))
    fit = ForestPosterior(posterior, statistics.pairs, structure=structure, segments=segments)
    if structure != "best":
        return fit
    evidence, _ = forest_tables(posterior.prior, statistics.pairs, segments)
    back = PairLayout(statistics.pairs.sizes).back
    return replace(fit, parents=largest_branching(log_weights(evidence)[np.ix_(back, back)]))


def forest_statistics(
    model: Specification, X: Any, y: Any, *, sample_weight: Any = None, num_classes: int | None = None
) -> ForestStatistics:
    """The sufficient statistics of rows, and of all pairs of their columns; arguments as of ``sufficient_statistics``.

    Raises:
        ValueError: as ``fit_forests`` does.
    """
    if X is None:
        raise ValueError("give rows, X and y, or statistics, as the attribute of a ForestPosterior has")
    _require_pairs(model)
    X, y, sample_weight = to_host((X, y, sample_weight))
    rows = label_rows(model, X, y, sample_weight, num_classes, sparse=False).drop_unused()
    layout, found = _layout(model, rows), summarise(rows)
    cells, labels = pair_cells(rows.families, rows.arrays), rows.labels
    pairs = pair_statistics(cells, labels.y, rows.weight(), rows.num_classes, layout)
    return ForestStatistics(found.class_counts, found.blocks, pairs)


def _require_pairs(model: Specification) -> None:
    """ValueError for a block without pairs, before its rows are read: they may be sparse."""
    for name, family in model.families.items():
        if family.pair_sizes(0) is None:
            raise ValueError(
                f"block {name!r} is {family!r}, whose pairs have no closed form: forests take Bernoulli, Categorical, "
                "Normal and Histogram blocks; leave the block out, or use nb.temper(..., per_feature=True) on its "
                "fit_posterior"
            )


def _layout(model: Specification, rows: LabelledRows) -> PairLayout:
    """The sizes of all columns; ValueError if there are too many, or too many categories."""
    parts = [family.pair_sizes(family.columns_in(rows.arrays[name])) for name, family in model.families.items()]
    sizes = tuple(size for of_block in parts for size in of_block or ())
    if len(sizes) > MOST_FEATURES:
        raise ValueError(
            f"fit_forests takes at most {MOST_FEATURES} features, got {len(sizes):,}: use the powers of "
            "nb.temper(nb.fit_posterior(model, X, y), X, y, per_feature=True) instead, or fewer columns"
        )
    num_categories = sum(sizes)
    memory.require(
        8 * 12 * rows.num_classes * num_categories**2,
        f"every pair of {num_categories:,} categories in {rows.num_classes:,} classes",
        "give fewer columns of many categories",
    )
    return PairLayout(sizes)
