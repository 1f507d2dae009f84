"""Exact leave-one-out predictions in one pass: a row's statistics can be subtracted from a conjugate posterior.

    p(k, x_i | D without i) = p(k | D without i) p(x_i | k, D without i)

The row's contribution is subtracted from the hyperparameters of its own class and those that the classes share.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from bayesnb.compute.arrays._compute import put_beside
from bayesnb.compute.arrays._placement import is_traced, promote_dtypes, to_host, with_automatic_axes
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.numerics._log_prob import LogProb, logsumexp
from bayesnb.core.families._views import generative
from bayesnb.core.fits._closed_form import fit_posterior
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._labelled_rows import LabelledRows, label_rows
from bayesnb.core.rows._sufficient_statistics import same_sums, summarise
from bayesnb.learned.forests._left_out_ratios import left_out_ratios
from bayesnb.learned.forests._posterior import ForestPosterior
from bayesnb.learned.validation._ratio_table import class_part


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
    found, given = summarise(rows), to_host(posterior.statistics).named(None)
    flat: list[Any] = [jax.tree.flatten(one) for one in (found, given)]
    (again, structure), (fitted, structure_of_fit) = flat

    if structure != structure_of_fit or not all(map(same_sums, again, fitted)):
        raise ValueError(
            "X, y and sample_weight must be the rows that the posterior was fitted to, and their statistics differ: "
            "if rows were fitted in parts, give them all together"
        )
    return rows


def _leave_out(model: NaiveBayes, rows: LabelledRows, joint: bool) -> Array:
    fit = fit_posterior(model, statistics=summarise(rows))
    own, weight = rows.labels.y, rows.weight()

    table = class_part(fit, own, weight)
    for block, family in fit.prior.families.items():
        one = generative(family) if joint else family
        table = table + one.leave_one_out(fit.statistics.blocks[block], rows.arrays[block], own, weight)
    if not joint:
        return LogProb(table, None).normalise()
    base = fit.model.row_base_measure(rows.arrays)
    table = table + (base if isinstance(base, float) else base[:, None])
    if fit.powers is None:
        return table
    return _leave_out(model, rows, joint=False) + logsumexp(table)[:, None]
