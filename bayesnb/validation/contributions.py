"""The leave-one-out evidence of each feature for each row's class.

    log p(k, x_i | D without i) = prior_ik + sum_f evidence_ikf

All entries are relative to the row's own class y_i, whose entries are 0. This is a multinomial logit with the powers of
the features as coefficients.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.special

from bayesnb.arrays.placement import Array
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.families.base import Family
from bayesnb.primitives import products
from bayesnb.results.classifier import Posterior
from bayesnb.rows.labelled_rows import LabelledRows
from bayesnb.validation.leave_one_out import class_part

DOUBLE_BYTES = 1 << 28
"""Tables larger than this in float64 are stored in float32."""


class Contributions(NamedTuple):
    """``prior`` [N, K]; ``evidence`` [N, K, F], the features of all blocks; ``weight`` [N] of the rows; ``sizes``, the
    number of features of each block, by name.
    """

    prior: Array
    evidence: Array
    weight: Array
    sizes: dict[str, int]

    @property
    def num_features(self) -> int:
        """F, the number of features of all blocks."""
        return self.evidence.shape[2]

    def by_block(self, powers: Array) -> dict[str, Array]:
        """Split an array [F] by block."""
        ends = np.cumsum(list(self.sizes.values()))
        return dict(zip(self.sizes, np.split(powers, ends[:-1]), strict=True))

    def summed(self) -> Array:
        """The evidence of all features together, [N, K]."""
        return self.evidence.sum(axis=2, dtype=np.float64)

    def loss(self, evidence: Array) -> float:
        """-sum_i weight_i log p(y_i | x_i) for class evidence [N, K]."""
        # the own class has 0, so its log probability is minus the logsumexp over classes
        return float(self.weight @ scipy.special.logsumexp(self.prior + evidence, axis=1))

    def evaluate(self, powers: Array) -> tuple[float, Array]:
        """The loss under powers [F], and its gradient [F]."""

        def part(rows: slice) -> tuple[float, Array]:
            probs, log_sum = self._probs(rows, powers)
            gradient = np.einsum("nk,nkf->f", self.weight[rows, None] * probs, self.evidence[rows], optimize=True)
            return float(self.weight[rows] @ log_sum), gradient

        parts = in_threads(part, self._blocks())
        return sum(loss for loss, _ in parts), np.sum([gradient for _, gradient in parts], axis=0)

    def information(self, powers: Array) -> Array:
        """Eigenvalues of the loss's Hessian in the powers; zero eigenvalues may be left out."""
        num_rows, num_classes, num_features = self.evidence.shape
        wide = num_features > num_rows * num_classes

        def part(rows: slice) -> Array:
            probs, _ = self._probs(rows, powers)
            mean = np.einsum("nk,nkf->nf", probs, self.evidence[rows], optimize=True)
            root = np.sqrt(self.weight[rows, None] * probs)[:, :, None]
            spread = (root * (self.evidence[rows] - mean[:, None])).reshape(probs.size, num_features)
            return spread if wide else spread.T @ spread

        parts = in_threads(part, self._blocks())
        if wide:
            spread = np.concatenate(parts)
            return np.maximum(np.linalg.eigvalsh(spread @ spread.T), 0.0)
        return np.maximum(np.linalg.eigvalsh(np.sum(parts, axis=0)), 0.0)

    def _probs(self, rows: slice, powers: Array) -> tuple[Array, Array]:
        joint = self.prior[rows] + self.evidence[rows] @ powers
        log_sum = scipy.special.logsumexp(joint, axis=1)
        return np.exp(joint - log_sum[:, None]), log_sum

    def _blocks(self) -> Any:
        num_rows, num_classes, num_features = self.evidence.shape
        return row_blocks(num_rows, self.evidence.itemsize * num_classes * max(num_features, 1))


def contributions(posterior: Posterior, rows: LabelledRows, *, by_feature: bool) -> Contributions:
    """The contributions of the fitted rows, in numpy; without ``by_feature`` each block is one feature."""
    rows = rows.counted()
    own, weight, num_classes = rows.labels.y, rows.weight(), rows.num_classes
    blocks = {}
    for name, family in posterior.prior.families.items():
        statistics, cells = posterior.statistics.blocks[name], (rows.arrays[name], own, weight)
        blocks[name] = (
            products.by_rows(_terms, (family, statistics), cells)
            if by_feature
            else family.leave_one_out(statistics, *cells)[..., None]
        )
    sizes = {name: block.shape[2] for name, block in blocks.items()}
    dtype = np.float64 if 8 * weight.size * num_classes * sum(sizes.values()) <= DOUBLE_BYTES else np.float32
    evidence = np.empty((weight.size, num_classes, sum(sizes.values())), dtype)
    start = 0
    for name, block in blocks.items():
        of_own = np.take_along_axis(block, own[:, None, None], axis=1)
        np.subtract(block, of_own, out=evidence[:, :, start : start + sizes[name]], casting="same_kind")
        start += sizes[name]
    prior = class_part(posterior, own, weight)
    return Contributions(prior - np.take_along_axis(prior, own[:, None], axis=1), evidence, weight, sizes)


@jax.jit
def _terms(family: Family, statistics: Any, rows: Any) -> Array:
    return family.leave_one_out_terms(statistics, *rows)
