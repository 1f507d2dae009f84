"""Single rows through the estimator, time a row, rows a second of threads, and a new process.

``python -m tests.benchmarks.serving`` prints the last two; the first are workloads of ``python -m tests.benchmarks``.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import GaussianNB

import bayesnb as nb
from tests.benchmarks.workloads import Jobs, Workload

SECONDS = 2.0
"""How long rows are counted."""

ASKED = 1.0
"""The seconds after the imports of JAX and NumPyro in which a new process should answer."""

PROCESS = """
import jax, numpyro, json, sys, time
wall, cpu = time.perf_counter(), time.process_time()
import bayesnb as nb
nb.load(sys.argv[1]).predict_proba(json.loads(sys.argv[2]))
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


def passengers(num_rows: int) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Eleven columns of numbers, text and flags, some missing, of two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "age": rng.normal(30, 10, num_rows), "fare": rng.gamma(2, 15, num_rows), "score": rng.normal(size=num_rows),
        "class": rng.integers(1, 4, num_rows), "siblings": rng.poisson(0.5, num_rows),
        "parents": rng.poisson(0.4, num_rows), "sex": rng.choice(["male", "female"], num_rows),
        "port": rng.choice(["S", "C", "Q"], num_rows), "deck": rng.choice([*"ABCDEFG"], num_rows),
        "alone": rng.random(num_rows) < 0.5, "adult": rng.random(num_rows) < 0.7,
    })  # fmt: skip
    X.loc[::7, "age"], X.loc[::9, "port"] = np.nan, None
    return X, np.where((X["sex"] == "male") ^ (rng.random(num_rows) < 0.2), "no", "yes")


def numbers(num_rows: int) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Thirty columns of numbers, of two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(num_rows, 30)), columns=[f"column {d}" for d in range(30)])
    return X, rng.integers(0, 2, num_rows)


def workloads(quick: bool) -> Iterator[Workload]:
    """One row, as a frame and as a dict."""
    del quick
    for name, data, rival in (("mixed", passengers, ""), ("numbers", numbers, "scikit-learn")):
        size = f"1 x {data(2)[0].shape[1]} x 2"
        yield Workload(f"one row of a frame, {name}", size, rival, partial(_one_row, data, "frame"), "1 ms")
        yield Workload(f"one row as a dict, {name}", size, "", partial(_one_row, data, "dict"), "0.3 ms")


def _one_row(data: Callable[[int], tuple[Any, Any]], form: str) -> Jobs:
    X, y = data(891)
    clf, row = nb.NaiveBayesClassifier().fit(X, y), X.iloc[[3]]
    theirs = GaussianNB().fit(X, y) if data is numbers and form == "frame" else None
    given = row if form == "frame" else row.to_dict("records")[0]
    return Jobs(theirs and (lambda: theirs.predict_proba(row)), lambda: clf.predict_proba(given), 8 * X.shape[1])


def rows_per_second(clf: Any, X: pd.DataFrame, threads: int) -> tuple[float, float]:
    """Rows that threads predict in a second of wall time, and in a second of processor time."""
    clf.predict_proba(X)
    wall, cpu = time.perf_counter(), time.process_time()

    def predict(_: int) -> int:
        calls = 0
        while time.perf_counter() < wall + SECONDS:
            clf.predict_proba(X)
            calls += 1
        return calls

    with ThreadPoolExecutor(threads) as pool:
        rows = sum(pool.map(predict, range(threads))) * len(X)
    return rows / (time.perf_counter() - wall), rows / (time.process_time() - cpu)


def seconds_of_a_new_process() -> tuple[float, float]:
    """Wall and processor seconds to the first answer of a new process, after its first imports; median of five.

    Python keeps the bytecode of modules, as it does for an installed package.
    """
    X, y = passengers(891)
    clf = nb.NaiveBayesClassifier().fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        nb.save(clf, path)
        command = [sys.executable, "-c", PROCESS, path, X.iloc[3].to_json()]
        kept = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        subprocess.run(command, env=kept, capture_output=True, check=True)
        said = [subprocess.run(command, env=kept, capture_output=True, text=True, check=True).stdout for _ in range(5)]
        runs = [one.split() for one in said]
    wall, cpu = np.median(np.array(runs, float), axis=0)
    return float(wall), float(cpu)


def main() -> None:
    """Print rows a second, and the start of new processes."""
    for name, data in (("mixed", passengers), ("numbers", numbers)):
        X, y = data(10_000)
        clf = nb.NaiveBayesClassifier().fit(X, y)
        for rows in (1, 1_000, 10_000):
            one, two = (rows_per_second(clf, X[:rows], threads) for threads in (1, 2))
            print(
                f"{name}, {rows:,} rows: {one[0]:,.0f} a second, two threads {two[0] / one[0]:.2f} times as many;",
                end=" ",
            )
            print(f"{one[1]:,.0f} a second of processor time")
    wall, cpu = seconds_of_a_new_process()
    print(f"new process: {wall:.2f} s after import jax, numpyro, {cpu:.2f} s of processor time, asked {ASKED} s")


if __name__ == "__main__":
    main()
