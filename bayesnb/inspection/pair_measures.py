"""Mutual information and Bayes factor of every pair of columns, from the statistics and the evidence of forests.

The mutual information within a class is that of the counts of two columns of categories. With a real column it follows
from the share R^2 of its variance that the other column explains: the squared correlation with a real column, the
correlation ratio with categories. So of a real column only dependence of the mean is measured.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
from scipy.special import xlogy

from bayesnb.arrays.compute import compute
from bayesnb.arrays.placement import Array
from bayesnb.forests.edges import Parts, log_evidence_ratios, take_labels
from bayesnb.forests.pairs import PairStatistics, join_segments, merge_labels
from bayesnb.forests.results import ForestPosterior, forest_parts
from bayesnb.numerics.stable import NEVER
from bayesnb.primitives.codes import starts_of

ROUNDING = 1e-14
"""A spread below this share of the mean is rounding: the column counts as constant."""


class Measures(NamedTuple):
    """Mutual information in nats, log Bayes factor, the same without what few rows a category add to it, and the weight
    of the rows with both cells; [F, F] each, in the order of tables.
    """

    information: Array
    evidence: Array
    cautious: Array
    weight: Array


def measure_pairs(fit: ForestPosterior) -> Measures:
    """The measures of every pair of columns of a fit of forests, within its classes."""
    parts, segments = forest_parts(fit), fit.layout.joined(fit.segments)
    evidence = compute(log_evidence_ratios, parts)
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
    return Measures(_over((weight * nats).sum(axis=0), total), evidence, cautious, total)


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
    width = np.where(width > ROUNDING * np.abs(both.mean) * np.sqrt(both.count), width, 0.0)
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
