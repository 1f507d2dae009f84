"""JAX rows in 200 numbers: what is compiled and kept, and their time beside that of programs compiled for each."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np
from rich.table import Table

import bayesnb as nb
from bayesnb.compute.arrays import _compute as compute
from bayesnb.core.rows import _labelled_rows as labelled_rows

COUNTS, MOST = 200, 100_000
TIMED = (1, 10, 100, 1_000, 10_000, 100_000)
COLUMNS, CLASSES = 20, 5
COMPILED = "/jax/core/compile/backend_compile_duration"


def report(only: str, rounds: int) -> Table:
    """Compilations and megabytes of a fit and a prediction at 200 numbers of rows, then times and their ratios."""
    table = Table(title=f"JAX rows, {COUNTS} numbers of them from 1 to {MOST:,}, {COLUMNS} columns, {CLASSES} classes")
    for heading in ("family", "compilations", "MB of the first two", "MB of 200", *(f"{size:,}" for size in TIMED)):
        table.add_column(heading, justify="right")
    for name, family in {"Normal": nb.Normal(), "Bernoulli": nb.Bernoulli(), "Poisson": nb.Poisson()}.items():
        if only in name:
            table.add_row(name, *_measure(family, rounds))
    return table


def _measure(family: nb.Family, rounds: int) -> list[str]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, MOST).astype(np.int32)
    X = rng.poisson(np.minimum(1, 0.1 + y[:, None]), (MOST, COLUMNS)).clip(0, 1).astype(np.float32)
    model = nb.NaiveBayes(family, num_classes=CLASSES)
    sizes = rng.permutation(np.unique(np.exp(rng.uniform(0, np.log(MOST), 3 * COUNTS)).astype(int)))[:COUNTS]
    # a copy to the device compiles nothing, jax.numpy.asarray does
    data = [(jax.device_put(X[:size]), jax.device_put(y[:size])) for size in sizes]
    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: compiled.append(event))
    before = _resident()
    for part in (slice(1), slice(MOST)):  # loads numba and all that serves any number
        _fit_and_predict(model, jax.device_put(X[part]), jax.device_put(y[part]))
    loaded = _resident()
    for rows, labels in data:
        _fit_and_predict(model, rows, labels)
    found = [str(compiled.count(COMPILED)), f"{loaded - before:.0f}", f"{_resident() - loaded:.0f}"]
    return found + [_ratio(model, jax.device_put(X[:size]), jax.device_put(y[:size]), rounds) for size in TIMED]


def _fit_and_predict(model: nb.NaiveBayes, X: jax.Array, y: jax.Array) -> Any:
    return jax.block_until_ready(nb.fit_posterior(model, X, y).predict_log_proba(X))


def _ratio(model: nb.NaiveBayes, X: jax.Array, y: jax.Array, rounds: int) -> str:
    """Our time over that of the same calls where XLA compiles them for this number of rows alone."""

    def ours() -> float:
        return _seconds(lambda: _fit_and_predict(model, X, y))

    def exact() -> float:
        with ExitStack() as stack:
            for module in (compute, labelled_rows):
                stack.enter_context(mock.patch.object(module, "find_cpu_rows", return_value=None))
            return ours()

    mine, theirs = (np.array([job() for _ in range(rounds)]) for job in (ours, exact))
    return f"{np.median(mine) / np.median(theirs):.2f}"


def _seconds(job: Callable[[], Any]) -> float:
    job()
    calls, start = 0, time.perf_counter()
    while calls < 3 or time.perf_counter() - start < 0.1:
        job()
        calls += 1
    return (time.perf_counter() - start) / calls


def _resident() -> float:
    """Megabytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
