"""The evidence of each feature for the classes of the fitted rows, each row left out of the fit that judges it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.cells import is_sparse
from bayesnb.arrays.loops import in_threads, row_blocks
from bayesnb.arrays.placement import Array, as_array, promote_dtypes
from bayesnb.families.base import Family, num_powers, start_powers
from bayesnb.families.left_out import left_out
from bayesnb.families.parts.statistics import without
from bayesnb.forests.left_out import left_out_ratios
from bayesnb.forests.results import ForestPosterior
from bayesnb.results.classifier import Posterior
from bayesnb.rows.checks import columns_in
from bayesnb.rows.labelled_rows import LabelledRows

MOST_ROWS = 20_000
"""Powers are learned on at most this many rows. F powers learned from N rows cost about F / (2 N) nats a new row."""

IN_CACHE = 1 << 20
"""Bytes of a block of the table that is computed at a time."""

DOUBLE_BYTES = 1 << 28
"""Tables larger than this in float64 are stored in float32."""


@dataclass(frozen=True, eq=False)
class LeftOutEvidence:
    """log p(k, x_i | D without i) / p(y_i, x_i | D without i) = prior_ik + sum_f evidence_ikf, for all k but y_i.

    ``prior`` [N, K-1]; ``evidence`` [N, K-1, F]; ``weight`` [N] of the rows, scaled to the total weight of all
    fitted rows; ``sizes``, the number of features by block. In a fit of forests their log ratio is the last feature.
    """

    prior: Array
    evidence: Array
    weight: Array
    sizes: dict[str, int]

    def with_one_feature(self) -> LeftOutEvidence:
        """The table with one feature in place of all but the last."""
        features = self.evidence[:, :, :-1].sum(axis=2, dtype=np.float64)
        return replace(self, evidence=np.stack([features, self.evidence[:, :, -1]], axis=2))

    def select(self, features: Array, multiples: Array) -> LeftOutEvidence:
        """The table with some of the features, [F] or a mask, and their evidence times these numbers."""
        evidence = self.evidence[:, :, features] * multiples.astype(self.evidence.dtype)
        return replace(self, evidence=evidence)

    def loss(self, powers: Array) -> tuple[float, Array]:
        """-sum_i weight_i log p(y_i | x_i) under powers [F], and its gradient [F]."""

        def part(rows: slice) -> tuple[float, Array]:
            probs, nats = self._probs(rows, powers)
            gradient = (self.weight[rows, None] * probs).ravel() @ self.evidence[rows].reshape(-1, len(powers))
            return float(self.weight[rows] @ nats), gradient

        losses, gradients = zip(*in_threads(part, self._blocks), strict=True)
        return sum(losses), np.sum(gradients, axis=0)

    def hessian(self, powers: Array) -> Array:
        """The matrix of the loss's second derivatives in the powers, [F, F]."""

        def part(rows: slice) -> Array:
            probs, _ = self._probs(rows, powers)
            weight, evidence = self.weight[rows, None], self.evidence[rows]
            kind = evidence.dtype
            spread = np.sqrt(weight * probs).astype(kind).reshape(-1, 1) * evidence.reshape(-1, len(powers))
            mean = np.einsum("nk,nkf->nf", (np.sqrt(weight) * probs).astype(kind), evidence)
            return spread.T @ spread - mean.T @ mean

        return np.sum(in_threads(part, self._blocks), axis=0, dtype=np.float64)

    def information(self, powers: Array) -> Array:
        """Eigenvalues of that matrix; zeros may be left out."""
        num_rows, num_others, num_features = self.evidence.shape
        if num_features <= num_rows * (num_others + 1):
            return np.maximum(np.linalg.eigvalsh(self.hessian(powers)), 0.0)
        # S S' has the nonzero eigenvalues of S' S; S has a row for each class, with evidence about the mean
        probs, _ = self._probs(slice(None), powers)
        mean = np.einsum("nk,nkf->nf", probs, self.evidence)[:, None]
        own = 1.0 - probs.sum(axis=1, keepdims=True)
        root = np.sqrt(self.weight[:, None] * np.concatenate([probs, np.maximum(own, 0.0)], axis=1))[:, :, None]
        spread = (root * np.concatenate([self.evidence - mean, -mean], axis=1)).reshape(-1, num_features)
        return np.maximum(np.linalg.eigvalsh(spread @ spread.T), 0.0)

    def _probs(self, rows: slice, powers: Array) -> tuple[Array, Array]:
        """The probabilities of the other classes, [N, K-1], and -log p(y_i | x_i), [N]."""
        return softmax(self.prior[rows] + self.evidence[rows] @ powers)

    @cached_property
    def _blocks(self) -> list[slice]:
        num_rows, num_others, num_features = self.evidence.shape
        row_bytes = self.evidence.itemsize * max(num_others * num_features, 1)
        return list(row_blocks(num_rows, row_bytes, block_bytes=IN_CACHE)) or [slice(0)]  # at least one, if empty


