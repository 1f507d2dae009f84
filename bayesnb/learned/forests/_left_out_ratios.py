"""Exact leave-one-out predictions of forests of dependence: K + 1 determinants for each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import without_repeats
from bayesnb.compute.arrays._compute import compute, interpret
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, to_host
from bayesnb.compute.primitives._codes import starts_of
from bayesnb.compute.primitives._pair_sums import Odds, left_out_sums
from bayesnb.compute.primitives.sums import Labels, class_sums
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.learned.forests import _bivariate_normal as bivariate_normal
from bayesnb.learned.forests._edges import LabelAxis, Parts, assemble, take_labels
from bayesnb.learned.forests._posterior import ForestPosterior, Prepared, find_rows, prepare
from bayesnb.learned.forests._ratios import PairRows, log_ratios


def left_out_ratios(fit: ForestPosterior, rows: LabelledRows, weight: Array) -> Array:
    """log Z(w r_k(x_i)) / Z(w) of each row and class, [N, K], where neither w nor r_k have seen the row.

    Without it the evidence of an edge is w_ij / r_ij(x_i), with r of the row's own class. For numpy rows of the fit, of
    which each leaves with this ``weight`` [N].
    """
    return left_out_of_each([fit], rows, weight)[0]


def left_out_of_each(fits: Sequence[ForestPosterior], rows: LabelledRows, weight: Array) -> Array:
    """The same of M fits that differ in their structures and powers alone, [M, N, K]."""
    fits = [to_host(fit) for fit in fits]
    first, prepared = fits[0], prepare(fits)
    cells, y = find_rows(first, rows.families, rows.arrays), rows.labels.y
    if prepared.looked_up is not None:
        return np.moveaxis(_look_up(prepared, cells, y, weight), 1, 0)
    left_out = prepare_left_out(prepared.parts)
    out = np.empty((len(fits), len(y), rows.num_classes))

    def part(some: slice) -> None:
        block = jax.tree.map(lambda a: a[some], cells)
        ratios = np.array(log_ratios(prepared.tables, block))
        removed, own = left_out(block, y[some], weight[some])
        ratios[np.arange(len(own)), y[some]] = own
        for combine, found in zip(prepared.combines, out, strict=True):
            found[some] = combine(ratios, removed[:, None])

    row_bytes = 8 * (rows.num_classes + 2) * max(len(first.layout.order), 1) ** 2
    in_threads(part, row_blocks(len(y), row_bytes, block_bytes=limits.LEFT_OUT_BYTES))
    return out


def _look_up(prepared: Prepared, rows: PairRows, y: Array, weight: Array) -> Array:
    """The log ratios of rows of categories without themselves, [N, M, K]."""
    child, sizes, num_classes = prepared.parts.children[0], prepared.parts.sizes, prepared.parts.num_classes
    size = sum(sizes)
    tables = np.stack(np.broadcast_arrays(child.statistics.counts, child.prior.concentration), axis=-1)
    tables = tables.reshape(num_classes, -1, size, 2)
    totals = np.add.reduceat(tables, starts_of(sizes)[:-1], axis=2)
    own, total = (LabelAxis.cut(one, len(sizes)) for one in (tables, totals))
    odds = Odds(own.parents, total.parents, own.alone[:, 0], total.alone[:, 0])
    found = prepared.log_ratios(rows)
    for m, combine in enumerate(prepared.combines):
        sums = left_out_sums(odds, rows.places, y, weight, np.asarray(combine.edges))
        found[np.arange(len(y)), m, y] = combine.of_parents(sums)
    return found


LeftOut = Callable[[PairRows, Array, Array], tuple[Array, Array]]
"""From rows, labels [N] and weights [N] to ``removed``, the log evidence ratio of each edge with the row less that
without it, and ``ratios``, log p(x_j | x_i, k, others) / p(x_j | k, others) in the row's own class, [N, F, F] each.
"""


def prepare_left_out(parts: Parts) -> LeftOut:
    """The function of rows of a fit."""
    partitions, of_pairs = compute(_partitions, parts)
    narrow = jax.tree.map(without_repeats, (parts.moments, parts.prior))
    starts, num_columns, num_labels = starts_of(parts.sizes), len(parts.sizes), parts.num_labels

    def left_out(rows: PairRows, y: Array, weight: Array) -> tuple[Array, Array]:
        seen = rows.places < starts[-1]
        codes = np.where(seen, rows.places - starts[:-1], -1)
        blocks = (codes, *rows.blocks) if num_columns else rows.blocks
        first = num_labels * y[:, None]
        alone = first + num_labels - 1
        given = rows.places, starts[-1] + np.arange(num_columns)
        parents, given_seen = (np.where(seen, first + one, alone) for one in given)  # a missing parent is none
        labels = LabelAxis(parents, given_seen, alone)
        own: tuple[Any, ...] = (None,) * len(blocks)
        if (weight != 1).any():  # a row is a class
            sums = class_sums(Labels(np.arange(len(y)), weight), len(y))
            own = tuple(child.prior.statistics(x, sums) for child, x in zip(parts.children, blocks, strict=True))
        pair = jax.tree.map(lambda table: table[np.minimum(y, len(table) - 1)], narrow)
        args = blocks, rows.reals, weight, labels, own
        return interpret(_left_out, parts.children, partitions, *args, pair, of_pairs[y])

    return left_out


@jax.jit
def _partitions(parts: Parts) -> tuple[tuple[Array, ...], Array]:
    """The log partition ratio of each label of the children, and that of pairs of Normals."""
    of_children = tuple(child.prior.log_partition_ratio(child.statistics) for child in parts.children)
    return of_children, bivariate_normal.log_partition(bivariate_normal.posterior(parts.prior, parts.moments))


def _left_out(
    children: Any, partitions: Any, blocks: Any, reals: Array, weight: Array, labels: LabelAxis, own: Any, pair: Any,
    of_pairs: Array
) -> tuple[Array, Array]:  # fmt: skip
    removed, ratios, alone = [], [], [jnp.zeros((len(weight), 0))]
    num_parents, each = labels.parents.shape[1], jnp.concatenate(labels, axis=1)
    flat, row = each.ravel(), np.repeat(np.arange(len(each)), each.shape[1])
    for child, x, partition, of_row in zip(children, blocks, partitions, own, strict=True):
        terms = child.prior.left_out_terms(child.statistics, jnp.asarray(x)[row], flat, weight[row])
        shape = (*each.shape, terms.shape[1])
        terms = terms.reshape(shape)
        of = LabelAxis.cut(terms, num_parents)
        ratios.append(of.parents - of.alone)
        alone.append(of.alone[:, 0])
        change = terms  # one row changes the evidence by its predictive, and a row of another weight:
        if of_row is not None:
            left = take_labels(child.statistics, flat).minus(take_labels(of_row, row))
            change = (partition[flat] - take_labels(child.prior, flat).log_partition_ratio(left)).reshape(shape)
        of = LabelAxis.cut(change, num_parents)
        removed.append(of.parents - of.given_seen)
    margin = jnp.concatenate(alone, axis=1)[:, None, num_parents : num_parents + reals.shape[1]]
    missing = jnp.isnan(reals)
    x, (moments, prior) = jnp.where(missing, 0.0, reals), pair
    parent, child_cells = x[:, :, None], x[:, None, :]
    left = bivariate_normal.posterior(prior, moments.without(parent, child_cells, weight[:, None, None]))
    given = bivariate_normal.log_conditional(bivariate_normal.conditional(left), parent, child_cells)
    unseen = missing[:, :, None] | missing[:, None, :]
    real = (of_pairs - bivariate_normal.log_partition(left), given - margin)
    of_removed, of_ratios = (jnp.where(unseen, 0.0, one) for one in real)
    return assemble(removed, of_removed, 0.0), assemble(ratios, of_ratios, 0.0)
