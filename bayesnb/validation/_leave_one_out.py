"""Exact leave-one-out predictions in one pass: a row's statistics can be subtracted from a conjugate posterior.

    p(k, x_i | D without i) = p(k | D without i) p(x_i | k, D without i)

The row's contribution is subtracted from the hyperparameters of its own class and those that the classes share. By
feature, these are the log ratios of the other classes to a row's own, from which powers and weights are learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import _either as either
from bayesnb.arrays._cells import is_sparse
from bayesnb.arrays._compute import put_beside
from bayesnb.arrays._loops import in_threads, row_blocks
from bayesnb.arrays._placement import as_array, is_traced, promote_dtypes, to_host, with_automatic_axes
from bayesnb.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.families import Views
from bayesnb.families._base import Family, left_out
from bayesnb.families._views import start_powers
from bayesnb.families.parts._statistics import without
from bayesnb.fits._closed_form import fit_posterior
from bayesnb.forests._left_out_ratios import left_out_ratios
from bayesnb.forests._posterior import ForestPosterior
from bayesnb.model._naive_bayes import NaiveBayes
from bayesnb.numerics._log_prob import LogProb, logsumexp
from bayesnb.results._classifier import Posterior
from bayesnb.results._combine import Powers, has_word_terms
from bayesnb.rows import _arguments as arguments
from bayesnb.rows._checks import columns_in
from bayesnb.rows._labelled_rows import LabelledRows, label_rows
from bayesnb.rows._sufficient_statistics import same_sums, summarise

MOST_ROWS = 20_000
"""Powers are learned on at most this many rows. F powers learned from N rows cost about F / (2 N) nats a new row."""

IN_CACHE = 1 << 20
"""Bytes of a block of the table that is computed at a time."""

DOUBLE_BYTES = 1 << 28
"""Tables larger than this in float64 are stored in float32."""


@partial(with_automatic_axes, by_rows=True)
@promote_dtypes
def leave_one_out(
    model: NaiveBayes | ForestPosterior,
    X: Rows,
    y: LabelsLike,
    *,
    sample_weight: ArrayLike | None = None,
    joint: bool = False,
) -> Array:
    """log p(k | x_i, D without i) of every row, [N, K], without a refit.

    Equal to refitting without the row, with the prior resolved on all rows. With ``joint``, the entry at y_i is
    comparable to the leave-one-out density that PSIS-LOO estimates: Vehtari, Gelman and Gabry, Practical Bayesian model
    evaluation using leave-one-out cross-validation and WAIC (2017). Arguments not listed are as in ``fit_mle``.

    Args:
        model: The specification; or a ``ForestPosterior``, whose rows these must be: edges that "best" chose stay.
        y: Integers 0..K-1 [N].
        sample_weight: Weights [N]; a row is left out with its whole weight.
        joint: Return log p(k, x_i | D without i) instead.

    Raises:
        ValueError: if the data do not fit the model, and for soft labels.

    Example:
        >>> import bayesnb as nb
        >>> nb.leave_one_out(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0]], [0, 0, 1]).round(3)
        array([[-0.405, -1.099],
               [-0.405, -1.099],
               [-0.511, -0.916]])
    """
    arguments.require_integer_labels("leave_one_out takes", y)
    if isinstance(model, ForestPosterior):
        return _leave_out_of_forests(model, X, y, sample_weight, joint)
    arguments.check_model(model)
    rows = label_rows(model, X, y, sample_weight)
    if rows.like is not None:
        if not is_traced(model):
            found = put_beside(rows.like, _leave_out(model, replace(rows, like=None), joint))
            if found is not None:
                return found
        arrays, labels = jax.tree.map(jnp.asarray, (rows.arrays, rows.labels))
        rows = replace(rows, arrays=arrays, labels=labels, like=None)
    return _leave_out(model, rows, joint)


def _leave_out_of_forests(fit: ForestPosterior, X: Any, y: Any, sample_weight: Any, joint: bool) -> Array:
    arguments.require_known("leave_one_out of forests", fit, X, y, sample_weight)
    prior, rows = fit.posterior.prior, fitted_rows(fit.posterior, X, y, sample_weight)
    ratios = left_out_ratios(fit, rows, rows.weight())
    table = leave_one_out(prior, *to_host((X, y)), sample_weight=to_host(sample_weight), joint=True) + ratios
    return table if joint else LogProb(table, None).normalise()


def fitted_rows(posterior: Posterior, X: Any, y: Any, sample_weight: Any) -> LabelledRows:
    """The rows on the host; ValueError unless they have the statistics of the fit, up to rounding."""
    rows = label_rows(posterior.model, *to_host((X, y, sample_weight)))
    found, given = summarise(rows, tables=True), to_host(posterior.statistics).named(None)
    if [np.shape(a) for a in jax.tree.leaves(found)] != [np.shape(a) for a in jax.tree.leaves(given)]:
        # tables of many classes may have two forms
        found, given = found.dense(), given.dense()
    flat: list[Any] = [jax.tree.flatten(one) for one in (found, given)]
    (again, structure), (fitted, structure_of_fit) = flat

    if structure != structure_of_fit or not all(map(same_sums, again, fitted)):
        raise ValueError(
            "X, y and sample_weight must be the rows that the posterior was fitted to, and their statistics differ: "
            "if rows were fitted in parts, give them all together"
        )
    return rows


def _leave_out(model: NaiveBayes, rows: LabelledRows, joint: bool) -> Array:
    fit = fit_posterior(model, statistics=summarise(rows, tables=True))
    own, weight = rows.labels.y, rows.weight()

    table = class_part(fit, own, weight)
    for block, family in fit.prior.families.items():
        one = _generative(family) if joint else family
        table = table + one.leave_one_out(fit.statistics.blocks[block], rows.arrays[block], own, weight)
    if not joint:
        return LogProb(table, None).normalise()
    base = fit.model.row_base_measure(rows.arrays)
    table = table + (base if isinstance(base, float) else base[:, None])
    if fit.powers is None:
        return table
    return _leave_out(model, rows, joint=False) + logsumexp(table)[:, None]


@singledispatch
def _generative(family: Any) -> Any:
    """The family that has the block's program, p(x), evidence and parameters; by default itself."""
    return family


