"""Small tables, comparisons and findings, for the tests of the comparison, of its report and of its pictures."""

import numpy as np
import pandas as pd

from bayesnb.comparison._compare import Comparison, Record
from bayesnb.comparison._experiment import Experiment
from bayesnb.comparison._first_split import Evidence, Inclusion, NutsCheck
from bayesnb.comparison._methods import COMPARED
from bayesnb.comparison._metrics import ReliabilityBins
from bayesnb.files._description import make_table
from bayesnb.files.sources._paths import of_frame
from bayesnb.inspection._dependence import Dependence
from bayesnb.report._summary import Findings

QUICK = ("MLE", "MAP", "full Bayes")  # the others compile more
CHECK = NutsCheck(20, 40, 0.0123, 0.00045, 1.002, 1234.5, 3, 4000, 4, 9.87, ("3 steps diverged", "3 [more] words"))
PAIRS = Dependence(
    ("a[1]", "b", "c"),
    np.array([[0, 0.3, 1.234], [0.3, 0, 0.1], [1.234, 0.1, 0]]),
    np.array([[0, -2.0, 100.0], [-2.0, 0, 7.0], [100.0, 7.0, 0]]),
    np.array([[0, 0.3, 1.234], [0.3, 0, 0.1], [1.234, 0.1, 0]]),
)


def synthetic(kinds="bcn", rows=120, seed=0):
    """A table with a column of each kind that is asked for, missing cells, and three classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=rows, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame(index=pd.RangeIndex(2, rows + 2))
    if "b" in kinds:
        frame["flag"] = np.where(rng.uniform(size=rows) < 0.1, np.nan, rng.uniform(size=rows) < 0.2 + 0.3 * y)
    if "c" in kinds:
        frame["code"] = np.where(rng.uniform(size=rows) < 0.1, np.nan, (y + rng.integers(0, 3, rows)) % 5)
    if "n" in kinds:
        frame["size"] = rng.normal(100.0 + 2.0 * y, 1.0)
    frame["label"] = pd.Series(np.array(["low", "mid", "top"], dtype=object)[y], index=frame.index, dtype=object)
    return make_table(of_frame("synthetic", frame), "label")


BINS = ReliabilityBins(np.eye(10)[9] * 40, np.eye(10)[9] * 39.0, np.eye(10)[9] * 30.0)


def record(repeat, method, loss, **fields):
    """A record with made-up metrics."""
    values = {
        "size": 20,
        "brier": 0.1,
        "accuracy": 0.9,
        "ece": 0.05,
        "impossible": 0.0,
        "fit_ms": 1.0,
        "predict_ms": 2.0,
        "bins": BINS,
    } | fields
    return Record(repeat=repeat, method=method, log_loss=loss, **values)


def by_hand():
    """Two methods whose losses swing together: the paired difference is sure, the losses are not."""
    losses = {"MLE": [1.1, 5.2, 9.0], "MAP": [1.0, 5.0, 9.0], "full Bayes": [1.0, 5.0, 9.0]}
    records = [record(i, method, loss) for method, values in losses.items() for i, loss in enumerate(values)]
    priors = {"MLE": "none", "MAP": "Laplace 1, NIG", "full Bayes": "Dirichlet 1, NIG"}
    return Comparison(priors, tuple(records))


def widest(table):
    """Every method, ten thousand rows, and numbers that take as much room as they can."""
    named = {name: method.full_prior("numeric" in table.blocks) for name, method in COMPARED.items()}
    splits = [(0.1111, 0.1), (0.3333, 0.5), (0.8888, 0.9)]
    right = ReliabilityBins(np.eye(10)[9] * 40, np.eye(10)[9] * 40.0, np.eye(10)[9] * 40.0)
    records = tuple(
        record(i, method, loss, brier=loss, accuracy=loss, ece=ece, size=size, bins=right)
        for size in (20, 10_000)
        for method in named
        for i, (loss, ece) in enumerate(splits)
    )
    return Comparison(named, records)


def evidence_of(num_columns):
    columns = tuple(Inclusion(f"x[{i}]", 1.0 - i / 50, 1000.25 - 100 * i) for i in range(num_columns))
    return Evidence(84, -1234.56, -1200.0, columns)


def findings_of(table, result, evidence=None, pairs=None, check=None):
    experiment = Experiment(table, result.sizes, 1 + max(record.repeat for record in result.records), 1)
    return Findings(experiment, result, evidence or evidence_of(3), pairs, check)
