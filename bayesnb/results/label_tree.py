"""Trees of labels: probabilities summed up the tree, and the deepest node that is sure enough.

Labels are paths, such as `Bacteria;Firmicutes;Bacilli`. A node has the probability of all classes at or below it.
Reference: Wang, Garrity, Tiedje and Cole (2007), Naive Bayesian classifier for rapid assignment of rRNA sequences into
the new bacterial taxonomy; they report the deepest rank above a confidence of .8, from a bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array, known
from bayesnb.arrays.typing import ArrayLike

ROOT = ""
"""The path of the root, which is above all labels."""

LARGEST_SUM = 1e-3
"""How far above zero rounding may take a log probability."""


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
    given = _check(log_proba, len(steps))
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
    """The steps of each path."""
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


def _check(log_proba: Any, num_classes: int) -> Array:
    """The log probabilities as an array [N, K] of numpy."""
    given = known(log_proba)
    if given is None:
        raise ValueError("roll_up needs numbers, and these are inside a JAX transformation: call it outside")
    if given.ndim != 2 or given.shape[1] != num_classes or given.dtype.kind != "f":
        raise ValueError(
            f"log_proba must be numbers [N, {num_classes}], a column for each path, got {given.dtype} {given.shape}"
        )
    if given.size and not given.max() <= LARGEST_SUM:
        raise ValueError(f"log_proba has {given.max():g}, expected at most 0: give the result of predict_log_proba")
    return given
