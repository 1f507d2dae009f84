"""Held-out log loss of numeric columns as ``Views`` less that as ``Normal``, on real data, both with powers a feature.

    BAYESNB_DATA=DATA python -m tests.benchmarks.margins [--seeds N] [--sets NAME ...] [--out OUT.csv]

A cell is a set and a number of training rows, at least two of each class; its figure is the median over the splits.
Three choices between the two are compared: always views; views unless the log evidence of the powers, by Laplace's
approximation on the exact leave-one-out table, is lower by more than one nat; and the larger evidence. So are two
averages of both predictions: with equal weights, and with ``stacking_weights``; and their geometric mean, which is the
estimator's default.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, minimize

import bayesnb as nb
from bayesnb.learned.validation._leave_one_out import fitted_rows
from bayesnb.learned.validation._ratio_table import LeftOutRatios, left_out_log_ratios
from bayesnb.learned.validation._temper import learn_temperature
from bayesnb.studies.comparison._metrics import accuracy, log_loss
from tests.benchmarks.learned_priors import SETS, runs_of

SIZES = (20, 50, 100, 200, 500, 2000)
MOST_ROWS, MOST_TESTED = 8000, 1000
NUMERIC = [
    "iris", "wine", "breast_cancer", "digits, Normal", "penguins", "adult", "ionosphere", "haberman", "cleveland",
    "glass", "vehicle",
]  # fmt: skip
"""The sets with columns that are Normal."""

MARGINS = {"always": -np.inf, "within a nat": -1.0, "larger": 0.0}
"""By how much the evidence of views must exceed that of the Normal."""


SCALES = (1.0, 0.3, 0.2, 0.1, 0.03)
"""The standard deviations of powers about the common one that ``temper`` compares."""


def log_evidence(fit: nb.Posterior, X: Any, y: Any) -> float:
    """The log evidence of powers a feature, at the best scale and temperature, up to a constant."""
    table = left_out_log_ratios(fit, fitted_rows(fit, X, y, None), by_feature=True)
    temperature = learn_temperature(table)
    return max(_at_scale(table, temperature, scale) for scale in SCALES) - 0.5 * np.log(temperature) ** 2


def _at_scale(table: LeftOutRatios, temperature: float, scale: float) -> float:
    """The same for powers T (1 + delta), delta ~ Normal(0, scale), by Laplace's approximation."""

    def loss(delta: Any) -> tuple[float, Any]:
        value, slope = table.loss(temperature * (1.0 + delta))
        return value + 0.5 * float(delta @ delta) / scale**2, temperature * slope + delta / scale**2

    start = np.zeros(table.ratios.shape[2])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=Bounds(start - 1.0, np.inf))
    curvature = np.eye(len(start)) + (scale * temperature) ** 2 * table.hessian(temperature * (1.0 + best.x))
    return -best.fun - 0.5 * np.linalg.slogdet(curvature)[1]


def measure(name: str, seeds: int) -> Iterator[dict[str, Any]]:
    """A row for each split and number of training rows."""
    model, X, y = SETS[name]()
    keep = np.random.default_rng(1).permutation(len(y))[:MOST_ROWS]
    X, y = {block: rows[keep] for block, rows in X.items()}, np.unique(y[keep], return_inverse=True)[1]
    views = nb.Views(nb.NormalScores(), nb.Histogram())
    families = {block: views if type(f) is nb.Normal else f for block, f in model.families.items()}
    three = nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram())
    with_three = {block: three if f is views else f for block, f in families.items()}
    models = {"Normal": model, "Views": nb.NaiveBayes(families, num_classes=model.num_classes)}
    default = nb.NaiveBayes(with_three, num_classes=model.num_classes)
    classes = np.unique(y)
    for size in (size for size in SIZES if 2 * len(classes) <= size <= 0.7 * len(y)):
        for seed in range(seeds):
            order = np.random.default_rng([seed, size]).permutation(len(y))
            least = np.concatenate([order[y[order] == k][:2] for k in classes])
            rest = order[~np.isin(order, least)]
            train = np.r_[least, rest[: size - len(least)]]
            test = rest[size - len(least) :][:MOST_TESTED]
            rows, tested = ({block: x[some] for block, x in X.items()} for some in (train, test))
            found: dict[str, Any] = {"set": name, "size": size}
            tempered, predicted = [], {}
            for kind, one in models.items():
                fit = nb.fit_posterior(one, rows, y[train])
                found[f"{kind} evidence"] = log_evidence(fit, rows, y[train])
                tempered.append(nb.temper(fit, rows, y[train], per_feature=True))
                predicted[kind] = np.asarray(tempered[-1].predict_log_proba(tested))
            of_three = nb.temper(nb.fit_posterior(default, rows, y[train]), rows, y[train], per_feature=True)
            predicted["default"] = np.asarray(of_three.predict_log_proba(tested))
            found["weight"] = nb.stacking_weights(tempered, rows, y[train])[1]
            for kind, weight in (("half", 0.5), ("stacked", found["weight"])):
                logs = [predicted["Normal"] + np.log1p(-weight), predicted["Views"] + np.log(weight)]
                predicted[kind] = np.logaddexp(*logs)
            for kind, log_proba in predicted.items():
                found |= {kind: log_loss(log_proba, y[test]), f"{kind} accuracy": accuracy(log_proba, y[test])}
            yield found


def main() -> None:
    """The command line."""
    runs = runs_of("tests.benchmarks.margins", __doc__, measure, NUMERIC)
    print(runs.groupby(["set", "size"], sort=False).median().round(3).to_string())
    always = pd.Series(True, runs.index)
    choices = {name: ("Views", runs["Views evidence"] >= runs["Normal evidence"] + m) for name, m in MARGINS.items()}
    rules = []
    for name, (kind, use) in (choices | {kind: (kind, always) for kind in ("half", "stacked", "default")}).items():
        more = (runs[kind] - runs["Normal"]).where(use, 0.0)
        cells = more.groupby([runs["set"], runs["size"]], sort=False).median()
        better = (runs[f"{kind} accuracy"] - runs["Normal accuracy"]).where(use, 0.0)
        rules.append({
            "views": name, "used": use.mean(), "mean": more.mean(), "cells below": (cells < 0).mean(),
            "worst": cells.max(), "in": " ".join(map(str, cells.idxmax())), "accuracy": better.mean(),
        })  # fmt: skip
    print(pd.DataFrame(rules).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
