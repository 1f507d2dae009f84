"""Small tables, comparisons and findings, for the tests of the comparison, of its report and of its pictures."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesnb.inspection._dependence import Dependence
from bayesnb.studies.comparison._data_sets import DataSet
from bayesnb.studies.comparison._designs import RESPLIT, Design, Split
from bayesnb.studies.comparison._first_split import Evidence, Inclusion, NutsCheck
from bayesnb.studies.comparison._journal import Journal
from bayesnb.studies.comparison._methods import COMPARED
from bayesnb.studies.comparison._metrics import BY_ROW, METRICS, ReliabilityBins
from bayesnb.studies.comparison._scored_cells import Cell, Place
from bayesnb.studies.report._comparison import Comparison, compare, plan_comparison
from bayesnb.studies.report._study import Experiment
from bayesnb.studies.report._summary import Findings
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import of_frame

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


def data_of(table, seed=1):
    """A table as the command compares it."""
    return DataSet(table.name, table, None, table.X, np.arange(len(table.y)), seed=seed)


def compared(table, sizes, repeats, seed=1, methods=QUICK, most_test=2000, **how):
    """The comparison of a table."""
    return compare(plan_comparison(data_of(table, seed), sizes, repeats, methods, most_test), Journal(), **how)


@dataclass
class Record:
    """Made-up numbers of one fit."""

    repeat: int
    size: int
    method: str
    log_loss: float
    brier: float
    accuracy: float
    ece: float
    impossible: float
    fit_ms: float
    predict_ms: float
    bins: ReliabilityBins

    def cell(self):
        values, bins = {name: getattr(self, name) for name in METRICS}, self.bins
        times = {"seconds": (self.fit_ms + self.predict_ms) / 1e3, "fit_seconds": self.fit_ms / 1e3}
        counts = [np.asarray(part).tolist() for part in (bins.count, bins.confidence, bins.correct)]
        return Cell(values, impossible=self.impossible, bins=counts, **times)


NUM_TEST = 4  # so that half of an interval of R values of n = 20 rows is t sd sqrt(1 / R + 0.2)


@dataclass
class MadeUp:
    """A comparison to be: what each fit scored, the same on all test rows of its split, which are drawn anew."""

    priors: dict
    records: tuple
    stopped: str | None = None

    def on(self, table):
        sizes = tuple(sorted({one.size for one in self.records}))
        repeats = 1 + max(one.repeat for one in self.records)
        splits = [Split(np.arange(sizes[-1]), np.arange(NUM_TEST))] * repeats
        journal, keys = Journal(), {}
        for one in self.records:
            place = Place(table.name, one.repeat, one.size, one.method)
            keys[place] = str(place)
            losses = [1 - one.accuracy if name == "accuracy" else getattr(one, name) for name in BY_ROW]
            journal.append([(str(place), place, one.cell(), np.tile(np.array(losses)[:, None], NUM_TEST))])
        design = Design(RESPLIT, sizes, splits, splits)
        study = Experiment({table.name: design}, [*self.priors], [*METRICS], keys, journal)
        return Comparison(data_of(table), study, self.priors, self.stopped)


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
    return MadeUp(priors, tuple(records))


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
    return MadeUp(named, records)


def evidence_of(num_columns):
    columns = tuple(Inclusion(f"x[{i}]", 1.0 - i / 50, 1000.25 - 100 * i) for i in range(num_columns))
    return Evidence(84, -1234.56, -1200.0, columns)


def findings_of(table, result, evidence=None, pairs=None, check=None):
    result = result.on(table) if isinstance(result, MadeUp) else result
    return Findings(result, evidence or evidence_of(3), pairs, check)
