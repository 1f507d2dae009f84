"""What each setting of ``NaiveBayesClassifier`` buys and costs: log loss, and the times of a fit and of a row.

    BAYESNB_DATA=DATA python -m tests.benchmarks.settings [--sets NAME ...] [--folds N]

Cross-validation of all rows; times are processor time, the median over folds, warm. The table is in
docs/how_to/which_setting.md.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from bayesnb.studies.comparison._metrics import accuracy, calibration_error, log_loss, reliability_bins
from tests.benchmarks.learned_priors import SETS
from tests.benchmarks.probability_methods import Rows, estimator

NAMES = ("iris", "breast_cancer", "digits", "mushroom", "adult")
SETTINGS: dict[str, dict[str, Any]] = {
    "NaiveBayesClassifier()": {},
    'dependence="forest"': {"dependence": "forest"},
    'dependence="aode"': {"dependence": "aode"},
    "dependence=False": {"dependence": False},
    'temper="per_feature"': {"temper": "per_feature"},
    "temper=True": {"temper": True},
    'method="posterior"': {"method": "posterior"},
}
ROWS_AT_ONCE, CALLS = 1000, 20


def microseconds(call: Callable[[Any], Any], argument: Any, calls: int) -> float:
    """Processor time of a call, the median of some."""
    found = []
    for _ in range(calls):
        start = time.process_time()
        call(argument)
        found.append(time.process_time() - start)
    return 1e6 * float(np.median(found))


def measure(name: str, folds: int) -> list[dict[str, Any]]:
    """A row for each fold and setting."""
    model, X, y = SETS[name]()
    found = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        rows = Rows(model, {block: x[train] for block, x in X.items()}, y[train], 0)
        tested, some = ({block: x[at] for block, x in X.items()} for at in (test, test[:ROWS_AT_ONCE]))
        one = {block: x[test[:1]] for block, x in X.items()}
        for setting, arguments in SETTINGS.items():
            fit = estimator(**arguments)
            if setting not in {row["setting"] for row in found}:
                fit(rows).predict_proba(some)  # loops are compiled once a process
            start = time.process_time()
            classifier = fit(rows)
            took = time.process_time() - start
            log_proba = classifier.predict_log_proba(tested)
            row = microseconds(classifier.predict_proba, some, 5) / len(test[:ROWS_AT_ONCE])
            found.append(
                {
                    "set": name,
                    "setting": setting,
                    "log loss": log_loss(log_proba, y[test]),
                    "ECE": calibration_error(reliability_bins(log_proba, y[test])),
                    "accuracy": accuracy(log_proba, y[test]),
                    "fit, ms": 1e3 * took,
                    "row, us": row,
                    "one row, us": microseconds(classifier.predict_proba, one, CALLS),
                }
            )
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.settings", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help="some of the sets")
    parser.add_argument("--folds", type=int, default=10, help="of the cross-validation; of adult two")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.sets:
        runs = pd.DataFrame(measure(name, 2 if name == "adult" else options.folds))
        groups = runs.groupby(["set", "setting"], sort=False)
        scores, times = ["log loss", "ECE", "accuracy"], ["fit, ms", "row, us", "one row, us"]
        table = pd.concat([groups[scores].mean().round(4), groups[times].median().round(1)], axis=1)
        print(table.to_string(), flush=True)


if __name__ == "__main__":
    main()
