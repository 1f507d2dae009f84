"""The study of one table that `bayesnb compare` shows: its scores, and their differences from full Bayes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.comparison._asked import check_sizes
from bayesnb.studies.comparison._contestants import read_methods
from bayesnb.studies.comparison._data_sets import DataSet
from bayesnb.studies.comparison._designs import CROSSED, Split, growing_sizes, make_design, num_test_rows
from bayesnb.studies.comparison._differences import difference_of
from bayesnb.studies.comparison._journal import Journal
from bayesnb.studies.comparison._methods import COMPARED, CURES, NAIVE_BAYES, REFERENCE, check_methods
from bayesnb.studies.comparison._metrics import METRICS, ReliabilityBins
from bayesnb.studies.comparison._paired import Difference
from bayesnb.studies.comparison._run import Plan, run
from bayesnb.studies.comparison._scored_cells import Cell, Place
from bayesnb.studies.report._run_study import study_of
from bayesnb.studies.report._study import NOT_RUN, Experiment
from bayesnb.tables.frames._series import Array, DataError

INTERRUPTED, OUT_OF_MEMORY = "interrupted", "out of memory"
"""Why a comparison was stopped, where nothing failed that would fail again."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A study of one table.

    Attributes:
        data: The table with its models.
        study: Its cells, all of them.
        priors: A short description of each method's prior, in order of the methods.
        stopped: Why the comparison ended before all splits were complete; None if it did not.
    """

    data: DataSet
    study: Experiment
    priors: Mapping[str, str]
    stopped: str | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The training sizes, in increasing order."""
        return tuple(self.study.sizes(self.data.name))

    @property
    def repeats(self) -> int:
        """The number of splits."""
        return len(self.study.splits(self.data.name))

    @property
    def num_test(self) -> int:
        """The number of test rows of each split."""
        return self.study.num_test(self.data.name)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared, in order."""
        return tuple(self.priors)

    @property
    def first(self) -> Split:
        """The first split of the largest size."""
        size = self.sizes[-1]
        train, test = self.study.splits(self.data.name, size)[0]
        return Split(train[:size], test)

    def cells(self, size: int, method: str) -> list[Cell]:
        """The cells of a size and a method, one for each of the R splits."""
        keys = [self.study.keys[Place(self.data.name, split, size, method)] for split in range(self.repeats)]
        return [self.study.journal[key] for key in keys]

    def bins(self, size: int, method: str) -> list[ReliabilityBins]:
        """Their reliability counts."""
        return [ReliabilityBins(*map(np.array, cell.bins or ())) for cell in self.cells(size, method)]

    def values(self, size: int, method: str, name: str) -> Array:
        """One number of these cells, [R]: a metric, ``impossible``, ``fit_ms`` or ``predict_ms``."""
        return np.array([numbers_of(cell)[name] for cell in self.cells(size, method)])

    @cached_property
    def _found(self) -> dict[tuple[int, str, str, str | None], Difference]:
        return {}

    def estimate(self, size: int, method: str, metric: str, reference: str | None = None) -> Difference:
        """The mean of a metric, less that of a reference on the same splits."""
        key = size, method, metric, reference
        if key not in self._found:
            self._found[key], _ = difference_of(self.study, self.data.name, size, method, reference, metric)
        return self._found[key]

    def mean(self, size: int, method: str, metric: str) -> tuple[float, float]:
        """The mean of a metric over the splits, and half of its 95 % interval."""
        found = self.estimate(size, method, metric)
        return found.mean, found.half

    def difference(self, size: int, method: str, metric: str, reference: str = REFERENCE) -> tuple[float, float]:
        """The mean of (method - reference), and half of its 95 % interval."""
        found = self.estimate(size, method, metric, reference)
        return found.mean, found.half

    def best(self, size: int, metric: str = "log_loss", among: Sequence[str] = ()) -> str:
        """The method of the best mean, of all by default; of equal methods full Bayes."""
        sign = -1.0 if METRICS[metric].higher_is_better else 1.0
        return min(among or self.methods, key=lambda method: rank(method, sign * self.mean(size, method, metric)[0]))

    def verdict(self, size: int, method: str, metric: str, reference: str = REFERENCE) -> str | None:
        """`better` or `worse` than a reference if the paired difference shows: its 95 % interval is without 0."""
        difference, half = self.difference(size, method, metric, reference)
        if not abs(difference) > half or round(abs(difference), 3) == 0:
            return None
        return "better" if (difference > 0) == METRICS[metric].higher_is_better else "worse"

    def estimator(self, size: int) -> str:
        """What the intervals of this size are."""
        return self.estimate(size, REFERENCE, "log_loss").estimator

    def cures(self, size: int) -> tuple[str, ...]:
        """The methods that surely lower the calibration error of full Bayes; none where it has no interval."""
        changes = {method: self.difference(size, method, "ece") for method in CURES if method in self.methods}
        return tuple(method for method, (change, half) in changes.items() if change < -half)  # NaN: false

    def confidence(self, size: int, method: str) -> float:
        """The mean of the largest probabilities of test rows."""
        return float(np.mean([bins.confidence.sum() / bins.count.sum() for bins in self.bins(size, method)]))

    def median(self, size: int, method: str, name: str) -> float:
        """Median of a number over the splits; used for times, which have long tails."""
        return float(np.median(self.values(size, method, name)))


def rank(method: str, loss: float) -> tuple[float, bool]:
    """The key that sorts methods by their mean loss, best first; of equal methods full Bayes."""
    return round(loss, 6), method != REFERENCE


def numbers_of(cell: Cell) -> dict[str, float]:
    """The metrics of a cell, the share of rows that were impossible, and its times in milliseconds."""
    times = {"fit_ms": 1e3 * cell.fit_seconds, "predict_ms": 1e3 * (cell.seconds - cell.fit_seconds)}
    return {**{name: cell.values[name] for name in METRICS}, "impossible": cell.impossible or 0.0, **times}


def plan_comparison(
    data: DataSet,
    sizes: Sequence[int] | None = None,
    repeats: int = 20,
    methods: Sequence[str] = NAIVE_BAYES,
    most_test: int = limits.MOST_SCORED,
) -> Plan:
    """The cells of a comparison: those of ``experiment`` for one table.

    Args:
        data: The table with its models.
        sizes: Training sizes; by default ``growing_sizes``.
        repeats: The number of splits.
        methods: Some of `COMPARED`, in the order of the output; they must include `full Bayes`.
        most_test: The most test rows that are scored in each split.

    Raises:
        DataError: for an unknown method, or without `full Bayes`; and for sizes that the rows do not have.
    """
    check_methods(methods := tuple(dict.fromkeys(methods)))
    y = data.table.y
    wanted = check_sizes(sizes) or growing_sizes(len(y) - num_test_rows(len(y)), data.num_classes)
    design = make_design(data.name, CROSSED, y, repeats, data.seed, wanted, most_test=most_test)
    return Plan({data.name: (data, design)}, read_methods(methods), data.seed)


def compare(plan: Plan, journal: Journal, on_fit: Callable[[Place, float], object] = lambda *_: None) -> Comparison:
    """The fits of every method at every size on every split, scored on the split's test rows.

    If it is stopped, by Ctrl-C or by a fit that fails, the splits that are complete are returned with the reason.

    Args:
        plan: What ``plan_comparison`` returned.
        journal: The cells that have run before, to which the others are added.
        on_fit: Called after each fit with its place and its seconds.
    """
    ((data, design),) = plan.sets.values()
    priors = {method.name: COMPARED[method.name].full_prior("numeric" in data.table.blocks) for method in plan.methods}
    caught: BaseException | None = None

    def told(place: Place) -> None:
        cell = journal[plan.keys[place]]
        if cell.failed:
            raise _failure(place, cell)
        on_fit(place, cell.seconds)

    try:
        run(plan, journal, told)
    except (KeyboardInterrupt, MemoryError, RuntimeError, ValueError) as error:
        caught = error
    unknown = {place.split for place, key in plan.keys.items() if journal.get(key, NOT_RUN).failed}
    if not unknown:
        return Comparison(data, study_of(plan, [*METRICS], journal), priors)
    if caught is None:  # it failed in an earlier run
        caught = next(_failure(place, journal[key]) for place, key in plan.keys.items() if journal[key].failed)
    if 0 in unknown:
        raise caught
    complete = slice(min(unknown))
    known = replace(design, nested=design.nested[complete], redrawn=design.redrawn[complete])
    stopped = INTERRUPTED if isinstance(caught, KeyboardInterrupt) else str(caught) or OUT_OF_MEMORY
    plan = replace(plan, sets={data.name: (data, known)})
    return Comparison(data, study_of(plan, [*METRICS], journal), priors, stopped)


def _failure(place: Place, cell: Cell) -> DataError:
    return DataError(f"{place.method} failed at n = {place.size:,}, {cell.failed}")
