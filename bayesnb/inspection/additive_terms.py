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
from bayesnb.families.parts.powers import log_mixture_terms
from bayesnb.fits.averaged import AveragedPosterior
from bayesnb.numerics.log_prob import LogProb
from bayesnb.results.classifier import Classifier, PointEstimate, Posterior
from bayesnb.results.intervals import feature_terms, raise_terms


def by_words(fit: Classifier, family: Family) -> bool:
    """True if the block has one term for each word and one for the length.

    In an average over subsets of features a Multinomial block is included as a whole, and has one term.
    """
    return family.has_word_terms and not isinstance(fit, AveragedPosterior)


def class_probs(fit: Classifier) -> Array:
    """p(y = k) in predictions, [K]."""
    return fit.model.class_probs_of(fit.params) if isinstance(fit, PointEstimate) else fit.model.class_mean()


@jax.jit
def terms(fit: Classifier, arrays: dict[str, Array]) -> dict[str, LogProb]:
    """The terms of checked rows by block, [N, K, F]; their sums are what the fit predicts with."""
    families, powers = fit.model.families, fit.weights if isinstance(fit, Posterior) else None
    if isinstance(fit, PointEstimate):
        found = feature_terms(fit.model, fit.params, None, arrays, words=True)
    elif isinstance(fit, AveragedPosterior):
        mixed = {b: log_mixture_terms(f, fit.pooled[b], fit.log_odds[b], arrays[b]) for b, f in families.items()}
        found = {b: LogProb(part, None) for b, part in mixed.items()}
    else:
        finite = {b: f.explained_predictive(arrays[b]) for b, f in families.items()}
        found = {b: raise_terms(families[b], LogProb(part, None), powers, b, arrays[b]) for b, part in finite.items()}
    zeros = {b: jnp.zeros_like(part.finite) if part.zeros is None else part.zeros for b, part in found.items()}
    return {b: LogProb(part.finite, zeros[b]) for b, part in found.items()}


class SeenWords(NamedTuple):
    """A fit and rows whose blocks of words keep only words that occur in a row, ``columns`` [U] by block.

    All other words become one last column, whose counts are 0.
    """

    fit: Any
    arrays: dict[str, Array]
    columns: dict[str, Array]


def keep_seen_words(fit: Classifier, arrays: Mapping[str, Array]) -> SeenWords:
    """Rows and a fit, both on the host, without words that occur in no row: their terms are 0."""
    families, rows, columns = dict(fit.model.families), dict(arrays), {}
    params = dict(fit.params) if isinstance(fit, PointEstimate) else None
    for block, family in fit.model.families.items():
        x = rows[block]
        if not by_words(fit, family):
            rows[block] = dense(x)
            continue
        seen = np.unique(x.indices[x.data > 0]) if is_sparse(x) else np.flatnonzero((x > 0).any(axis=0))
        columns[block] = seen
        counts = np.asarray(dense(x[:, seen]), np.float64)
        # a missing row stays missing
        rows[block] = np.column_stack([counts, np.where(np.isnan(counts).any(axis=1), np.nan, 0.0)])
        own: Params | None = None if params is None else fit.model.block_params(params)[block]
        families[block], own = family.merge_words(own, seen)
        if params is not None and own is not None:
            params |= {f"{block}_{site}": value for site, value in own.items()}
    model = fit.model.with_hyperparameters(families, fit.model.class_concentration)
    if isinstance(fit, PointEstimate):
        return SeenWords(PointEstimate.trust(model, params or {}), rows, columns)
    return SeenWords(replace(fit, model=model) if isinstance(fit, Posterior) else fit, rows, columns)
