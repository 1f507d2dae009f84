"""How often intervals of a difference hold it: data sets are drawn anew, split as a study splits them, and estimated.

``python -m tests.studies.comparison.coverage`` prints the table of ``docs/theory/differences.md`` in some ten minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import bayesnb as nb
from bayesnb.studies.comparison._designs import stratified_order, stratified_split
from bayesnb.studies.comparison._metrics import BY_ROW, LOG_SMALLEST
from bayesnb.studies.comparison._paired import Difference, corrected, crossed

MOST_SCORED = 300
"""Test rows."""

Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Problem:
    """A law of rows, and the likelihood that is fitted to them."""

    draw: Draw
    family: nb.Family
    sizes: tuple[int, ...]


def normal(rows: int, probs: list[float] | None = None, freedom: float | None = None) -> Draw:
    """Three classes and six features with means of their own; Student t noise if there are degrees of freedom."""
    means = np.random.default_rng(7).normal(0, 1, (3, 6))

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y = rng.choice(3, rows, p=probs)
        noise = rng.normal(size=(rows, 6)) if freedom is None else rng.standard_t(freedom, (rows, 6))
        return means[y] + noise, y

    return draw


def flags(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three classes and twelve flags, whose MLE may find a row impossible."""
    probs, y = np.random.default_rng(8).uniform(0.05, 0.95, (3, 12)), rng.choice(3, 400)
    return (rng.random((400, 12)) < probs[y]).astype(np.int32), y


PROBLEMS = {
    "few rows: 200": Problem(normal(200), nb.Normal(), (16, 64, 112, 140)),
    "many rows: 2,000": Problem(normal(2000), nb.Normal(), (16, 64, 256, 700, 1120, 1400)),
    "rare classes: 600, of 90, 7 and 3 %": Problem(normal(600, [0.9, 0.07, 0.03]), nb.Normal(), (16, 64, 210, 420)),
    "heavy tails: 400, t with 2 degrees": Problem(normal(400, freedom=2.0), nb.Normal(), (16, 64, 140, 280)),
    "flags: 400": Problem(flags, nb.Bernoulli(), (16, 64, 140, 280)),
}


@dataclass(frozen=True)
class Coverage:
    """Of one setting: the shares of intervals that hold the true difference, and their median half-widths."""

    estimator: str
    default: float
    width: float
    naive: float
    textbook: float
    textbook_width: float


def losses(problem: Problem, fit: Callable[..., nb.PointEstimate]) -> Callable[..., tuple[jax.Array, ...]]:
    """For each split, with its own training rows, the losses on its test rows by metric [R, T]."""
    model = nb.NaiveBayes(problem.family, num_classes=3)

    def of_split(X: jax.Array, y: jax.Array, X_test: jax.Array, y_test: jax.Array) -> tuple[jax.Array, ...]:
        log_proba = fit(model, X, y).predict_log_proba(X_test)
        own = log_proba[jnp.arange(len(y_test)), y_test]
        brier = jnp.sum((jnp.exp(log_proba) - jax.nn.one_hot(y_test, 3, dtype=log_proba.dtype)) ** 2, axis=1)
        return -jnp.maximum(own, LOG_SMALLEST), brier, (log_proba.argmax(axis=1) != y_test).astype(float)

    return jax.jit(jax.vmap(of_split))


def simulate(
    name: str, size: int, *, repeats: int, splits: int = 30, seed: int = 0, worse: Callable[..., nb.PointEstimate]
) -> dict[str, Coverage]:
    """The coverage of one size of training sets, by metric, of the difference between a fit and full Bayes."""
    problem = PROBLEMS[name]
    plug_in, full = losses(problem, worse), losses(problem, nb.fit_posterior)
    found: dict[str, list[tuple[Difference, Difference, Difference]]] = {metric: [] for metric in BY_ROW}
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        X, y = problem.draw(rng)
        first = stratified_split(y, rng)
        pool, test = first.train, first.test[:MOST_SCORED]
        again = [stratified_split(y, rng) for _ in range(splits)]
        redrawn = np.stack([s.train[:size] for s in again]), np.stack([s.test[:MOST_SCORED] for s in again])
        nested = (
            np.stack([pool[stratified_order(y[pool], rng)][:size] for _ in range(splits)]),
            np.tile(test, (splits, 1)),
        )
        is_crossed = size <= len(pool) / 2
        apart = []
        for train, held in (nested, redrawn) if is_crossed else (redrawn,):
            rows = X[train], y[train], X[held], y[held]
            apart.append([np.asarray(a - b, float) for a, b in zip(plug_in(*rows), full(*rows), strict=True)])
        for j, metric in enumerate(BY_ROW):
            by_split = [d[j].mean(axis=1) for d in apart]
            textbook = corrected(by_split[-1], redrawn[1].shape[1] / size)
            default = crossed(apart[0][j], size, len(pool), skewed=metric == "log_loss") if is_crossed else textbook
            found[metric].append((default, corrected(by_split[0], 0.0), textbook))
    return {metric: _summary(rows) for metric, rows in found.items()}


def _summary(rows: list[tuple[Difference, Difference, Difference]]) -> Coverage:
    true = np.mean([d.mean for row in rows for d in (row[0], row[2])])
    ends = np.array([[d.interval() if d.error else (d.mean, d.mean) for d in row] for row in rows])  # [repeats, 3, 2]
    held = np.mean((ends[..., 0] <= true) & (true <= ends[..., 1]), axis=0)
    widths = np.median(ends[..., 1] - ends[..., 0], axis=0) / 2
    return Coverage(rows[0][0].estimator, held[0], widths[0], held[1], held[2], widths[2])


def least(repeats: int, nominal: float = 0.92) -> float:
    """The coverage that one of at least ``nominal`` falls below once in a thousand such simulations."""
    return float(stats.binom.ppf(0.001, repeats, nominal) / repeats)


def table(repeats: int) -> None:
    """Print the table in Markdown."""
    print("| rows | n | estimator | log loss | its half-width | Brier | accuracy | naive | textbook | its half-width |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, problem in PROBLEMS.items():
        for size in problem.sizes:
            log_loss, brier, accuracy = simulate(name, size, repeats=repeats, worse=nb.fit_mle).values()
            cells = [name, f"{size:,}", log_loss.estimator, f"{log_loss.default:.3f}", f"{log_loss.width:.2g}"]
            cells += [f"{c.default:.3f}" for c in (brier, accuracy)]
            cells += [f"{log_loss.naive:.3f}", f"{log_loss.textbook:.3f}", f"{log_loss.textbook_width:.2g}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    table(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
