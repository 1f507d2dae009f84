"""The table of left-out log ratios from which powers and shares are learned: what each feature says without a row.

log p(k, x_i | D without i) / p(y_i, x_i | D without i)  =  prior_ik + sum_f ratios_ikf
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import as_array, promote_dtypes
from bayesnb.compute.arrays._typing import Array
from bayesnb.core.families._base import Family, left_out
from bayesnb.core.families._views import shares, start_powers
from bayesnb.core.families.parts._statistics import without
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._combine import Powers, has_word_terms
from bayesnb.core.rows._checks import columns_in
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.core.rows._part import choose_part, part_of_classes
from bayesnb.learned.forests._left_out_ratios import left_out_ratios
from bayesnb.learned.forests._posterior import ForestPosterior

DOUBLE_BYTES = 1 << 28
"""Tables larger than this in float64 are stored in float32."""


class Loss(NamedTuple):
    """The loss under some powers, its ``gradient`` [F] in them, and the probabilities of the other classes [N, K-1]."""

    value: float
    gradient: Array
    probs: Array


class Judged(NamedTuple):
    """The powers that a table suggests, and -log p(y | x) of its rows [N] under them."""

    powers: Array
    nats: Array


@dataclass(frozen=True, eq=False)
class LeftOutRatios:
    """Left-out log ratios, log p(k, x_i | D without i) / p(y_i, x_i | D without i) = prior_ik + sum_f ratios_ikf.

    They are those of all classes k but y_i: ``prior`` [N, K-1] and ``ratios`` [N, K-1, F]. ``weight`` [N] of the rows
    is scaled to the total weight of all fitted rows of their class; ``sizes`` is the number of features by block. The
    log ratio of forests, ``forest`` [N, K-1], is one feature more, the last. Blocks of counts stand apart, by their
    names: the log ratios ``words`` [N, K-1] of words that other rows have, and the ``lengths`` [N] of rows in such
    words.
    """

    prior: Array
    ratios: Array
    weight: Array
    sizes: dict[str, int]
    words: dict[str, Array]
    lengths: dict[str, Array]
    forest: Array | None = None

    @property
    def num_features(self) -> int:
        """F, and one more with the log ratio of forests."""
        return self.ratios.shape[2] + (self.forest is not None)

    def summed(self) -> Array:
        """The sum of all features' log ratios, [N, K-1]."""
        return self.joint(np.ones(self.num_features)) - self.prior

    def odds_against(self) -> Array:
        """The log odds against each row's own class, with all powers 1, [N]."""
        plain = replace(self, prior=prior_and_words(self, None))
        return np.logaddexp.reduce(plain.joint(np.ones(self.num_features)), axis=1)

    def with_one_feature(self) -> LeftOutRatios:
        """The table with one feature in place of all but the forests'."""
        return replace(self, ratios=self.ratios.sum(axis=2, dtype=np.float64, keepdims=True))

    def with_forest(self, log_ratio: Array, y: Array) -> LeftOutRatios:
        """The table with the log ratio of forests [N, K] for rows of these labels."""
        return replace(self, forest=_Relative(y, log_ratio.shape[1])(log_ratio))

    def with_blocks(self, log_probs: Mapping[str, Array], y: Array) -> LeftOutRatios:
        """The table with log p of whole blocks [N, K] in place of their features, for rows of these labels."""
        parts = np.split(self.ratios, np.cumsum([*self.sizes.values()])[:-1], axis=2)
        by_block: dict[str, Array] = dict(zip(self.sizes, parts, strict=True))
        for name, log_prob in log_probs.items():
            by_block[name] = _Relative(y, log_prob.shape[1])(log_prob)[:, :, None]
        ratios = np.concatenate([*by_block.values()], axis=2, dtype=self.ratios.dtype, casting="same_kind")
        return replace(self, ratios=ratios, sizes=self.sizes | dict.fromkeys(log_probs, 1))

    def select(self, features: Array, factors: Array) -> LeftOutRatios:
        """The table with these features and their ratios times factors."""
        if (factors == 1).all() and len(features) == self.ratios.shape[2]:
            return self
        ratios = np.take(self.ratios, features, axis=2)
        ratios *= factors.astype(ratios.dtype)
        return replace(self, ratios=ratios)

    def joint(self, powers: Array, rows: slice = slice(None)) -> Array:
        """The log odds of the other classes under powers [F], [N, K-1]."""
        num_features = self.ratios.shape[2]
        prior, own = self.prior[rows], powers[:num_features].astype(self.ratios.dtype)
        found = prior + (self.ratios[rows].reshape(prior.size, num_features) @ own).reshape(prior.shape)
        return found if self.forest is None else found + self.forest[rows] * powers[num_features]

    def loss(self, powers: Array) -> Loss:
        """-sum_i weight_i log p(y_i | x_i) under powers [F]."""

        def part(rows: slice) -> Loss:
            probs, nats = softmax(self.joint(powers, rows))
            weighted = (self.weight[rows, None] * probs).ravel()
            some, ratios = self._above(1e-14, weighted, rows)
            return Loss(float(self.weight[rows] @ nats), weighted[some] @ ratios, probs)

        values, gradients, probs = zip(*in_threads(part, self.blocks), strict=True)
        return Loss(sum(values), np.sum(gradients, axis=0), np.concatenate(probs))

    def hessian(self, probs: Array) -> Array:
        """The second derivatives of the loss where the other classes have these ``probs``, but for improbable ones."""

        def part(rows: slice) -> Array:
            spread, mean = self._spread(probs, rows)
            return spread.T @ spread - mean.T @ mean

        # a sum over blocks costs F^2 each
        blocks = row_blocks(len(probs), self.ratios[:1].nbytes, 8 * self.num_features**2, limits.IN_CACHE)
        return reduce(np.add, in_threads(part, blocks), np.zeros((self.num_features,) * 2))

    def log_volume(self, powers: Array, scales: Array) -> float:
        """log det(1 + S H S), H the second derivatives under powers [F] and S the ``scales`` [F]."""
        probs, _ = softmax(self.joint(powers))
        if self.num_features <= self.prior.size:
            matrix = scales[:, None] * self.hessian(probs) * scales
        else:  # H = A' D A with D of 1 and -1, and det(1 + A' D A) = det(1 + D A A')
            parts = self._spread(probs, slice(None))
            signs, rows = np.repeat([1.0, -1.0], [*map(len, parts)]), np.concatenate(parts) * scales
            matrix = signs[:, None] * (rows @ rows.T)
        return float(np.linalg.slogdet(np.eye(len(matrix)) + matrix)[1])

    def _spread(self, probs: Array, rows: slice) -> tuple[Array, Array]:
        """A [M, F] and B [L, F] of rows, with the second derivatives A' A - B' B."""
        num_others = probs.shape[1]
        weight, of_rows = np.repeat(self.weight[rows], num_others), probs[rows].ravel()
        some, ratios = self._above(1e-9, weight * of_rows, rows)
        of_some, weight = of_rows[some], weight[some]
        kind = ratios.dtype
        if num_others == 1:  # both products are of the same rows
            return np.sqrt(weight * of_some * (1.0 - of_some)).astype(kind)[:, None] * ratios, ratios[:0]
        spread = np.sqrt(weight * of_some).astype(kind)[:, None] * ratios
        weighted = (np.sqrt(weight) * of_some).astype(kind)[:, None] * ratios
        row = np.arange(len(of_rows))[some] // num_others
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        return spread, np.add.reduceat(weighted, starts) if len(starts) else weighted

    def _above(self, least: float, numbers: Array, rows: slice) -> tuple[slice | Array, Array]:
        """The places of numbers of the rows' classes above the least, and the log ratios there with forests', [M, F].

        All if they are a quarter or more, which are cheaper to take.
        """
        found = np.flatnonzero(numbers > least)
        some = found if 4 * len(found) < len(numbers) else slice(None)
        ratios = self.ratios[rows].reshape(len(numbers), self.ratios.shape[2])[some]
        if self.forest is not None:
            ratios = np.column_stack([ratios, self.forest[rows].ravel()[some]]).astype(ratios.dtype)
        return some, ratios

    @cached_property
    def blocks(self) -> list[slice]:
        """Rows whose log ratios fit in the cache together; one block of none if there are none."""
        return row_blocks(len(self.ratios), self.ratios[:1].nbytes, 0, limits.IN_CACHE) or [slice(0)]