_generative.register(Views, lambda family: family.generative)


@dataclass(frozen=True, eq=False)
class LeftOutRatios:
    """Left-out log ratios, log p(k, x_i | D without i) / p(y_i, x_i | D without i) = prior_ik + sum_f ratios_ikf.

    They are those of all classes k but y_i: ``prior`` [N, K-1] and ``ratios`` [N, K-1, F]. ``weight`` [N] of the rows
    is scaled to the total weight of all fitted rows; ``sizes`` is the number of features by block. In a fit of forests
    their log ratio is the last feature. Blocks of counts stand apart, by their names: the log ratios ``words`` [N, K-1]
    of words that other rows have, and the ``lengths`` [N] of rows in such words.
    """

    prior: Array
    ratios: Array
    weight: Array
    sizes: dict[str, int]
    words: dict[str, Array]
    lengths: dict[str, Array]

    def with_one_feature(self) -> LeftOutRatios:
        """The table with one feature in place of all but the last."""
        features = self.ratios[:, :, :-1].sum(axis=2, dtype=np.float64)
        return replace(self, ratios=np.stack([features, self.ratios[:, :, -1]], axis=2))

    def select(self, features: Array, factors: Array) -> LeftOutRatios:
        """The table with some of the features, [F] or a mask, and their ratios times these factors."""
        return replace(self, ratios=self.ratios[:, :, features] * factors.astype(self.ratios.dtype))

    def loss(self, powers: Array) -> tuple[float, Array]:
        """-sum_i weight_i log p(y_i | x_i) under powers [F], and its gradient [F]."""

        def part(rows: slice) -> tuple[float, Array]:
            probs, nats = self._probs(rows, powers)
            gradient = (self.weight[rows, None] * probs).ravel() @ self.ratios[rows].reshape(-1, len(powers))
            return float(self.weight[rows] @ nats), gradient

        losses, gradients = zip(*in_threads(part, self._blocks), strict=True)
        return sum(losses), np.sum(gradients, axis=0)

    def hessian(self, powers: Array) -> Array:
        """The matrix of the loss's second derivatives in the powers, [F, F]."""

        def part(rows: slice) -> Array:
            probs, _ = self._probs(rows, powers)
            weight, ratios = self.weight[rows, None], self.ratios[rows]
            kind = ratios.dtype
            spread = np.sqrt(weight * probs).astype(kind).reshape(-1, 1) * ratios.reshape(-1, len(powers))
            mean = np.einsum("nk,nkf->nf", (np.sqrt(weight) * probs).astype(kind), ratios)
            return spread.T @ spread - mean.T @ mean

        return np.add.reduce(in_threads(part, self._blocks), axis=0, dtype=np.float64)

    def information(self, powers: Array) -> Array:
        """Eigenvalues of that matrix; zeros may be left out."""
        num_rows, num_others, num_features = self.ratios.shape
        if num_features <= num_rows * (num_others + 1):
            return np.maximum(np.linalg.eigvalsh(self.hessian(powers)), 0.0)
        # S S' has the nonzero eigenvalues of S' S; S has a row for each class, with ratios about the mean
        probs, _ = self._probs(slice(None), powers)
        mean = np.einsum("nk,nkf->nf", probs, self.ratios)[:, None]
        own = 1.0 - probs.sum(axis=1, keepdims=True)
        root = np.sqrt(self.weight[:, None] * np.concatenate([probs, np.maximum(own, 0.0)], axis=1))[:, :, None]
        spread = (root * np.concatenate([self.ratios - mean, -mean], axis=1)).reshape(-1, num_features)
        return np.maximum(np.linalg.eigvalsh(spread @ spread.T), 0.0)

    def _probs(self, rows: slice, powers: Array) -> tuple[Array, Array]:
        """The probabilities of the other classes, [N, K-1], and -log p(y_i | x_i), [N]."""
        return softmax(self.prior[rows] + self.ratios[rows] @ powers)

    @cached_property
    def _blocks(self) -> list[slice]:
        num_rows, num_others, num_features = self.ratios.shape
        row_bytes = self.ratios.itemsize * max(num_others * num_features, 1)
        return list(row_blocks(num_rows, row_bytes, block_bytes=IN_CACHE)) or [slice(0)]  # at least one, if empty


