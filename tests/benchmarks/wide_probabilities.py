"""How good the probabilities on wide tables are: simulated expression data, few rows, few columns that say anything.

    python -m tests.benchmarks.wide_probabilities [--splits N] [--columns D ...] [--rows N ...]

A cell is log2 expression, Normal(0, 1) but for correlations: columns come in groups of ten that share a factor, which
explains half of their variance. The means of 20 columns, each of another group, differ by ``SHIFT`` standard deviations
between two classes. 500 further rows are test rows. The table is printed as Markdown; docs/probabilities.md has it.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import bayesnb as nb
from bayesnb.compute.arrays._placement import Array
from bayesnb.studies.comparison._metrics import accuracy, log_loss

INFORMATIVE, GROUP, SHIFT, TESTED = 20, 10, 1.0, 500


def nearest_shrunken_centroids() -> Any:
    """Tibshirani et al. (2002), the threshold by the log loss of five folds."""
    grid = {"shrink_threshold": [None, 0.5, 1.0, 1.5, 2.0, 3.0]}
    return GridSearchCV(NearestCentroid(), grid, scoring="neg_log_loss", cv=5)


def l1_logistic_regression() -> Any:
    """The penalty by the log loss of five folds."""
    lasso = LogisticRegressionCV(
        Cs=8, l1_ratios=(1.0,), solver="liblinear", scoring="neg_log_loss", cv=5, use_legacy_attributes=False
    )
    return make_pipeline(StandardScaler(), lasso)


METHODS: dict[str, Callable[[], Any]] = {
    "default": nb.NaiveBayesClassifier,
    "default without dependence": lambda: nb.NaiveBayesClassifier(dependence=False),
    "nearest shrunken centroids": nearest_shrunken_centroids,
    "logistic regression, L1": l1_logistic_regression,
    "random forest": lambda: RandomForestClassifier(300, random_state=0),
}


def simulate(rows: int, columns: int, seed: int) -> tuple[Array, Array]:
    """Expression [rows + TESTED, columns] and labels, as many of each class."""
    rng = np.random.default_rng([seed, rows, columns])
    y = np.arange(rows + TESTED) % 2
    factors = rng.normal(size=(len(y), -(-columns // GROUP))).repeat(GROUP, axis=1)[:, :columns]
    X = np.sqrt(0.5) * (factors + rng.normal(size=(len(y), columns)))
    X[:, : INFORMATIVE * GROUP : GROUP] += SHIFT * y[:, None]
    return X, y


def measure(rows: int, columns: int, seed: int) -> list[dict[str, Any]]:
    """The scores of each method and its seconds of processor time, fit and prediction together."""
    X, y = simulate(rows, columns, seed)
    scores = []
    for name, make in METHODS.items():
        start = time.process_time()
        with threadpool_limits(1):
            proba = make().fit(X[:rows], y[:rows]).predict_proba(X[rows:])
        seconds = time.process_time() - start
        with np.errstate(divide="ignore"):
            log_proba = np.log(proba)
        cell = {"rows x columns": f"{rows:,} x {columns:,}", "method": name}
        right = {"log_loss": log_loss(log_proba, y[rows:]), "accuracy": accuracy(log_proba, y[rows:])}
        scores.append({**cell, **right, "seconds": seconds})
    return scores


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.wide_probabilities", description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="+", default=[72, 200])
    parser.add_argument("--columns", type=int, nargs="+", default=[300, 7000])
    options = parser.parse_args()
    cells = [(n, d, seed) for n in options.rows for d in options.columns for seed in range(options.splits)]
    scores = pd.DataFrame([score for cell in cells for score in measure(*cell)])
    mean = scores.groupby(["rows x columns", "method"], sort=False).mean().reset_index()
    print("| rows x columns | method | log loss | accuracy | seconds |\n| --- | --- | ---: | ---: | ---: |")
    for shape, method, loss, right, seconds in mean.itertuples(index=False):
        print(f"| {shape} | {method} | {loss:.3f} | {right:.3f} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
