"""Decisions from class probabilities: the label of least expected cost, or the deepest node of a tree that is sure.

In a tree, labels are paths such as `Bacteria;Firmicutes;Bacilli`, and a node has the probability of all classes at or
below it. Wang, Garrity, Tiedje and Cole, Naive Bayesian classifier for rapid assignment of rRNA sequences into the new
bacterial taxonomy (2007), report the deepest rank above a confidence of .8, from a bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import as_array, known
from bayesnb.compute.arrays._typing import Array, ArrayLike
from bayesnb.core.rows._arguments import is_number, require_known

ABSTAIN = -1
"""The decision for a row without one."""

ROOT = ""
"""The path of the root, which is above all labels."""


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


@dataclass(frozen=True, eq=False, repr=False)
class LabelTree:
    """The probabilities of all nodes of a tree of labels, for N rows.

    Attributes:
        nodes: The paths of the M nodes below the root, sorted: a node comes before those below it.
        depths: The number of steps of each path [M], from 1.
        parents: The position of the node above each [M]; -1 below the root.
        log_proba: log p(the class is at or below the node | x), [N, M].

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> tree = nb.roll_up(np.log([[0.5, 0.4, 0.1]]), ["animal;cat", "animal;dog", "plant;oak"])
        >>> dict(zip(tree.nodes, tree.proba[0].round(2).tolist()))
        {'animal': 0.9, 'animal;cat': 0.5, 'animal;dog': 0.4, 'plant': 0.1, 'plant;oak': 0.1}
        >>> tree.deepest(confidence=0.7).tolist()
        ['animal']
    """

    nodes: tuple[str, ...]
    depths: Array
    parents: Array
    log_proba: Array

    @property
    def proba(self) -> Array:
        """p(the class is at or below the node | x), [N, M]."""
        return np.exp(self.log_proba)

    def deepest(self, confidence: float = 0.7) -> Array:
        """The deepest node of each row whose probability is at least ``confidence``, paths [N].

        Of several at one depth, which only a confidence of at most one half allows, the most probable. The root, whose
        path is empty, where no node is so sure.

        Raises:
            ValueError: if ``confidence`` is not above 0 and at most 1.
        """
        if not (isinstance(confidence, float | int | np.floating) and 0 < confidence <= 1):
            raise ValueError(f"confidence must be a probability above 0 and at most 1, got {confidence!r}")
        found = np.full(len(self.log_proba), -1)
        for depth in range(1, max(self.depths, default=0) + 1):
            here = np.flatnonzero(self.depths == depth)
            best = self.log_proba[:, here].argmax(axis=1)
            # rounding may leave a sum that is exactly 1 a little below
            sure = self.log_proba[np.arange(len(found)), here[best]] >= np.log(confidence) - 1e-9
            found = np.where(sure, here[best], found)
        return np.array([*self.nodes, ROOT], dtype=object)[found]

    def __repr__(self) -> str:
        depth = max(self.depths, default=0)
        return f"LabelTree({len(self.nodes):,} nodes of depth 1 to {depth}, {len(self.log_proba):,} rows)"


def roll_up(log_proba: ArrayLike, paths: Sequence[str], *, separator: str = ";") -> LabelTree:
    """Sum the probabilities of classes up the tree that their labels describe.

    p(node | x) = sum of p(k | x) over the classes k at or below the node, in log space. A class may be an inner node of
    the tree, as where some rows are labelled `Bacteria` only. Computed by numpy.

    Args:
        log_proba: log p(k | x), [N, K], such as ``fit.predict_log_proba(X)``.
        paths: The labels [K], each a path from the top, such as ``clf.classes_``.
        separator: What separates the steps of a path.

    Raises:
        ValueError: for log probabilities that are not [N, K], missing, or above 0; for two equal paths; and for a path
            with an empty step, or of no step, which would be the root and so its own parent.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> proba = np.array([[0.5, 0.4, 0.1], [0.1, 0.1, 0.8]])
        >>> tree = nb.roll_up(np.log(proba), ["animal;cat", "animal;dog", "plant;oak"])
        >>> tree.nodes
        ('animal', 'animal;cat', 'animal;dog', 'plant', 'plant;oak')
        >>> tree.deepest(confidence=0.7).tolist()
        ['animal', 'plant;oak']
    """
    steps = _steps(paths, separator)
    given = _check_log_proba(log_proba, len(steps))
    nodes = sorted({path[:depth] for path in steps for depth in range(1, len(path) + 1)})
    position = {node: place for place, node in enumerate(nodes)}
    depths = np.array([len(node) for node in nodes], int)
    parents = np.array([position.get(node[:-1], -1) for node in nodes], int)
    total = np.full((len(given), len(nodes)), -np.inf, given.dtype)
    total[:, [position[path] for path in steps]] = given
    for depth in range(max(depths, default=0), 1, -1):
        here = np.flatnonzero(depths == depth)
        above, first = np.unique(parents[here], return_index=True)  # sorted nodes keep siblings together
        total[:, above] = np.logaddexp(total[:, above], np.logaddexp.reduceat(total[:, here], first, axis=1))
    return LabelTree(tuple(separator.join(node) for node in nodes), depths, parents, total)


def _steps(paths: Sequence[str], separator: str) -> list[tuple[str, ...]]:
    if not (isinstance(separator, str) and separator):
        raise ValueError(f"separator must be the text between the steps of a path, got {separator!r}")
    if isinstance(paths, str) or not isinstance(paths, Iterable):
        raise ValueError(f"paths must be a list of texts such as 'animal{separator}cat', got {paths!r}")
    steps = []
    for path in paths:
        if not isinstance(path, str):
            raise ValueError(f"paths must be text such as 'animal{separator}cat', got {path!r}")
        parts = tuple(path.split(separator))
        if not all(part.strip() for part in parts):
            raise ValueError(f"the path {path!r} has an empty step: write one name between two {separator!r}")
        steps.append(parts)
    if len(set(steps)) < len(steps):
        twice, _ = Counter(steps).most_common(1)[0]
        raise ValueError(f"two classes have the path {separator.join(twice)!r}: give each class its own")
    return steps


def _check_log_proba(log_proba: Any, num_classes: int) -> Array:
    """The log probabilities as an array [N, K] of numpy."""
    given = known(log_proba)
    if given is None:
        raise ValueError("roll_up needs numbers, and these are inside a JAX transformation: call it outside")
    if given.ndim != 2 or given.shape[1] != num_classes or given.dtype.kind != "f":
        raise ValueError(
            f"log_proba must be numbers [N, {num_classes}], a column for each path, got {given.dtype} {given.shape}"
        )
    if given.size and not given.max() <= 1e-3:  # so far above zero rounding may take a log probability
        raise ValueError(f"log_proba has {given.max():g}, expected at most 0: give the result of predict_log_proba")
    return given
