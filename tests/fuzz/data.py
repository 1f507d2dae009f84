"""Rows, labels and weights for a model: in a likelihood's support (tame), or anything that somebody might hand in."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import jax
import numpy as np
from hypothesis import strategies as st

import bayesnb as nb
from tests.fuzz.models import SIZES, TOTALS, Size, model
from tests.fuzz.sentences import Refused, answer

LABELS = ("integers", "one class missing", "one class only")
WEIGHTS = ("none", "whole", "any")
SCALES = (1e-3, 1.0, 1e3)
OFFSETS = (0.0, 0.0, 1e4)
EXTREME = (1e-150, 1e-30, 1e8, 1e30, 1e130, 1e150)
BAD_CELLS = (np.nan, np.inf, -np.inf, -1.0, 0.5, 1e8, 1e300, -1e300, 1e-310, 2.0**31, 2.0**63)
LARGE = (1e16, -1e16, 2.0**53, 2.0**60)
"""Numbers beyond which cells differ by a few units in the last place, or not at all."""
BAD_WEIGHTS = (0.0, 1e-12, 1e-300, 1e14, 1e29, 1e31, -1.0, np.nan, np.inf)


class Problem(NamedTuple):
    """A model and rows for it."""

    size: Size
    model: nb.NaiveBayes
    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    tame: bool

    @property
    def num_rows(self) -> int:
        return len(self.y)

    @property
    def offset(self) -> bool:
        """True where cells are far from zero, in units of their spread."""
        return any((np.abs(x[~np.isnan(x)]) > 1e3).any() for x in jax.tree.leaves(self.X))

    def rows(self, index: Any) -> Any:
        return jax.tree.map(lambda x: x[index], self.X)

    def weights(self, index: Any) -> np.ndarray | None:
        return None if self.weight is None else self.weight[index]

    def taking(self, index: Any) -> Problem:
        """The same problem with some of the rows."""
        return self._replace(X=self.rows(index), y=self.y[index], weight=self.weights(index))


def block(kind: str, rng: np.random.Generator, y: np.ndarray, D: int, scales: tuple[float, ...]) -> Any:
    """Cells of one kind, in its support; some are missing."""
    N, shift = len(y), y[:, None]
    holes = rng.choice([0.0, 0.3])

    def missing(x: Any) -> np.ndarray:
        return np.where(rng.random((N, D)) < holes, np.nan, x)

    def measured() -> np.ndarray:
        x = rng.normal(shift, 1.0, (N, D)) * rng.choice(scales, D) + rng.choice(OFFSETS, D)
        constant = rng.random(D) < 0.1
        return np.where(constant, x[:1] if N else x, x)

    match kind:
        case "bernoulli":
            return missing(rng.random((N, D)) < 0.2 + 0.1 * shift)
        case "categorical":
            return missing(rng.integers(0, 3, (N, D)))
        case "ragged":
            return missing(rng.integers(0, SIZES[:D], (N, D)))
        case "multinomial":
            counts = rng.poisson(1.0 + shift, (N, D)).astype(float)
            return np.where(rng.random((N, 1)) < holes, np.nan, counts)
        case "binomial":
            return missing(rng.binomial(TOTALS[:D], 0.2 + 0.1 * shift, (N, D)))
        case "trials":
            totals = rng.integers(0, 6, (N, D))
            return missing(rng.binomial(totals, 0.2 + 0.1 * shift)), missing(totals)
        case "poisson":
            return missing(rng.poisson(1.0 + shift, (N, D)))
        case "normal" | "shared":
            return missing(measured())
        case "covariance" | "discriminant":
            return np.where(rng.random((N, 1)) < holes, np.nan, measured())
    raise ValueError(kind)


@st.composite
def tame(draw: st.DrawFn, sizes: list[Size]) -> Problem:
    """A problem that must be answered, and by every law."""
    size = draw(st.sampled_from(sizes))
    K, N = size.num_classes, draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    seen = {"integers": K, "one class missing": max(K - 1, 1), "one class only": 1}[draw(st.sampled_from(LABELS))]
    y = rng.integers(0, seen, N)
    blocks = {
        kind: block(kind, rng, y, columns, SCALES) for kind, columns in zip(size.kinds, size.columns, strict=True)
    }
    weights = {"none": None, "whole": rng.integers(0, 4, N).astype(float), "any": rng.uniform(0.1, 3, N)}
    X = blocks[size.kinds[0]] if size.single else blocks
    return Problem(size, draw(model(size)), X, y, weights[draw(st.sampled_from(WEIGHTS))], tame=True)


@st.composite
def wild(draw: st.DrawFn, sizes: list[Size]) -> Problem:
    """A problem that need not be one: extreme scales, cells outside the support, weights and labels of any kind."""
    problem = draw(tame(sizes))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    scales = draw(st.sampled_from([SCALES, EXTREME]))
    X = {
        kind: block(kind, rng, problem.y, columns, scales)
        for kind, columns in zip(problem.size.kinds, problem.size.columns, strict=True)
    }
    leaves, structure = jax.tree.flatten(X[problem.size.kinds[0]] if problem.size.single else X)
    for leaf in leaves:
        if draw(st.integers(0, 7)) == 0 and leaf.size and leaf.dtype.kind == "f":
            leaf[:, 0] = draw(st.sampled_from(LARGE)) + 2.0 * rng.integers(0, 4, len(leaf))
        for _ in range(draw(st.integers(0, 2)) if leaf.size else 0):
            leaf[rng.integers(leaf.shape[0]), rng.integers(leaf.shape[1])] = draw(st.sampled_from(BAD_CELLS))
    y, weight = problem.y.copy(), problem.weight
    if draw(st.booleans()) and len(y):
        weight = rng.uniform(0.5, 2.0, len(y))
        weight[rng.random(len(y)) < 0.5] = draw(st.sampled_from(BAD_WEIGHTS))
    if draw(st.integers(0, 9)) == 0 and len(y):
        y[rng.integers(len(y))] = draw(st.sampled_from([-1, problem.size.num_classes, 10**6]))
    fitted = problem.model
    if draw(st.integers(0, 3)) == 0:
        with suppress(Refused):  # some hyperparameters are refused at once
            fitted = answer(lambda: draw(model(problem.size, wild=True)))
    return Problem(problem.size, fitted, jax.tree.unflatten(structure, leaves), y, weight, tame=False)
