"""How good the probabilities on small tables are: our methods and scikit-learn's on the same splits.

    BAYESNB_DATA=DATA python -m tests.benchmarks.probabilities [--results FILE.csv] [--sizes ROWS ...]

A run is a set, a number of training rows, a split and a method. Runs that FILE.csv has are not repeated, so that a
benchmark can go on, and methods can be added. "full" is ten-fold cross-validation of all rows. The tables are printed
as Markdown; docs/probabilities.md has those of the last run. All sets take 45 minutes on two busy cores, 35 of them at
full size; --quick takes 20 seconds.
"""

import argparse
import csv
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from bayesnb.compute.arrays._placement import Array
from bayesnb.studies.comparison._designs import Split, num_test_rows, stratified_split
from bayesnb.studies.comparison._metrics import accuracy, brier, calibration_error, log_loss, reliability_bins
from bayesnb.tables.files.sources._places import BUILT_IN
from tests.benchmarks import learned_priors
from tests.benchmarks.probability_methods import NUMBERS, OURS, Rows
from tests.benchmarks.probability_rivals import RIVALS
from tests.benchmarks.probability_tables import FULL, report

SIZES = ("20", "50", "100", "200", "500", FULL)
MOST_TESTED, NUM_FOLDS, SEED = 1000, 10, 20
METHODS = {**OURS, **RIVALS}
SETS = (
    *BUILT_IN,
    *("penguins", "adult", "mushroom", "balance-scale", "tic-tac-toe", "ionosphere", "haberman", "cleveland"),
    *("glass", "vehicle", "monks-1", "monks-2", "monks-3"),
)
"""The tables; words and images have more columns than a forest takes. Those of ``BUILT_IN`` are scikit-learn's own."""


class Cell(NamedTuple):
    """A split of a set at a number of training rows; with size "full" the split is a fold."""

    split: int
    set: str
    size: str


@cache
def load(name: str) -> learned_priors.Data:
    """The model of a table, typed as by ``bayesnb compare``, its columns by block, and its labels."""
    return learned_priors.SETS[name]()


def rows_of(cell: Cell) -> Split:
    """The training and the test rows: the training sets of a split are nested, and all have the same test rows."""
    y = load(cell.set)[2]
    if cell.size == FULL:
        folds = StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=SEED).split(np.zeros(len(y)), y)
        return Split(*list(folds)[cell.split])
    train, test = stratified_split(y, np.random.default_rng([SEED, cell.split]))
    return Split(train[: int(cell.size)], test[:MOST_TESTED])


def cells(sets: Sequence[str], sizes: Sequence[str], splits: int, folds: int) -> list[Cell]:
    """All cells, split by split: a benchmark that is stopped has every set."""
    every = [
        Cell(split, name, size)
        for split in range(max(splits, folds))
        for size in sizes
        for name in sets
        if split < (folds if size == FULL else splits)
    ]
    return [cell for cell in every if cell.size == FULL or int(cell.size) <= _most_rows(cell.set)]


def _most_rows(name: str) -> int:
    num_rows = len(load(name)[2])
    return num_rows - num_test_rows(num_rows)


def measure(cell: Cell, methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The scores of each method; a method that refuses the table is left out, and the console says why."""
    model, X, y = load(cell.set)
    train, test = rows_of(cell)
    rows = Rows(model, {block: x[train] for block, x in X.items()}, y[train], cell.split)
    tested = {block: x[test] for block, x in X.items()}
    for method in methods:
        start = time.process_time()
        try:
            log_proba = _predict(method, rows, tested)
        except ValueError as refusal:
            Console(stderr=True).print(f"{method} refuses {cell.set} at {cell.size} rows: {refusal}")
            continue
        yield {
            **cell._asdict(),
            "method": method,
            "log_loss": log_loss(log_proba, y[test]),
            "brier": brier(log_proba, y[test]),
            "ece": calibration_error(reliability_bins(log_proba, y[test])),
            "accuracy": accuracy(log_proba, y[test]),
            "seconds": time.process_time() - start,
        }


def _predict(method: str, rows: Rows, tested: dict[str, Array]) -> Array:
    if method in OURS:
        return np.asarray(OURS[method](rows).predict_log_proba(tested), float)
    with threadpool_limits(1):
        return np.asarray(RIVALS[method](rows).predict_log_proba(tested), float)


def run(todo: Sequence[Cell], methods: Sequence[str], results: Path) -> None:
    """Add the runs to the file that it does not have yet, one by one."""
    known = (
        set(_read(results)[[*Cell._fields, "method"]].itertuples(index=False, name=None)) if results.exists() else set()
    )
    left = [(cell, [m for m in methods if (*cell, m) not in known]) for cell in todo]
    for cell, missing in track([pair for pair in left if pair[1]], "runs", console=Console(stderr=True)):
        for row in measure(cell, missing):
            new = not results.exists()
            with results.open("a", newline="") as file:
                writer = csv.DictWriter(file, row)
                if new:
                    writer.writeheader()
                writer.writerow(row)


def _read(results: Path) -> pd.DataFrame:
    return pd.read_csv(results, dtype={"size": str})


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.probabilities", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("probabilities.csv"), metavar="FILE.csv", help="the runs")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="NAME", help="some of the sets")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES, metavar="ROWS", help=f"some of {SIZES}")
    parser.add_argument("--splits", type=int, default=3, help="splits of each set at 20 to 500 rows")
    parser.add_argument(
        "--folds", type=int, choices=range(1, NUM_FOLDS + 1), default=NUM_FOLDS, metavar="N", help="folds at full size"
    )
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME", help="some of them"
    )
    parser.add_argument(
        "--quick", action="store_true", help="two small sets of scikit-learn's, 20 and 50 rows, one split"
    )
    parser.add_argument("--tables", action="store_true", help="print the tables of the file, and run nothing")
    options = parser.parse_args()
    if options.tables and not options.results.exists():
        parser.error(f"there are no runs in {options.results}: leave out --tables, or name the file with --results")
    sets, sizes, splits = options.sets or SETS, options.sizes, options.splits
    if options.quick:
        sets, sizes, splits = ("iris", "wine"), ("20", "50"), 1
    if "BAYESNB_DATA" not in os.environ:
        print("BAYESNB_DATA, the folder of the other sets, is not set: only scikit-learn's own are measured")
        sets = [name for name in sets if name in BUILT_IN]
    todo = cells(sets, sizes, splits, options.folds)
    warnings.simplefilter("ignore")
    if not options.tables:
        run(todo, options.methods, options.results)
    runs = _read(options.results)
    wanted = pd.MultiIndex.from_frame(runs[list(Cell._fields)]).isin(todo)
    numeric = [name for name in sets if NUMBERS in load(name)[1]]
    print(report(runs[wanted & runs["method"].isin(options.methods)], options.methods, numeric))


if __name__ == "__main__":
    main()
