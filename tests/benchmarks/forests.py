"""Forests of dependence on 100 columns: the fit, and the prediction of new rows, which have no rival.

In "alike" columns come in tens that nearly repeat each other, so the evidence of an edge is thousands of nats, and sums
over forests are in logarithms.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

import bayesnb as nb
from tests.benchmarks.workloads import Array, Jobs, Workload

NEW_ROWS = 1_000


def workloads(quick: bool) -> Iterator[Workload]:
    """Fits and predictions; ``quick`` has a tenth of the rows."""
    part = 10 if quick else 1
    rows, columns, classes = size = (5_000 // part, 100, 2)
    fitted = f"{rows:,} x {columns} x {classes}"
    predicted = f"{NEW_ROWS // part:,} x {columns} x {classes}"
    for name in ("Normal", "Categorical", "mixed", "alike"):
        yield Workload(f"forests, {name}, fit", fitted, "", partial(_fit, name, size), "500 ms")
        goal = "" if name == "alike" else "500 ms"
        prepare = partial(_predict, name, size, NEW_ROWS // part)
        yield Workload(f"forests, {name}, predict", predicted, "", prepare, goal)


def _fit(name: str, size: tuple[int, int, int]) -> Jobs:
    model, X, y = _problem(name, size)
    return Jobs(None, lambda: nb.fit_forests(model, X, y), 8 * size[0] * size[1])


def _predict(name: str, size: tuple[int, int, int], num_rows: int) -> Jobs:
    model, X, y = _problem(name, size)
    fit = nb.fit_forests(model, X, y)
    new = {block: x[:num_rows] for block, x in X.items()}
    return Jobs(None, lambda: fit.predict_proba(new), 8 * num_rows * size[1])


def _problem(name: str, size: tuple[int, int, int]) -> tuple[nb.NaiveBayes, dict[str, Array], Array]:
    num_rows, num_columns, num_classes = size
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    real = rng.normal(size=size[:2]) + 0.1 * y[:, None]
    codes = (rng.integers(0, 5, size[:2]) + y[:, None]) % 5
    alike = real[:, : num_columns // 10].repeat(10, axis=1) + 0.5 * rng.normal(size=size[:2])
    half = num_columns // 2
    blocks = {
        "Normal": {"real": real},
        "Categorical": {"codes": codes},
        "mixed": {"codes": codes[:, :half], "real": real[:, half:]},
        "alike": {"real": alike},
    }[name]
    families: dict[str, nb.Family] = {"codes": nb.Categorical(5), "real": nb.Normal()}
    return nb.NaiveBayes({block: families[block] for block in blocks}, num_classes=num_classes), blocks, y
