"""The metrics of the methods on the same random splits of one table, at growing training sizes, and their time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bayesnb.comparison import _metrics as metrics
from bayesnb.comparison._contestants import read_methods
from bayesnb.comparison._data_sets import DataSet
from bayesnb.comparison._designs import RESPLIT, Design
from bayesnb.comparison._experiment import Experiment
from bayesnb.comparison._journal import Journal
from bayesnb.comparison._methods import COMPARED, CURES, NAIVE_BAYES, REFERENCE, check_methods
from bayesnb.comparison._metrics import METRICS
from bayesnb.comparison._run import Plan, run
from bayesnb.comparison._scored_cells import Cell, Place
from bayesnb.frames._series import Array, DataError


@dataclass(frozen=True)
class Record:
    """One fit of one method: training size, split, metrics on the test rows, and times in milliseconds.

    ``impossible`` is the share of test rows whose true class got a probability below e^-87.3, which count as 87.3 nats
    in the log loss. The times of a first split may include compilation. ``bins`` are the reliability counts.
    """

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
    bins: metrics.ReliabilityBins = field(repr=False)


@dataclass(frozen=True, eq=False)
class Comparison:
    """All fits of one comparison.

    Attributes:
        priors: A short description of each method's prior, in order of the methods.
        records: One for each size, method and split, in this order.
        stopped: Why the comparison ended before all splits were complete; None if it did not.
    """

    priors: Mapping[str, str]
    records: tuple[Record, ...]
    stopped: str | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The training sizes, in increasing order."""
        return tuple(dict.fromkeys(record.size for record in self.records))

    @property
    def repeats(self) -> int:
        """The number of splits."""
        return len({record.repeat for record in self.records})

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared, in order."""
        return tuple(self.priors)

    def of(self, size: int, method: str) -> list[Record]:
        """The records of a size and a method, one for each of the R splits."""
        return [record for record in self.records if record.size == size and record.method == method]

    def values(self, size: int, method: str, name: str) -> Array:
        """One field of these records, [R]."""
        return np.array([getattr(record, name) for record in self.of(size, method)])

    def mean(self, size: int, method: str, metric: str) -> tuple[float, float]:
        """Mean and standard error of a metric over the splits."""
        return metrics.mean_and_error(self.values(size, method, metric))

    def difference(self, size: int, method: str, metric: str) -> tuple[float, float]:
        """Mean and standard error of (method - full Bayes), paired: both saw the same rows of each split."""
        return metrics.mean_and_error(self.values(size, method, metric) - self.values(size, REFERENCE, metric))

    def cures(self, size: int) -> tuple[str, ...]:
        """The methods that lower the calibration error of full Bayes by more than two standard errors."""
        changes = {method: self.difference(size, method, "ece") for method in CURES if method in self.methods}
        return tuple(method for method, (change, error) in changes.items() if change < -2 * error)  # NaN: false

    def overconfidence(self, size: int, method: str) -> tuple[float, float]:
        """Mean and standard error over the splits of (mean of the largest probabilities - accuracy)."""
        splits = [record.bins for record in self.of(size, method)]
        return metrics.mean_and_error(
            np.array([(s.confidence.sum() - s.correct.sum()) / s.count.sum() for s in splits])
        )

    def median(self, size: int, method: str, name: str) -> float:
        """Median of a field over the splits; used for times, which have long tails."""
        return float(np.median(self.values(size, method, name)))


def compare(
    experiment: Experiment,
    on_fit: Callable[[int, str], object] = lambda *_: None,
    methods: Sequence[str] = NAIVE_BAYES,
    on_split: Callable[[Comparison], object] = lambda _: None,
) -> Comparison:
    """The fits of every method at every size on every split, scored on the split's test rows.

    They are the cells that ``nb.experiment`` with ``design="resplit"`` runs for one table. If it is stopped, by Ctrl-C
    or by a fit that fails, the splits that are complete are returned with the reason.

    Args:
        experiment: The data, the training sizes, the splits and the models.
        on_fit: Called after each fit with its size and method.
        methods: Some of `COMPARED`, in the order of the output; they must include `full Bayes`.
        on_split: Called after each split with the comparison of the splits so far.

    Raises:
        DataError: for an unknown method, or without `full Bayes`.
    """
    check_methods(methods := tuple(dict.fromkeys(methods)))
    numeric, own = "numeric" in experiment.table.blocks, experiment.model is not None
    priors = {name: COMPARED[name].full_prior(numeric, own) for name in methods}
    data = DataSet(experiment.table.name, experiment.table, experiment.model, experiment.table.X, seed=experiment.seed)
    design = Design(RESPLIT, experiment.sizes, experiment.splits, experiment.splits)
    plan = Plan({data.name: (data, design)}, read_methods(methods), tuple(METRICS), data.seed, left_out=False)
    scores, result = Scores(), Comparison(priors, ())
    by_split = [[place for place in plan.keys if place.split == split] for split in range(experiment.repeats)]

    def told(place: Place) -> None:
        nonlocal result
        if failed := scores[plan.keys[place]].failed:
            raise DataError(failed)
        on_fit(place.size, place.method)
        if place.split == result.repeats and all(plan.keys[other] in scores for other in by_split[place.split]):
            on_split(result := replace(result, records=_complete(plan, scores)))

    try:
        run(plan, scores, told)
    except (KeyboardInterrupt, MemoryError, RuntimeError, ValueError) as error:
        if not result.records:
            raise
        stopped = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or "out of memory"
        return replace(result, stopped=stopped)
    return result


class Scores(Journal):
    """Cells in memory, without the losses by test row."""

    def append(self, found: Sequence[tuple[str, Place, Cell, Array]]) -> None:
        """Add cells."""
        super().append([(key, place, cell, losses[:, :0]) for key, place, cell, losses in found])


def _complete(plan: Plan, scores: Journal) -> tuple[Record, ...]:
    """The records of the splits of which all cells are there."""
    missing = {place.split for place, key in plan.keys.items() if key not in scores}
    order = {method.name: number for number, method in enumerate(plan.methods)}
    places = sorted(plan.keys.keys(), key=lambda place: (place.size, order[place.method], place.split))
    return tuple(_record(place, scores[plan.keys[place]]) for place in places if place.split not in missing)


def _record(place: Place, cell: Cell) -> Record:
    times = {"fit_ms": 1e3 * cell.fit_seconds, "predict_ms": 1e3 * (cell.seconds - cell.fit_seconds)}
    bins = metrics.ReliabilityBins(*map(np.array, cell.bins or ()))
    impossible = cell.impossible or 0.0
    return Record(place.split, place.size, place.method, **cell.values, impossible=impossible, **times, bins=bins)
