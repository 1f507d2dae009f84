"""Tests of the naive assumption: mutual information and a Bayes factor of every pair of features, given the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import numpy as np
from scipy.special import xlogy

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import fill_masked_codes, to_host
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.numerics._stable import NEVER
from bayesnb.compute.primitives._codes import starts_of
from bayesnb.core.families import FAMILIES, Family
from bayesnb.core.fits._closed_form import fit_posterior
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import check_shapes, check_values, count_rows
from bayesnb.core.rows._labelled_rows import LabelledRows, check_labels, prepare
from bayesnb.core.rows._sufficient_statistics import summarise
from bayesnb.learned.forests._edges import Parts, log_evidence_ratios, take_labels
from bayesnb.learned.forests._fit import add_pairs
from bayesnb.learned.forests._layout import find_places, has_categories, lay_out, normal_prior
from bayesnb.learned.forests._pairs import PairStatistics, count_pairs, join_segments, merge_labels
from bayesnb.learned.forests._posterior import ForestPosterior, forest_parts


class Pair(NamedTuple):
    """Two columns, their mutual information given the class in nats, and the log Bayes factor for dependence.

    ``per_row`` is the evidence per row in nats, 0 if it does not favour dependence; see ``Dependence``.
    """

    first: str
    second: str
    mutual_information: float
    log_bayes_factor: float
    per_row: float


@dataclass(frozen=True, eq=False, repr=False)
class Dependence:
    """Every pair of columns, given the class.

    Attributes:
        names: The columns' names [D]: their numbers, prefixed by the block's name if X has blocks.
        mutual_information: I(a; b | class) in nats [D, D]; symmetric, 0 on the diagonal.
        log_bayes_factor: log p(rows | dependent) - log p(rows | independent) [D, D]; likewise. 5 are 150 to 1. That of
            ``fit_forests``, in the direction that has more.
        evidence_per_row: log Bayes factor / rows in nats [D, D], 0 for a factor below 5: with many rows the mutual
            information. For categories the factor is the smaller of two, against columns with their own pseudo-counts
            and with C times these, for C categories of the other: independent columns with few rows a category get 0.
            For Normals it is at most sum_k (n_k - 1) I_k - log(n_k + 1) / 2, which only sees rows within a class.
        nearly_unique: The positions of columns of categories with fewer than two rows a category. The mutual
            information of their counts is mostly noise: it is near its maximum even for independent columns.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]] * 5, [0, 1, 0, 1] * 5  # columns 0 and 1 are copies
        >>> found = nb.dependence(X, y)
        >>> found.log_bayes_factor.round(1)
        array([[ 0. , 10.2, -0.8],
               [10.2,  0. , -0.8],
               [-0.8, -0.8,  0. ]])
        >>> [(pair.first, pair.second) for pair in found.strongest(1)]
        [('0', '1')]
    """

    names: tuple[str, ...]
    mutual_information: Array
    log_bayes_factor: Array
    evidence_per_row: Array
    nearly_unique: tuple[int, ...] = ()

    def strongest(self, count: int = 10) -> list[Pair]:
        """The pairs with the most evidence for dependence, by their log Bayes factor; those without evidence last."""
        arguments.check_counts(count=count)
        first, second = np.triu_indices(len(self.names), 1)
        tables = self.mutual_information, self.log_bayes_factor, self.evidence_per_row
        nats, factors, per_row = (table[first, second] for table in tables)
        order = np.lexsort((-factors, per_row <= 0))[:count]
        numbers = np.stack([nats, factors, per_row], axis=1).tolist()
        return [Pair(self.names[first[i]], self.names[second[i]], *numbers[i]) for i in order]

    def among(self, columns: Sequence[int] | Array) -> Dependence:
        """The result for a subset of the columns, by their positions."""
        index = np.ix_(np.asarray(columns), np.asarray(columns))
        names = tuple(self.names[column] for column in columns)
        tables = self.mutual_information, self.log_bayes_factor, self.evidence_per_row
        unique = tuple(place for place, column in enumerate(columns) if column in self.nearly_unique)
        information, factor, per_row = (table[index] for table in tables)
        return Dependence(names, information, factor, per_row, unique)

    def __repr__(self) -> str:
        above = np.triu_indices(len(self.names), 1)
        factors, per_row = self.log_bayes_factor[above], self.evidence_per_row[above]
        num_sure = np.sum((factors > limits.STRONG_DEPENDENCE) & (per_row > 0))
        return f"Dependence({len(factors)} pairs, {num_sure} surely dependent)"


def dependence(
    X: Rows, y: LabelsLike, *, sample_weight: ArrayLike | None = None, model: NaiveBayes | None = None
) -> Dependence:
    """The mutual information and the Bayes factor of every pair of columns given the class: a test of the assumption.

    The log Bayes factor is the evidence of an edge in ``fit_forests``, in the direction that has more, on the rows
    where both cells are observed: that a column has a distribution of its own in each category of the other, or that
    two Normal columns have a bivariate Normal, against one distribution in each class. The priors are those of
    ``model``, by default those of ``nb.Bernoulli()``, ``nb.Categorical(...)`` and ``nb.Normal()``.

    The mutual information is sum_k p_k I_k, where p_k is the class's share of the pair's n_k rows. For two columns of
    categories I_k is that of their counts in class k. With a real column I_k = -1/2 log(1 - n / (n + 1) R^2), where R^2
    is the share of its variance in the class that the other column explains, and at most the entropy of categories:
    dependence that does not affect the mean of the real column does not show. Everything is in float64.

    Args:
        X: An array [N, D], or a dict of arrays by block. Booleans and integers are categories, codes 0, 1, ... with
            negative ones missing; floats are real, with NaN missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        sample_weight: Weights [N]; a weight of 2 is the row twice.
        model: A NaiveBayes of Bernoulli, Categorical, Histogram and Normal blocks: the types and priors of columns.

    Raises:
        ValueError: for shapes, types or values that do not fit, families whose pairs have no closed form, a single
            column, and inside a JAX transformation.

    Example:
        >>> import math, bayesnb as nb
        >>> X, y = [[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]] * 5, [0, 1, 0, 1] * 5  # columns 0 and 1 are copies
        >>> nb.dependence(X, y).mutual_information.round(2), round(math.log(2), 2)  # nats of an even coin
        (array([[0.  , 0.69, 0.  ],
               [0.69, 0.  , 0.  ],
               [0.  , 0.  , 0.  ]]), 0.69)
    """
    if model is not None and not isinstance(model, NaiveBayes):
        raise ValueError(f"model must be a NaiveBayes, got {type(model).__name__}: nb.NaiveBayes(nb.Normal())")
    arguments.require_known("dependence", X, y, sample_weight)
    single, columns, num_classes = not isinstance(X, Mapping), None, None
    # without a model these families only carry the names of the blocks: the types of cells decide, below
    blocks = [*X] if isinstance(X, Mapping) else ["x"]
    families: Mapping[str, Family] = dict.fromkeys(blocks, FAMILIES["normal"]())
    cells, labels, weight = to_host((X, y, sample_weight))
    if model is None:
        cells = jax.tree.map(fill_masked_codes, cells)
    else:
        single, families, columns, num_classes = model.single, model.families, model.columns, model.num_classes
        cells = model.by_block(cells)
    arrays = check_shapes(families, single, cells, columns)
    num_columns = sum(x.shape[1] for x in arrays.values())
    if num_columns < 2:
        raise ValueError(f"dependence is between two columns, X has {num_columns}: give at least two")
    num_rows = count_rows(arrays)
    if not num_rows:
        raise ValueError("dependence is estimated from rows, and X has none")
    rows = LabelledRows(families, arrays, *check_labels(labels, weight, num_rows, num_classes)).drop_unused()
    arrays = rows.arrays
    if model is None:
        families = {name: _family(x, name) for name, x in arrays.items()}
        if not rows.labels.soft:  # only the classes that are there
            classes, y = np.unique(rows.labels.y, return_inverse=True)
            rows = replace(rows, labels=rows.labels._replace(y=y), num_classes=len(classes))
    check_values(families, arrays)
    for name, family in families.items():
        if not has_categories(family) and normal_prior(family) is None:
            raise ValueError(
                f"block {name!r} is {type(family).__name__}: pairs have a closed form for Bernoulli, Categorical, "
                "Histogram and Normal blocks only; leave the block out of X and of the model"
            )
    families = {name: prepare(family, arrays[name], rows.given_weight) for name, family in families.items()}
    layout = lay_out(families, {name: x.shape[1] for name, x in arrays.items()})
    rows = replace(rows, families=families)
    of_rows, pairs = summarise(rows), count_pairs(layout, rows)
    specification = NaiveBayes(families, num_classes=rows.num_classes)
    fit = add_pairs(fit_posterior(specification, statistics=of_rows), pairs)
    names = [str(d) if single else f"{name}_{d}" for name, x in arrays.items() for d in range(x.shape[1])]
    places, starts = find_places(layout, families, arrays), starts_of(pairs.categories.sizes)
    codes = (column[column < starts[d + 1]] for d, column in enumerate(places.T))
    unique = [d for d, seen in enumerate(codes) if 2 * len(np.unique(seen)) > len(seen)]
    nats, factor, per_row = (np.asarray(fit.of_features(_symmetric(table))) for table in measure_pairs(fit))
    return Dependence(tuple(names), nats, factor, per_row, tuple(sorted(layout.order[unique].tolist())))


def _symmetric(pairs: Array) -> Array:
    """The pairs made exactly symmetric, as rounding may differ between (a, b) and (b, a), with 0 on the diagonal."""
    pairs = 0.5 * (pairs + pairs.T)
    return np.where(np.eye(len(pairs), dtype=bool), 0.0, pairs)


def _family(x: Array, block: str) -> Family:
    if x.dtype == bool:
        return FAMILIES["bernoulli"]()
    if not np.issubdtype(x.dtype, np.integer):
        return FAMILIES["normal"]()
    largest = x.max(axis=0, initial=0)
    if (largest >= limits.MOST_BARE_CODES).any():
        raise ValueError(
            f"block {block!r}, column {largest.argmax()}: integers must be categories 0..{limits.MOST_BARE_CODES - 1}, "
            f"got {largest.max()}; give measurements as floats, or recode the column"
        )
    return FAMILIES["categorical"](tuple(largest.astype(int) + 1))


def measure_pairs(fit: ForestPosterior) -> tuple[Array, Array, Array]:
    """The mutual information, the log Bayes factor and the evidence per row of every pair of columns, [F, F] each.

    They are within the classes of a fit of forests, and in the order of its tables. The evidence per row leaves out
    what few rows a category add to the factor.
    """
    parts, segments = forest_parts(fit), fit.layout.joined(fit.segments)
    evidence = log_evidence_ratios(parts)
    evidence = np.maximum(evidence, evidence.T)
    evidence = np.where(evidence == NEVER, 0.0, evidence)  # a column of one category depends on nothing
    cautious, first = evidence.copy(), len(parts.sizes)
    if first:
        slow = compute(_margin_ratios, parts)
        cautious[:first, :first] += np.minimum(0.0, np.minimum(slow, slow.T))
    weight, nats = _information(join_segments(fit.pairs, segments), fit.layout.reals)
    # with classes narrow and far apart, Normals' class means far from the prior's look like one correlated row each
    own = ((weight - 1.0) * nats - 0.5 * np.log1p(weight))[:, first:, first:].sum(axis=0)
    cautious[first:, first:] = np.minimum(cautious[first:, first:], own)
    total = weight.sum(axis=0)
    sure = np.where(cautious > limits.STRONG_DEPENDENCE, cautious, 0.0)
    return _over((weight * nats).sum(axis=0), total), evidence, sure / np.where(total > 0, total, 1.0)


@jax.jit
def _margin_ratios(parts: Parts) -> Array:
    """The log evidence of columns of categories without edges against that with C_i times the pseudo-counts, [I, I].

    Each category of a parent has the child's prior mean until it has several rows, and if none has, the edge beats a
    child that learns from all rows although it says nothing: so does a child that learns C_i times as slowly.
    """
    size, num_columns = sum(parts.sizes), len(parts.sizes)
    own = parts.num_labels * np.arange(parts.num_classes)[:, None] + np.arange(size, size + num_columns)[None]
    prior, statistics = (take_labels(one, own.ravel()) for one in parts.children[0])
    factor = np.tile(np.array(parts.sizes, float), parts.num_classes)[:, None]
    slow = prior._replace(concentration=prior.concentration * factor)
    ratio = prior.log_partition_ratio(statistics) - slow.log_partition_ratio(statistics)
    return ratio.reshape(parts.num_classes, num_columns, num_columns).sum(axis=0)


def _information(pairs: PairStatistics, reals: tuple[str, ...]) -> tuple[Array, Array]:
    """The weight of the rows with both cells, and the mutual information in nats, [K, F, F] each."""
    sizes, size, both = pairs.categories.sizes, pairs.num_labels, pairs.reals
    categories, of_reals = slice(0, len(sizes)), slice(len(sizes), None)
    weight, nats = np.zeros((2, pairs.num_classes, *[len(sizes) + both.num_columns] * 2))
    width = np.sqrt(both.squares)
    # less is rounding: the column counts as constant
    width = np.where(width > 1e-14 * np.abs(both.mean) * np.sqrt(both.count), width, 0.0)
    correlation = _over(_over(both.product, width), width.swapaxes(1, 2))
    weight[:, of_reals, of_reals], nats[:, of_reals, of_reals] = both.count, _of_share(both.count, correlation**2)
    if not sizes:
        return weight, nats
    counts = pairs.categories.counts.reshape(-1, size, size)
    margins = _by_column(counts.swapaxes(1, 2), sizes).swapaxes(1, 2)  # [K, S, I], in rows where the other is seen
    n, apart = _by_column(margins, sizes), _by_column(xlogy(margins, margins), sizes)
    joint = _by_column(_by_column(xlogy(counts, counts), sizes).swapaxes(1, 2), sizes)
    weight[:, categories, categories] = n
    nats[:, categories, categories] = np.maximum(_over(joint - apart - apart.swapaxes(1, 2) + xlogy(n, n), n), 0.0)
    if not reals:
        return weight, nats
    labelled = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *(pairs.blocks[name] for name in reals))
    whole = merge_labels(labelled, sizes * pairs.num_classes)
    seen, squares = (table.reshape(-1, size, table.shape[1]) for table in (labelled.count, labelled.squares))
    count, within = _by_column(seen, sizes), _by_column(squares, sizes)
    total = whole.squares.reshape(count.shape)
    entropy = _over(xlogy(count, count) - _by_column(xlogy(seen, seen), sizes), count)
    # the mutual information is at most the entropy of the categories
    bounded = np.minimum(_of_share(count, _over(total - within, total)), np.maximum(entropy, 0.0))
    weight[:, categories, of_reals], nats[:, categories, of_reals] = count, bounded
    weight[:, of_reals, categories], nats[:, of_reals, categories] = count.swapaxes(1, 2), bounded.swapaxes(1, 2)
    return weight, nats


def _of_share(n: Array, share: Array) -> Array:
    """-1/2 log(1 - n / (n + 1) R^2): finite also for columns that determine each other."""
    return -0.5 * np.log1p(-n / (n + 1.0) * np.clip(share, 0.0, 1.0))


def _over(part: Array, whole: Array) -> Array:
    """part / whole, 0 where that is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 0.0)


def _by_column(table: Array, sizes: tuple[int, ...]) -> Array:
    """The sums over each column's categories, [K, S, X] to [K, I, X]."""
    return np.add.reduceat(table, starts_of(sizes)[:-1], axis=1)
