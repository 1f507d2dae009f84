"""Exact leave-one-out predictions of forests of dependence: K + 1 determinants for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.cells import without_repeats
from bayesnb.arrays.host_calls import finalise, without_compiling
from bayesnb.arrays.placement import Array, to_host
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.forests import bivariate_normal
from bayesnb.forests.edges import Parts, assemble, take_labels
from bayesnb.forests.ratios import Rows, log_ratios
from bayesnb.forests.results import ForestPosterior, find_rows, forest_parts, prepare_ratios
from bayesnb.primitives.codes import starts_of
from bayesnb.primitives.sums import Labels, class_sums
from bayesnb.rows.labelled_rows import LabelledRows

BLOCK_BYTES = 1 << 24
"""Bytes of the log ratios of a block of rows: numpy's hundreds of operations cost more than a cache that is missed."""


def left_out_ratios(fit: ForestPosterior, rows: LabelledRows, weight: Array) -> Array:
    """log Z(w r_k(x_i)) / Z(w) of each row and class, [N, K], where neither w nor r_k have seen the row.

    Without it the evidence of an edge is w_ij / r_ij(x_i), with r of the row's own class. For numpy rows of the fit, of
    which each leaves with this ``weight`` [N].
    """
    fit = to_host(fit)
    cells, y = find_rows(fit, rows.families, rows.arrays), rows.labels.y
    tables, combine = prepare_ratios(fit)
    left_out = prepare_left_out(fit)
    out = np.empty((len(y), rows.num_classes))

    def part(some: slice) -> None:
        block = jax.tree.map(lambda a: a[some], cells)
        ratios = np.array(log_ratios(tables, block))
        removed, own = left_out(block, y[some], weight[some])
        ratios[np.arange(len(own)), y[some]] = own
        out[some] = combine(ratios, removed[:, None])

    row_bytes = 8 * (rows.num_classes + 2) * max(len(fit.layout.order), 1) ** 2
    in_threads(part, row_blocks(len(y), row_bytes, block_bytes=BLOCK_BYTES))
    return out


LeftOut = Callable[[Rows, Array, Array], tuple[Array, Array]]
"""From rows, labels [N] and weights [N] to ``removed``, the log evidence ratio of each edge with the row less that
without it, and ``ratios``, log p(x_j | x_i, k, others) / p(x_j | k, others) in the row's own class, [N, F, F] each.
"""


def prepare_left_out(fit: ForestPosterior) -> LeftOut:
    """The function of rows of a fit."""
    parts, sizes = forest_parts(fit), tuple(map(len, fit.layout.joined(fit.segments)))
    children, (partitions, partition) = parts.children, finalise(_partitions, parts)
    narrow = jax.tree.map(without_repeats, (parts.moments, parts.prior))
    starts, columns = starts_of(sizes), np.arange(len(sizes))

    def left_out(rows: Rows, y: Array, weight: Array) -> tuple[Array, Array]:
        seen = rows.places < starts[-1]
        codes = np.where(seen, rows.places - starts[:-1], -1)
        blocks = (codes, *rows.blocks) if sizes else rows.blocks
        places = y[:, None] * (starts[-1] + 1) + np.append(rows.places, np.full((len(y), 1), starts[-1]), axis=1)
        known = y[:, None] * (len(sizes) + 1) + np.where(seen, columns, len(sizes))
        each = Labels(np.arange(len(y)), weight)
        own: list[Any] = [None] * len(blocks)
        if (weight != 1).any():  # a row is a class
            own = [c.given.statistics(x, class_sums(each, len(y))) for c, x in zip(children, blocks, strict=True)]
        pair = jax.tree.map(lambda table: table[np.minimum(y, len(table) - 1)], narrow)
        args = (places, known, partitions, own, pair, partition[y])
        return without_compiling(_left_out, children, blocks, rows.reals, weight, *args)

    return left_out


@jax.jit
def _partitions(parts: Parts) -> tuple[tuple[Any, ...], Array]:
    """The log partition ratio of each label of the children, and that of pairs of Normals."""
    pairs = [((c.given, c.of_given), (c.same, c.of_same)) for c in parts.children]
    of_children = tuple(tuple(prior.log_partition_ratio(rows) for prior, rows in pair) for pair in pairs)
    return of_children, bivariate_normal.log_partition(bivariate_normal.posterior(parts.prior, parts.moments))


def _left_out(
    children: Any, blocks: Any, reals: Array, weight: Array, places: Array, known: Array, partitions: Any, own: Any,
    pair: Any, partition: Array
) -> tuple[Array, Array]:  # fmt: skip
    removed, ratios, alone = [], [], [jnp.zeros((len(weight), 0))]
    for child, x, tables, row in zip(children, blocks, partitions, own, strict=True):
        given = _left_out_terms(child.given, child.of_given, x, places, weight)
        ratios.append(given[:, :-1] - given[:, -1:])
        alone.append(given[:, -1])
        if row is None:  # one row changes the evidence by its predictive
            same = _left_out_terms(child.same, child.of_same, x, known, weight)
            removed.append(given[:, :-1] - same)
        else:
            change = _change(child.given, child.of_given, tables[0], row, places[:, :-1])
            removed.append(change - _change(child.same, child.of_same, tables[1], row, known))
    first = known.shape[1]  # the columns with categories are the first features
    margin = jnp.concatenate(alone, axis=1)[:, None, first : first + reals.shape[1]]
    missing = jnp.isnan(reals)
    x, (moments, prior) = jnp.where(missing, 0.0, reals), pair
    parent, child_cells = x[:, :, None], x[:, None, :]
    left = bivariate_normal.posterior(prior, moments.without(parent, child_cells, weight[:, None, None]))
    given = bivariate_normal.log_conditional(bivariate_normal.conditional(left), parent, child_cells)
    unseen = missing[:, :, None] | missing[:, None, :]
    real = (partition - bivariate_normal.log_partition(left), given - margin)
    of_removed, of_ratios = (jnp.where(unseen, 0.0, one) for one in real)
    return assemble(removed, of_removed, 0.0), assemble(ratios, of_ratios, 0.0)


def _left_out_terms(prior: Any, statistics: Any, x: Array, labels: Array, weight: Array) -> Array:
    """log p(x_d | label, all rows but this one) of each row's labels [N, L], [N, L, F]."""
    num_labels = labels.shape[1]
    rows = jnp.repeat(jnp.asarray(x), num_labels, axis=0), labels.ravel(), jnp.repeat(weight, num_labels)
    terms = prior.left_out_terms(statistics, *rows)
    return terms.reshape(*labels.shape, terms.shape[1])


def _change(prior: Any, statistics: Any, partition: Array, rows: Any, labels: Array) -> Array:
    """By how much each row's statistics change the evidence of each of its labels [N, L], [N, L, F]."""
    own, row = labels.ravel(), np.repeat(np.arange(len(labels)), labels.shape[1])
    left = take_labels(statistics, own).minus(take_labels(rows, row))
    change = partition[own] - take_labels(prior, own).log_partition_ratio(left)
    return change.reshape(*labels.shape, partition.shape[1])