class Groups(NamedTuple):
    """Features that learn their powers apart: in each group ``factors`` [G, F] on their ratios, 0 for other groups'.

    A ``Normal`` in ``Views`` is a group and the other views are one: each learns as if the other were absent. The
    factors of a feature average to one over groups, and its power is the mean of those that the groups learn.
    """

    factors: Array

    @classmethod
    def of(
        cls, families: Mapping[str, Any], sizes: Mapping[str, int], of_views: Callable[[Any], Array] = shares
    ) -> Groups:
        """Those of blocks with so many features each, whose views begin at ``of_views``, [G, V]; a block with one power
        is in all groups.
        """
        relative = {
            name: np.ones((1, 1)) if size == 1 else of_views(families[name]) / shares(families[name]).mean(axis=0)
            for name, size in sizes.items()
        }
        most = max(map(len, relative.values()), default=1)
        factors = [np.ones((most, 0))]
        for name, own in relative.items():
            own = np.broadcast_to(own, (most, own.shape[1]))
            factors.append(np.repeat(own, sizes[name] // own.shape[1], axis=1))
        return cls(np.concatenate(factors, axis=1))

    def split(self, table: Any) -> list[Any]:
        """The table of each group."""
        of_groups = [np.flatnonzero(factors) for factors in self.factors]
        return [table.select(own, factors[own]) for own, factors in zip(of_groups, self.factors, strict=True)]

    def join(self, powers: Sequence[Array]) -> Array:
        """The powers [F], and those of forests behind them, from those that each group has learned."""
        found = []
        for factors, own in zip(self.factors, powers, strict=True):
            place, size = np.cumsum(factors > 0) - 1, np.count_nonzero(factors)
            found.append(either.concatenate([factors * own[place], own[size:]], axis=0))  # 0 for other groups' features
        total: Array = sum(found[1:], found[0])
        return total / len(found)


def prior_and_words(table: Any, powers: Powers | None) -> Array:
    """The log ratios of the classes and of blocks of counts in a table, raised to their powers; None means 1."""
    prior = table.prior if powers is None or powers.of_class is None else powers.of_class * table.prior
    for name, words in table.words.items():
        prior = prior + (words if powers is None else words * powers.of_lengths(name, table.lengths[name])[:, None])
    return prior


def part_of(fit: Posterior, rows: LabelledRows, num_powers: int) -> LabelledRows:
    """The rows from which so many powers are learned, of all rows of a fit."""
    rows = rows.drop_unused()
    return choose_part(rows, part_of_classes(rows.num_rows, np.asarray(fit.statistics.class_counts), num_powers))


def count_features(rows: LabelledRows, by_feature: bool | Collection[str]) -> dict[str, int]:
    """The number of log ratios of each block but those of counts: of its features, or 1 if not ``by_feature``."""
    wide = rows.families if by_feature is True else by_feature or ()
    families, arrays = rows.families, rows.arrays
    return {
        name: len(start_powers(family, columns_in(family, arrays[name]))) if name in wide else 1
        for name, family in families.items()
        if not (has_word_terms(family) and arrays[name].shape[1])
    }


def softmax(joint: Array) -> tuple[Array, Array]:
    """The probabilities of classes with these log odds against a row's own [N, K-1], and -log of its own, [N]."""
    highest = joint.max(axis=1, initial=0.0, keepdims=True)
    shares = np.exp(joint - highest)
    total = np.exp(-highest) + shares.sum(axis=1, keepdims=True)
    return shares / total, (highest + np.log(total))[:, 0]


@promote_dtypes
def left_out_log_ratios(
    posterior: Posterior,
    rows: LabelledRows,
    *,
    by_feature: bool | Collection[str],
    forest: ForestPosterior | None = None,
) -> LeftOutRatios:
    """The left-out log ratios of rows of a fit, or of some in place of all of their class, in numpy.

    ``by_feature`` are the blocks with a ratio for each feature, or True for all; any other block is one feature.
    Class probabilities are those that the labels suggest: given ones may be of another population. A row of weight w is
    w rows, of which one is left out, or the whole row if w is less than 1. The log ratios of a ``forest`` of this
    posterior are one feature more, the last.
    """
    own, weight = rows.labels.y, rows.weight()
    once = np.minimum(weight, 1.0)
    families, relative = posterior.prior.families, _Relative(own, rows.num_classes)
    sizes = count_features(rows, by_feature)
    shape = (*relative.others.shape, sum(sizes.values()))
    ratios = np.empty(shape, np.float64 if 8 * np.prod(shape) <= DOUBLE_BYTES else np.float32)
    for name, end in zip(sizes, np.cumsum(list(sizes.values())), strict=True):
        family, out = families[name], ratios[:, :, end - sizes[name] : end]
        statistics, cells = posterior.statistics.blocks[name], (rows.arrays[name], own, once)
        if sizes[name] != 1 or (by_feature is True and not family.one_feature):
            if is_sparse(rows.arrays[name]):
                raise ValueError(
                    f"powers of single features need dense rows, and block {name!r} is sparse: learn one power for "
                    "all, per_feature=False, or give a dense array"
                )
            _fill_by_feature(out, family, statistics, cells, relative)
        else:
            out[:, :, 0] = relative(family.leave_one_out(statistics, *cells))
    prior = relative(class_part(posterior, own, once, learned=True))
    words, lengths = dict[str, Array](), dict[str, Array]()
    counted: dict[str, Any] = {name: family for name, family in families.items() if name not in sizes}
    for name, one in counted.items():
        given = posterior.statistics.blocks[name], rows.arrays[name], own, once
        terms, lengths[name] = one.leave_out_shared_words(*given)
        words[name] = relative(terms)
    of_class = np.bincount(own, weight, minlength=rows.num_classes)
    scale = np.asarray(posterior.statistics.class_counts) / np.where(of_class > 0, of_class, 1.0)
    table = LeftOutRatios(prior, ratios, weight * scale[own], sizes, words, lengths)
    return table if forest is None else table.with_forest(left_out_ratios(forest, rows, once), own)


def class_part(fit: Posterior, y: Array, weight: Array, *, learned: bool = False) -> Array:
    """log p(k | the labels of the other rows), [N, K], for labels ``y`` [N] and the rows' ``weight`` [N].

    If ``learned``, given class probabilities are ignored: the labels say what those of these rows are.
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
    in_threads(part, row_blocks(len(out), row_bytes, block_bytes=limits.IN_CACHE))
