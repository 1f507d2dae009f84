"""The log joint of rows as a sum of terms: one per feature, and one per word of a Multinomial block.

log p(y = k, x) = log p(k) + sum_f term_kf(x) + a part that is the same for all classes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.arrays.sparse import dense, is_sparse
from bayesnb.families.base import Family, Params
from bayesnb.families.parts.powers import mixed_terms
from bayesnb.fits.averaged import AveragedPosterior
from bayesnb.numerics.log_prob import LogProb
from bayesnb.results.classifier import Classifier, PointEstimate, Posterior


def by_words(fit: Classifier, family: Family) -> bool:
    """True if the block has one term for each word and one for the length.

    In an average over subsets of features a Multinomial block is in or out as a whole, and has one term.
    """
    return family.has_word_terms and not isinstance(fit, AveragedPosterior)


def num_terms(fit: Classifier, block: str, num_columns: int) -> int:
    """The number of terms of a block with ``num_columns`` columns."""
    family = fit.model.families[block]
    if by_words(fit, family):
        return num_columns + 1
    return 1 if family.one_feature else num_columns


def class_probs(fit: Classifier) -> Array:
    """p(y = k) that predictions use, [K]."""
    return fit.params["class_probs"] if isinstance(fit, PointEstimate) else fit.model.class_mean()


@jax.jit
def terms(fit: Classifier, arrays: dict[str, Array]) -> dict[str, LogProb]:
    """The terms of checked rows by block, [N, K, F]; their sums are what the fit predicts with."""
    families = fit.model.families
    if isinstance(fit, PointEstimate):
        return terms_given(fit.model.block_params(fit.params), families, None, arrays, words=True)
    if isinstance(fit, AveragedPosterior):
        mixed = {b: mixed_terms(f, fit.pooled[b], fit.log_odds[b], arrays[b]) for b, f in families.items()}
        return {b: _possible(part) for b, part in mixed.items()}
    powers = fit.weights if isinstance(fit, Posterior) else None
    return {b: _raised(_possible(f.explained_predictive(arrays[b])), b, powers) for b, f in families.items()}


def terms_given(
    params: Mapping[str, Params],
    families: Mapping[str, Family],
    powers: Mapping[str, Array] | None,
    arrays: Mapping[str, Array],
    *,
    words: bool,
) -> dict[str, LogProb]:
    """The terms given parameters by block; with ``words``, one per word of Multinomial blocks. Pure JAX."""

    def of_block(family: Family, block: Params, x: Array) -> LogProb:
        return family.explained_terms(block, x) if words else family.log_likelihood_terms(block, x)

    return {b: _raised(of_block(f, params[b], arrays[b]), b, powers) for b, f in families.items()}


class Narrowed(NamedTuple):
    """A fit and rows whose blocks of words keep only words that occur in a row, ``columns`` [U] by block.

    The last column stands for all other words; its counts are 0.
    """

    fit: Any
    arrays: dict[str, Array]
    columns: dict[str, Array]


def narrowed(fit: Classifier, arrays: Mapping[str, Array]) -> Narrowed:
    """Rows and a fit, both on the host, without words that occur in no row: their terms are 0."""
    families, rows, columns = dict(fit.model.families), dict(arrays), {}
    params = dict(fit.params) if isinstance(fit, PointEstimate) else None
    for block, family in fit.model.families.items():
        x = rows[block]
        if not by_words(fit, family):
            rows[block] = dense(x)
            continue
        shown = np.unique(x.indices[x.data > 0]) if is_sparse(x) else np.flatnonzero((x > 0).any(axis=0))
        columns[block] = shown
        counts = np.asarray(dense(x[:, shown]), np.float64)
        # a missing row stays missing
        rows[block] = np.column_stack([counts, np.where(np.isnan(counts).any(axis=1), np.nan, 0.0)])
        own: Params | None = None if params is None else fit.model.block_params(params)[block]
        families[block], own = family.merge_words(own, shown)
        if params is not None and own is not None:
            params |= {f"{block}_{site}": value for site, value in own.items()}
    model = fit.model.with_hyperparameters(families, fit.model.class_concentration)
    if isinstance(fit, PointEstimate):
        return Narrowed(PointEstimate.trusted(model, params or {}), rows, columns)
    return Narrowed(replace(fit, model=model) if isinstance(fit, Posterior) else fit, rows, columns)


def _possible(finite: Array) -> LogProb:
    return LogProb(finite, jnp.zeros_like(finite))


def _raised(part: LogProb, block: str, powers: Mapping[str, Array] | None) -> LogProb:
    zeros = jnp.zeros_like(part.finite) if part.zeros is None else part.zeros
    power = 1.0 if powers is None else jnp.asarray(powers[block])[None, None]
    return LogProb(part.finite * power, zeros)
