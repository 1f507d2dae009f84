"""Processor time of the default on wide tables, in units of a random forest's fit in the same process.

    python -m tests.benchmarks.wide [ROWSxCOLUMNSxCLASSES ...]

Each shape runs in a process of its own, after a fit of a small table that loads what every fit loads.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import bayesnb as nb

SHAPES = ("72x7000x2", "1000x1000x2", "1000x300x2", "20x300x2", "1000x100x20")
INFORMATIVE = 20
"""Columns whose means differ between classes."""


def draw(num_rows: int, num_columns: int, num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers, and classes in turn."""
    rng, y = np.random.default_rng(0), np.arange(num_rows) % num_classes
    X, some = rng.normal(size=(num_rows, num_columns)), min(num_columns, INFORMATIVE)
    X[:, :some] += rng.normal(size=(num_classes, some))[y]
    return X, y


def timed(work: Callable[[], Any]) -> float:
    """The processor seconds of the call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(shape: str) -> str:
    """The seconds of the forest, and the ratios of our fit, first and next prediction to them."""
    small, ours = draw(60, 6, 2), nb.NaiveBayesClassifier()
    ours.fit(*small).predict_proba(small[0])
    X, y = draw(*map(int, shape.split("x")))
    unit = timed(lambda: RandomForestClassifier(100).fit(X, y))
    works = (lambda: ours.fit(X, y), lambda: ours.predict_proba(X), lambda: ours.predict_proba(X))
    return f"{shape:>14} {unit:8.2f} s" + "".join(f"{timed(work) / unit:10.2f}" for work in works)


if __name__ == "__main__":
    shapes = sys.argv[1:] or SHAPES
    if len(shapes) == 1:
        print(measure(shapes[0]))
    else:
        print(f"{'shape':>14} {'forest':>10}{'fit':>10}{'first':>10}{'next':>10}", flush=True)
        for shape in shapes:
            subprocess.run([sys.executable, "-m", "tests.benchmarks.wide", shape], check=True)
