"""The forgetting factor of a stream, learned by the prequential evidence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayesnb.arrays.placement import Node, pytree
from bayesnb.arrays.typing import LabelsLike, Rows
from bayesnb.fits.closed_form import fit_posterior
from bayesnb.fits.prequential import Sequence
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import Posterior
from bayesnb.rows.statistics import ModelStatistics, sufficient_statistics

MEMORIES = (3000.0, 300.0, 30.0, 3.0)
"""Numbers of rows, 1 / (1 - f), at which the search looks first, besides all of them."""

LONGEST = 1e6
"""The longest memory that is told apart from all rows."""

STEP = 1e-4
"""The step of the central differences of the evidence, relative to the log of the memory."""


@pytree
class Forgetting(Node):
    """What ``fit_forgetting`` returns.

    ``factor`` is the learned factor, or a dict of one for each block and for "label"; ``log_evidence`` is the
    prequential evidence there; ``fit`` is the posterior after the last row, in which the others have faded.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1], [1], [1], [1], [0], [0], [0], [0]], [0] * 8  # the stream turns
        >>> found = nb.fit_forgetting(nb.NaiveBayes(nb.Bernoulli(), num_classes=1), X, y)
        >>> round(found.factor, 1), round(found.log_evidence, 1), found.fit.model.families["x"].b.round(1)
        (0.5, -4.8, array([[2.8]]))
    """

    factor: float | dict[str, float]
    log_evidence: float
    fit: Posterior


def fit_forgetting(model: NaiveBayes, X: Rows, y: LabelsLike, *, per_block: bool = False) -> Forgetting:
    """The forgetting factor that maximises the prequential evidence of rows in order, by its gradient.

        f = argmax sum_t log p(y_t, x_t | rows before, discounted by f a row)

    The evidence is looked at for five memories from all rows to three, and climbed by L-BFGS from the best, with
    central differences as its gradient. On a stream that does not change f is 1 or nearly so: learned from 2,000 rows
    of four flags it costs the next 2,000 less than .001 nats a row.

    Args:
        model: The specification; hyperparameters that are left to the data are resolved from all rows.
        X: An array [N, D], or a dict of arrays by block, in the order of time; NaN is missing.
        y: Integers 0..K-1 [N].
        per_block: Learn one factor for each block, and one for the class probabilities.

    Raises:
        ValueError: as ``prequential``.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1], [1], [1], [1], [0], [0], [0], [0]], [0] * 8  # the stream turns
        >>> nb.fit_forgetting(nb.NaiveBayes(nb.Bernoulli(), num_classes=1), X, y).factor < 1.0
        True
    """
    rows = Sequence(model, X, y)
    parts = ["label", *rows.names] if per_block else [None]
    found = {part: _best(partial(rows.evidence, part)) for part in parts}
    factors = {name: found[name if per_block else None][0] for name in ["label", *rows.names]}
    log_evidence = sum(value for _, value in found.values())
    posterior = fit_posterior(rows.prior, statistics=_fade(rows.prior, X, y, factors))
    return Forgetting(factors if per_block else factors["label"], log_evidence, posterior)


def _best(evidence: Callable[[float], float]) -> tuple[float, float]:
    """The factor of the largest evidence, and the evidence; as a function of the log of the memory 1 / (1 - f)."""

    def loss(memory: Any) -> float:
        return -evidence(1.0 - float(np.exp(-memory[0])))

    starts, keep_all = np.log(MEMORIES), evidence(1.0)
    values = [-loss([start]) for start in starts]
    start = int(np.argmax(values))
    if keep_all >= values[start] and keep_all >= evidence(1.0 - 1.0 / LONGEST):
        return 1.0, keep_all
    around = [np.log(LONGEST), *starts, 0.0]
    options = {"finite_diff_rel_step": STEP}
    bounds = [(around[start + 2], around[start])]
    climbed = minimize(
        loss, starts[start : start + 1], jac="3-point", method="L-BFGS-B", bounds=bounds, options=options
    )
    if -climbed.fun <= keep_all:
        return 1.0, keep_all
    return float(1.0 - np.exp(-climbed.x[0])), float(-climbed.fun)


def _fade(prior: NaiveBayes, X: Any, y: Any, factors: dict[str, float]) -> ModelStatistics:
    """The statistics of all rows after the last one."""
    age = np.arange(len(y))[::-1]
    by_factor = {
        factor: sufficient_statistics(prior, X, y, sample_weight=np.power(factor, age.astype(float)))
        for factor in {*factors.values()}
    }
    blocks = {name: by_factor[factors[name]].blocks[name] for name in prior.families}
    return ModelStatistics(by_factor[factors["label"]].class_counts, blocks)
