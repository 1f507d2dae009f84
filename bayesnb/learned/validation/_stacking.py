"""Weights for an average of predictions, learned on exact leave-one-out predictions.

    p(k | x)  =  sum_m w_m p_m(k | x),      w ~ Dirichlet(3, ..., 3)

The weights maximise the log posterior of w, sum_i log sum_m w_m p_m(y_i | x_i, D without i) + 2 sum_m log w_m, which is
concave: they are proportions in a mixture of known distributions. Yao, Vehtari, Simpson and Gelman, Using stacking to
average Bayesian predictive distributions (2018), have the same without a prior. An average is never worse than one of
its parts by more than -log w_m nats a row, where a choice of one may be worse by any number; the prior keeps few rows
from choosing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.core.fits._mixture_proportions import find_proportions
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.learned.forests._stacked import StackedPosterior
from bayesnb.learned.validation._leave_one_out import fitted_rows
from bayesnb.learned.validation._ratio_table import (
    count_features,
    left_out_log_ratios,
    part_of,
    prior_and_words,
    softmax,
)

CONCENTRATION = 3.0
"""Of the Dirichlet prior of the weights: 2 to 9 gave the same log loss, and 1 is no guard where rows are few."""


def stacking_weights(
    posteriors: Sequence[Posterior], X: Rows, y: LabelsLike, *, sample_weight: ArrayLike | None = None
) -> Array:
    """The weights [M] of M fits to the same rows in the average of their predictions, which add up to one.

    Each row is left out of the fits that judge it; the powers of a fit that ``temper`` returned stay. For columns of
    numbers, ``Normal`` and ``Views``, both with powers by feature, make an average that is hardly ever worse than
    ``Normal``, and better than either in the mean (docs/probabilities.md).

    Args:
        posteriors: Fits as ``fit_posterior`` or ``temper`` return them.
        X: The rows of all fits, with labels ``y``, integers [N], and ``sample_weight`` [N].

    Raises:
        ValueError: for fewer than two fits, fits of other kinds or numbers of classes, soft labels, and if X, y and
            sample_weight are not the fitted rows of each.

    Example:
        >>> import numpy as np
        >>> import bayesnb as nb
        >>> X, y = [[1.0], [1.1], [5.0], [3.0], [3.2], [2.9]], [0, 0, 0, 1, 1, 1]
        >>> fits = [nb.fit_posterior(nb.NaiveBayes(family), X, y) for family in (nb.Normal(), nb.Histogram())]
        >>> weights = nb.stacking_weights(fits, X, y)
        >>> weights.round(2)
        array([0.53, 0.47])
        >>> np.einsum("m,mnk->nk", weights, [fit.predict_proba([[3.0]]) for fit in fits]).round(2)
        array([[0.36, 0.64]])
    """
    fits = [posteriors] if isinstance(posteriors, Posterior) else list(posteriors)
    for fit in fits:
        if not isinstance(fit, Posterior) or isinstance(fit, StackedPosterior):
            raise ValueError(f"stacking_weights takes Posteriors, as fit_posterior returns, got {type(fit).__name__}")
    if len(fits) < 2 or len({len(fit.statistics.class_counts) for fit in fits}) > 1:
        raise ValueError(f"stacking_weights takes two or more fits with the same classes, got {len(fits)} fits")
    arguments.require_known("stacking_weights", *fits, X, y, sample_weight)
    arguments.require_integer_labels("stacking_weights takes", y)
    rows = [fitted_rows(fit, X, y, sample_weight) for fit in fits]
    num_powers = max(sum(count_features(some, True).values()) for some in rows)  # all fits judge the same part
    tables = [_left_out_nats(fit, part_of(fit, some, num_powers)) for fit, some in zip(fits, rows, strict=True)]
    return find_shares(np.stack([nats for nats, _ in tables], axis=1), np.asarray(tables[0][1]))


def find_shares(nats: Array, weight: Array, concentration: ArrayLike = CONCENTRATION) -> Array:
    """The weights [M] of fits under which rows of this ``weight`` [N] have -log p(y | x) of ``nats`` [N, M].

    ``concentration`` is that of the Dirichlet prior, one number or [M].
    """
    probs = np.exp(nats.min(axis=1, keepdims=True) - nats)  # p_m(y_i | x_i), each row relative to its largest
    pseudo_counts = np.broadcast_to(np.asarray(concentration) - 1.0, nats.shape[1:])
    return find_proportions(probs, pseudo_counts, weight=np.asarray(weight)).probs


def _left_out_nats(fit: Posterior, rows: LabelledRows) -> tuple[Array, Array]:
    """-log p(y_i | x_i, D without i) under the powers of the fit, and the weight of these rows, [N] each."""
    table = left_out_log_ratios(fit, rows, by_feature=True)
    start = fit.prior.start_powers() or {}
    powers = [
        np.ones(size) if fit.powers is None else _relative(np.asarray(fit.powers[name]), start.get(name), size)
        for name, size in table.sizes.items()
    ]
    table = replace(table, prior=prior_and_words(table, fit.all_powers))
    _, nats = softmax(table.joint(np.concatenate([np.zeros(0), *powers])))
    return nats, table.weight


def _relative(powers: Any, start: Any, size: int) -> Array:
    """The powers of a block's features relative to those with which they start, of which one is of the whole block."""
    return np.broadcast_to(powers if start is None or len(powers) < size else powers / start, (size,))
