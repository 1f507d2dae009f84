"""Decisions from class probabilities: the label of least expected cost, or none where that is too high."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.placement import as_array, known
from bayesnb.arrays.typing import Array, ArrayLike
from bayesnb.rows.arguments import is_number, require_known

ABSTAIN = -1
"""The decision for a row without one."""


class Decisions(NamedTuple):
    """Integers [N], -1 where there is no decision, and the ``expected_cost`` [N] of the best decision.

    Example:
        >>> import bayesnb as nb
        >>> labels, expected_cost = nb.decide([[0.9, 0.1], [0.4, 0.6]], costs=[[0, 1], [20, 0]])
        >>> labels, expected_cost.round(2)  # 0.9 * 1 and 0.4 * 1
        (array([1, 1]), array([0.9, 0.4]))
    """

    labels: Array
    expected_cost: Array


def decide(proba: ArrayLike, costs: ArrayLike | None = None, *, abstain: float | None = None) -> Decisions:
    """The decision of least expected cost for each row.

        cost(n, j) = sum_k proba[n, k] costs[k, j],   label_n = argmin_j cost(n, j)

    Bishop, Pattern Recognition and Machine Learning (2006), section 1.5. Of decisions that cost the same, the first.

    Args:
        proba: p(y = k | x), [N, K], as ``predict_proba`` gives.
        costs: [K, J], what decision j costs if the class is k; negative costs are gains. By default every error costs 1
            and J = K, so that the expected cost is the probability of an error.
        abstain: What it costs not to decide, such as asking a person: rows whose least expected cost is higher get -1.

    Raises:
        ValueError: for probabilities that do not sum to 1, and costs of a wrong shape or that are not finite.

    Example:
        >>> import bayesnb as nb
        >>> proba = [[0.98, 0.02], [0.9, 0.1], [0.4, 0.6]]
        >>> nb.decide(proba, costs=[[0, 1], [20, 0]]).labels  # to miss class 1 costs 20 times as much
        array([0, 1, 1])
        >>> nb.decide(proba, abstain=0.2).labels
        array([ 0,  0, -1])
    """
    probs = as_array(proba)
    if probs.ndim != 2 or not probs.shape[1] or probs.dtype.kind not in "fiu":
        raise ValueError(f"proba must be probabilities [N, K], got {probs.dtype} of shape {probs.shape}")
    values = known(probs)
    if values is not None:
        bad = ~((values >= 0).all(axis=1) & (abs(values.sum(axis=1) - 1.0) < 1e-3))
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(
                f"proba must be non-negative with sum 1 in each row, got {values[row].tolist()} in row {row}"
            )
    table = check_costs(costs, probs.shape[1])
    expected = probs @ table.astype(probs.dtype if probs.dtype.kind == "f" else float)
    least = expected.min(axis=1)
    if abstain is None:
        return Decisions(expected.argmin(axis=1), least)
    require_known("a decision under costs", abstain)
    if not is_number(abstain):
        raise ValueError(f"abstain must be the cost of no decision, a finite number, got {abstain!r}")
    return Decisions(either.where(least > abstain, ABSTAIN, expected.argmin(axis=1)), either.minimum(least, abstain))


def check_costs(given: Any, num_classes: int) -> np.ndarray[Any, Any]:
    """The costs [K, J], finite numbers; 0 for the right class and 1 for any other if None."""
    if given is None:
        return 1.0 - np.eye(num_classes)
    require_known("a decision under costs", given)
    if isinstance(given, Mapping):
        raise ValueError("costs must be numbers [K, J]; clf.predict(X, costs=...) takes a dict by label")
    costs = np.asarray(as_array(given))
    if costs.dtype.kind not in "fiu" or costs.ndim != 2 or costs.shape[0] != num_classes or not costs.shape[1]:
        raise ValueError(
            f"costs must be numbers [K, J], a row for each of the {num_classes} classes and a column for each "
            f"decision, got {costs.dtype} of shape {costs.shape}"
        )
    if not np.isfinite(costs).all():
        k, j = np.argwhere(~np.isfinite(costs))[0]
        raise ValueError(f"costs must be finite, got {costs[k, j]} for class {k} and decision {j}")
    return costs