def prior_and_words(table: Any, powers: Powers | None) -> Array:
    """The log ratios of the classes and of blocks of counts in a table, raised to their powers; None means 1."""
    prior = table.prior if powers is None or powers.of_class is None else powers.of_class * table.prior
    for name, words in table.words.items():
        prior = prior + (words if powers is None else words * powers.of_lengths(name, table.lengths[name])[:, None])
    return prior


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
def left_out_log_ratios(
    posterior: Posterior, rows: LabelledRows, *, by_feature: bool, forest: ForestPosterior | None = None
) -> LeftOutRatios:
    """The left-out log ratios of fitted rows, in numpy; without ``by_feature`` each block is one feature.

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
        name: len(start_powers(family, columns_in(family, rows.arrays[name]))) if by_feature else 1
        for name, family in families.items()
        if not has_word_terms(family)
    }
    shape = (*relative.others.shape, sum(sizes.values()) + (forest is not None))
    ratios = np.empty(shape, np.float64 if 8 * np.prod(shape) <= DOUBLE_BYTES else np.float32)
    for name, end in zip(sizes, np.cumsum(list(sizes.values())), strict=True):
        family, out = families[name], ratios[:, :, end - sizes[name] : end]
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
        ratios[:, :, -1] = relative(left_out_ratios(forest, rows, once))
    prior = relative(class_part(posterior, own, once, learned=True))
    words, lengths = dict[str, Array](), dict[str, Array]()
    counted: dict[str, Any] = {name: family for name, family in families.items() if name not in sizes}
    for name, one in counted.items():
        given = posterior.statistics.blocks[name], rows.arrays[name], own, once
        table, lengths[name] = one.leave_out_shared_words(*given)
        words[name] = relative(table)
    return LeftOutRatios(prior, ratios, weight * (total / weight.sum()), sizes, words, lengths)


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
    in_threads(part, row_blocks(len(out), row_bytes, block_bytes=IN_CACHE))
