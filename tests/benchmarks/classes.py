"""Compile time against the number of classes: the first call after all was forgotten, less a later one.

numpy rows compile what is finalised from their statistics; inside somebody's ``jax.jit`` the whole fit or prediction is
compiled. A few rows do, as compiling knows nothing of their number.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import bayesnb as nb

FEW, MANY = 10, 10_000
ROWS, COLUMNS = 20, 2

FAMILIES: dict[str, nb.Family] = {
    "Bernoulli": nb.Bernoulli(),
    "Binomial": nb.Binomial(4),
    "Binomial of pairs": nb.Binomial(None),
    "Categorical": nb.Categorical(3),
    "Categorical, own sizes": nb.Categorical((2, 3)),
    "Multinomial": nb.Multinomial(),
    "Poisson": nb.Poisson(),
    "Normal": nb.Normal(),
    "Normal, shared": nb.Normal(variance="shared"),
    "MultivariateNormal": nb.MultivariateNormal(smoothing=0.1),
    "MultivariateNormal, shared": nb.MultivariateNormal("shared", smoothing=0.1),
}

Job = Callable[[Any, Any], Any]


def report(only: str, rounds: int) -> Table:
    """Compile seconds of every family and job at either number of classes, and their ratio."""
    table = Table(title=f"compile milliseconds at {FEW:,} and {MANY:,} classes, {ROWS} rows of {COLUMNS} columns")
    for heading in ("family", "rows", "job"):
        table.add_column(heading)
    for heading in (f"K = {FEW:,}", f"K = {MANY:,}", "ratio"):
        table.add_column(heading, justify="right")
    names = [name for name in FAMILIES if only in name]
    for name in track(names, console=Console(stderr=True), transient=True):
        few, many = (dict(_compile_seconds(FAMILIES[name], size, rounds)) for size in (FEW, MANY))
        for (rows, job), seconds in few.items():
            ratio = many[rows, job] / seconds
            table.add_row(name, rows, job, f"{1e3 * seconds:.0f}", f"{1e3 * many[rows, job]:.0f}", f"{ratio:.2f}")
    return table


def _compile_seconds(family: nb.Family, num_classes: int, rounds: int) -> Iterator[tuple[tuple[str, str], float]]:
    rng = np.random.default_rng(0)
    X: Any = rng.integers(0, 2, (ROWS, COLUMNS)).astype(np.float64)
    X = (X, X + 1) if isinstance(family, nb.Binomial) and family.total_count is None else X
    y = np.arange(ROWS) % (FEW // 2)  # at either number some classes have no rows
    model = nb.NaiveBayes(family, num_classes=num_classes)
    on_device = jax.tree.map(jax.numpy.asarray, (X, y))
    for job, function in _jobs(model, X, y).items():
        yield ("numpy", job), _compiling(lambda f=function: f(X, y), rounds)
        compiled = jax.jit(function)
        yield ("in jit", job), _compiling(lambda f=compiled: jax.block_until_ready(f(*on_device)), rounds)


def _jobs(model: nb.NaiveBayes, X: Any, y: Any) -> dict[str, Job]:
    mle, exact = nb.fit_mle(model, X, y), nb.fit_posterior(model, X, y)

    def evidence(X: Any, y: Any) -> Any:
        del X, y  # those of the fit
        return nb.fit_posterior(model, statistics=exact.statistics).log_evidence

    return {
        "fit_mle": lambda X, y: nb.fit_mle(model, X, y).params,
        "fit_map": lambda X, y: nb.fit_map(model, X, y).params,
        "fit_posterior": lambda X, y: nb.fit_posterior(model, X, y).model,
        "predict_log_proba, MLE": lambda X, _: _fresh(mle).predict_log_proba(X),
        "predict_log_proba, exact": lambda X, _: _fresh(exact).predict_log_proba(X),
        "leave_one_out": lambda X, y: nb.leave_one_out(model, X, y),
        "evidence": evidence,
    }


def _fresh(fit: Any) -> Any:
    """The same fit, which has predicted nothing yet."""
    return jax.tree.map(lambda leaf: leaf, fit)


def _compiling(job: Callable[[], object], rounds: int) -> float:
    """Processor seconds of the shortest first call less the shortest later one: what disturbs only adds to them."""
    first, later = [], []
    for _ in range(rounds):
        jax.clear_caches()
        for times in (first, later, later):
            start = time.process_time()
            job()
            times.append(time.process_time() - start)
    return min(first) - min(later)
