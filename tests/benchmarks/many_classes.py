"""Words of many classes: processor time a row and peak memory of fits and predictions, against MultinomialNB.

Each figure comes from a process of its own. A row has about 50 words, and a class three rows, as in a catalogue of
products or a tree of subjects. MultinomialNB gets its rows in parts, ``partial_fit``, as ``fit`` would make a dense
array of labels [N, K]; where its table is large, only as many as it fits in some minutes. Peak memory is what is above
libraries and rows, on Linux.
"""

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.naive_bayes import MultinomialNB

import bayesnb as nb
from tests.benchmarks.workloads import Array

SHAPES = ((10_000, 5_000), (100_000, 2_000), (100_000, 100_000))
"""Numbers of classes and of words; a dense table of the last takes 75 GiB."""

RIVAL = "MultinomialNB"
RIVALS_SHAPES, RIVALS_CELLS = SHAPES[:2], 1 << 30
"""The shapes that the rival can hold, and how many cells of its tables it may go through: it takes the logarithm of all
after each part."""

METHODS = ("map", "posterior")
ROWS_OF_A_CLASS, WORDS, PART = 3, 50, 2_000
PREDICTED, TOGETHER = 1_000, 500
"""Rows that are predicted, and how many at a time: the answer is [N, K]."""

FIGURES = ("fit µs", "fit MiB", "predict µs", "peak MiB")


def report(quick: bool) -> Table:
    """The figures of each shape, the rival's and ours with the ratios; ``quick`` has a tenth of the classes."""
    shapes = [(classes // (10 if quick else 1), words) for classes, words in SHAPES]
    runs = [(RIVAL, *shape) for shape, full in zip(shapes, SHAPES, strict=True) if full in RIVALS_SHAPES]
    runs += [(method, *shape) for shape in shapes for method in METHODS]
    found = {run: _in_a_process(*run) for run in track(runs, console=Console(stderr=True), transient=True)}
    title = (
        "words of many classes: processor microseconds a row, peak memory; in brackets times better than MultinomialNB"
    )
    table = Table(title=title)
    for heading in ("classes", "words", "method", *FIGURES):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for (method, *shape), figures in sorted(found.items(), key=lambda item: item[0][1:]):
        rival = found.get((RIVAL, *shape))
        cells = (_cell(figures[name], None if method == RIVAL or rival is None else rival[name]) for name in FIGURES)
        table.add_row(*(f"{size:,}" for size in shape), method, *cells)
    return table


def _cell(value: float, rival: float | None) -> str:
    if rival is None:
        return f"{value:,.0f}"
    times = rival / value
    return f"{value:,.0f} ({times:,.0f})" if times >= 10 else f"{value:,.0f} ({times:.1f})"


def _in_a_process(method: str, num_classes: int, num_words: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.many_classes", method, str(num_classes), str(num_words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def texts(num_classes: int, num_words: int) -> tuple[Any, Array]:
    """Three rows of each class, in turn; some words are frequent and most are rare, and each class prefers a few."""
    rng = np.random.default_rng(0)
    y = np.arange(ROWS_OF_A_CLASS * num_classes) % num_classes
    words = (num_words * rng.random((len(y), WORDS)) ** 2).astype(np.int32)
    words[:, : WORDS // 2] = (words[:, : WORDS // 2] // 100 + 37 * y[:, None]) % num_words
    counts = np.minimum(rng.geometric(0.7, words.size), 20).astype(np.float64)
    X = scipy.sparse.csr_array((counts, words.ravel(), np.arange(0, words.size + 1, WORDS)), (len(y), num_words))
    X.sum_duplicates()
    return X, y


def measure(method: str, num_classes: int, num_words: int) -> dict[str, float]:
    """The figures of one method, in this process."""
    X, y = texts(num_classes, num_words)
    if method == RIVAL:
        parts = max(RIVALS_CELLS // (num_classes * num_words), 2)
        X, y = X[: parts * PART], y[: parts * PART]
        classifier: Any = MultinomialNB()

        def fit() -> None:
            for start in range(0, len(y), PART):
                some = slice(start, start + PART)
                classifier.partial_fit(X[some], y[some], classes=None if start else np.arange(num_classes))
    else:
        classifier = nb.NaiveBayesClassifier("multinomial", method=method)
        few = nb.NaiveBayesClassifier("multinomial", method=method).fit(X[:PART], y[:PART])  # what a process does once
        few.predict_log_proba(X[:TOGETHER])

        def fit() -> None:
            classifier.fit(X, y)

    def predict() -> None:
        for start in range(0, PREDICTED, TOGETHER):
            classifier.predict_log_proba(X[start : start + TOGETHER])

    start = _forget_peak()
    fit_seconds = _processor_seconds(fit)
    fit_peak = _memory("VmHWM") - start
    classifier.predict_log_proba(X[:1])
    seconds = _processor_seconds(predict)
    peak = _memory("VmHWM") - start
    return dict(zip(FIGURES, (1e6 * fit_seconds / len(y), fit_peak, 1e6 * seconds / PREDICTED, peak), strict=True))


def _processor_seconds(job: Callable[[], None]) -> float:
    start = time.process_time()
    job()
    return time.process_time() - start


def _forget_peak() -> float:
    """The memory now, from which on the peak counts."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(name: str) -> float:
    """A figure of this process in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return math.nan


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
