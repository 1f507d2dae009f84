"""An oracle for forests of dependence: all forests one by one, and each edge as a product of one-step predictives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import logsumexp

Array = np.ndarray[Any, Any]


def forests(size: int) -> Iterator[tuple[int, ...]]:
    """The parents of every rooted forest of so many nodes, -1 for roots: 1, 3, 16, 125, 1,296."""
    for parents in product(range(-1, size), repeat=size):
        if all(_reaches_root(parents, node) for node in range(size)):
            yield parents


def _reaches_root(parents: tuple[int, ...], node: int) -> bool:
    for _ in parents:
        node = parents[node] if node >= 0 else node
    return node < 0


class Column(NamedTuple):
    """A column of one class: with a concentration [C] of categories, or with (loc, strength, shape, rate)."""

    prior: Array
    real: bool

    def alone(self, past: Array, x: float) -> float:
        """log p(x | past cells)."""
        if not self.real:
            counts = np.bincount(past.astype(int), minlength=len(self.prior)) + self.prior
            return float(np.log(counts[int(x)] / counts.sum()))
        loc, strength, shape, rate = self.prior
        count = len(past)
        mean = past.mean() if count else loc
        squares = ((past - mean) ** 2).sum() + strength * count / (strength + count) * (mean - loc) ** 2
        left = strength + count
        scale = np.sqrt((rate + squares / 2) * (left + 1) / (left * (shape + count / 2)))
        return float(stats.t.logpdf(x, 2 * shape + count, (strength * loc + count * mean) / left, scale))

    def given(self, parent: Column, past: Array, row: Array) -> float:
        """log p(x_j | x_i, past rows [n, 2] of both) for a row (x_i, x_j); -inf if the pair has no closed form."""
        if parent.real and not self.real:
            return -np.inf
        if parent.real:
            return _joint(parent.prior, self.prior, past, row) - _joint_margin(parent.prior, self.prior, past, row)
        same = past[past[:, 0] == row[0], 1]
        if self.real:
            return self.alone(same, row[1])
        share = parent.prior[int(row[0])] / parent.prior.sum()
        return Column(self.prior * share, False).alone(same, row[1])


def _wishart(parent: Array, child: Array, past: Array) -> tuple[Array, float, float, Array]:
    """The posterior mean, strength, degrees and scale matrix; the child's strength and shape count for both."""
    (mean_i, _, shape_i, rate_i), (mean_j, strength, shape, rate) = parent, child
    loc, scale = np.array([mean_i, mean_j]), 2.0 * np.diag([rate_i * shape / shape_i, rate])
    count = len(past)
    mean = past.mean(axis=0) if count else loc
    scale = scale + (past - mean).T @ (past - mean)
    scale = scale + strength * count / (strength + count) * np.outer(mean - loc, mean - loc)
    return (strength * loc + count * mean) / (strength + count), strength + count, 2 * shape + 1 + count, scale


def _joint(parent: Array, child: Array, past: Array, row: Array) -> float:
    loc, strength, degrees, scale = _wishart(parent, child, past)
    shape = scale * (strength + 1) / (strength * (degrees - 1))
    return float(stats.multivariate_t.logpdf(row, loc, shape, df=degrees - 1))


def _joint_margin(parent: Array, child: Array, past: Array, row: Array) -> float:
    loc, strength, degrees, scale = _wishart(parent, child, past)
    shape = scale[0, 0] * (strength + 1) / (strength * (degrees - 1))
    return float(stats.t.logpdf(row[0], degrees - 1, loc[0], np.sqrt(shape)))


class Oracle:
    """All forests of complete rows ``x`` [N, D] with labels; ``columns`` are by class, ``counts`` the labels' prior."""

    def __init__(self, columns: list[list[Column]], concentration: Array, x: Array, y: Array) -> None:
        self.columns, self.x, self.y = columns, x, y
        self.size, self.num_classes = x.shape[1], len(columns)
        self.class_counts = np.bincount(y, minlength=self.num_classes) + concentration
        edges, alone = np.zeros((self.size, self.size)), np.zeros(self.size)
        for k, rows in enumerate(self.by_class):
            for n, row in enumerate(rows):
                step, margin = self.steps(k, rows[:n], row)
                edges, alone = edges + step, alone + margin
        self.edges, self.alone = edges, alone
        self.forests = list(forests(self.size))
        prior = -np.log(self.size) * np.array([sum(p >= 0 for p in forest) for forest in self.forests], float)
        allowed = [self.of_forest(np.where(np.isinf(edges), -np.inf, 0.0), 0.0 * alone, f) for f in self.forests]
        self.log_prior = prior + allowed - logsumexp(prior + allowed)
        log_weights = self.log_prior + [self.of_forest(edges, alone, forest) for forest in self.forests]
        self.log_evidence = logsumexp(log_weights) + self._labels()
        self.shares = np.exp(log_weights - logsumexp(log_weights))

    @property
    def by_class(self) -> list[Array]:
        return [self.x[self.y == k] for k in range(self.num_classes)]

    def steps(self, k: int, past: Array, row: Array) -> tuple[Array, Array]:
        """log p(x_j | x_i, past) [D, D] and log p(x_j | past) [D]."""
        columns, size = self.columns[k], self.size
        table = np.full((size, size), -np.inf)
        for i, j in product(range(size), repeat=2):
            if i != j:
                table[i, j] = columns[j].given(columns[i], past[:, [i, j]], row[[i, j]])
        return table, np.array([columns[j].alone(past[:, j], row[j]) for j in range(size)])

    @staticmethod
    def of_forest(edges: Array, alone: Array, forest: tuple[int, ...]) -> float:
        """The sum over the columns of a forest."""
        return float(sum(alone[j] if i < 0 else edges[i, j] for j, i in enumerate(forest)))

    def log_joint(self, row: Array) -> Array:
        """log p(k, x | all rows), [K]."""
        found = []
        for k, past in enumerate(self.by_class):
            steps = self.steps(k, past, row)
            of_forests = [self.of_forest(*steps, forest) for forest in self.forests]
            found.append(logsumexp(of_forests, b=self.shares) + np.log(self.class_counts[k] / self.class_counts.sum()))
        return np.array(found)

    def edge_probs(self) -> Array:
        probs = np.zeros((self.size, self.size))
        for share, forest in zip(self.shares, self.forests, strict=True):
            for j, i in enumerate(forest):
                if i >= 0:
                    probs[i, j] += share
        return probs

    def _labels(self) -> float:
        counts = self.class_counts - np.bincount(self.y, minlength=self.num_classes)
        total = 0.0
        for k in self.y:
            total += np.log(counts[k] / counts.sum())
            counts[k] += 1
        return float(total)