def one_in(num_rows: int) -> int:
    """Powers are learned on one in so many rows, sorted by class."""
    return max(-(-num_rows // MOST_ROWS), 1)


def softmax(joint: Array) -> tuple[Array, Array]:
    """The probabilities of classes with these log odds against a row's own [N, K-1], and -log of its own, [N]."""
    highest = joint.max(axis=1, initial=0.0, keepdims=True)
    shares = np.exp(joint - highest)
    total = np.exp(-highest) + shares.sum(axis=1, keepdims=True)
    return shares / total, (highest + np.log(total))[:, 0]


@promote_dtypes
def left_out_evidence(
    posterior: Posterior, rows: LabelledRows, *, by_feature: bool, forest: ForestPosterior | None = None
) -> LeftOutEvidence:
    """The leave-one-out evidence of fitted rows, in numpy; without ``by_feature`` each block is one feature.

    Class probabilities are those that the labels suggest: given ones may be of another population. A row of weight w is
    w rows, of which one is left out, or the whole row if w is less than 1. Of many rows, one in ``one_in`` is enough.
    The log ratios of a ``forest`` of this posterior are one feature more, the last.
    """
    rows = rows.drop_unused()
    every = one_in(rows.num_rows)
    total = np.asarray(posterior.statistics.class_counts).sum()
    if every > 1:  # of each class alike, whatever the order of the rows
        rows = rows.select(np.sort(np.argsort(rows.labels.y, kind="stable")[::every]))
    own, weight = rows.labels.y, rows.weight()
    once = np.minimum(weight, 1.0)
    families, relative = posterior.prior.families, _Relative(own, rows.num_classes)
    sizes = {
        name: num_powers(family, columns_in(family, rows.arrays[name])) if by_feature else 1
        for name, family in families.items()
    }
    shape = (*relative.others.shape, sum(sizes.values()) + (forest is not None))
    evidence = np.empty(shape, np.float64 if 8 * np.prod(shape) <= DOUBLE_BYTES else np.float32)
    ends = np.cumsum(list(sizes.values()))
    for (name, family), end in zip(families.items(), ends, strict=True):
        out = evidence[:, :, end - sizes[name] : end]
        statistics, cells = posterior.statistics.blocks[name], (rows.arrays[name], own, once)
        if by_feature and not family.one_feature:
            if is_sparse(rows.arrays[name]):
                raise ValueError(
                    f"powers of single features need dense rows, and block {name!r} is sparse: learn one power for "
                    "all, per_feature=False, or give a dense array"
                )
            _fill_by_feature(out, family, statistics, cells, relative)
        else:
            out[:, :, 0] = relative(family.leave_one_out(statistics, *cells))
    if forest is not None:
        evidence[:, :, -1] = relative(left_out_ratios(forest, rows, once))
    prior = relative(class_part(posterior, own, once, learned=True))
    return LeftOutEvidence(prior, evidence, weight * (total / weight.sum()), sizes)


def class_part(fit: Posterior, y: Array, weight: Array, *, learned: bool = False) -> Array:
    """log p(k | the labels of the other rows), [N, K], for labels ``y`` [N] and the rows' ``weight`` [N].

    If ``learned``, class probabilities that were given are left aside: the labels say what those of these rows are.
    """
    counts = fit.statistics.class_counts
    own = np.arange(counts.shape[0])[None, :] == y[:, None]
    if fit.model.class_probs is not None and not learned:
        return either.log(as_array(fit.model.class_probs))[None, :] + 0.0 * own
    left = fit.prior.class_concentration[None, :] + without(counts[None, :], either.where(own, weight[:, None], 0.0))
    return either.log(left / left.sum(axis=1, keepdims=True))


class _Relative:
    """Log densities [N, K, ...] of the classes other than each row's own, relative to its own, [N, K-1, ...]."""

    def __init__(self, own: Array, num_classes: int) -> None:
        others = np.arange(num_classes - 1)
        self.own = own[:, None]
        self.others = others + (others >= self.own)

    def __call__(self, table: Array, rows: slice = slice(None)) -> Array:
        each = np.arange(len(table))[:, None]
        return table[each, self.others[rows]] - table[each, self.own[rows]]


def _fill_by_feature(
    out: Array, family: Family, statistics: Any, cells: tuple[Array, ...], relative: _Relative
) -> None:
    terms = left_out(family, statistics, *cells[1:])
    start = start_powers(family, columns_in(family, cells[0]))

    def part(rows: slice) -> None:
        out[rows] = start * np.asarray(relative(terms(*(cell[rows] for cell in cells)), rows))

    row_bytes = 8 * (out.shape[1] + 1) * out.shape[2]
    in_threads(part, row_blocks(len(out), row_bytes, block_bytes=IN_CACHE))
