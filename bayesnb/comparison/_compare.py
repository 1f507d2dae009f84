"""The metrics of the methods on the same random splits of one table, at growing training sizes, and their time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from bayesnb.arrays import _limits as limits
from bayesnb.comparison import _metrics as metrics
from bayesnb.comparison._experiment import Experiment
from bayesnb.comparison._methods import COMPARED, CURES, NAIVE_BAYES, REFERENCE, Method, check_methods
from bayesnb.frames._series import Array


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
        stopped: Why the comparison ended before all sizes were complete; None if it did not.
        some_splits: Whether it was stopped at its first size, so that there are fewer splits than were asked for.
    """

    priors: Mapping[str, str]
    records: tuple[Record, ...]
    stopped: str | None = None
    some_splits: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """The training sizes, in increasing order."""
        return tuple(dict.fromkeys(record.size for record in self.records))

    @property
    def repeats(self) -> int:
        """The number of splits."""
        return len(self.of(self.sizes[0], REFERENCE))

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


def ignore(*_: object) -> None:
    """What is called where nobody asks to be told."""


def compare(
    experiment: Experiment,
    on_fit: Callable[[int, str], object] = ignore,
    methods: Sequence[str] = NAIVE_BAYES,
    on_forecast: Callable[[float], object] = ignore,
    on_probe: Callable[[int, str], object] = ignore,
    on_size: Callable[[Comparison], object] = ignore,
) -> Comparison:
    """The fits of every method at every size on every split, scored on the split's test rows.

    If it is stopped, by Ctrl-C or by a fit that fails, the sizes that are complete are returned with the reason; at the
    first size, the splits that are complete.

    Args:
        experiment: The data, the training sizes, the splits and the models.
        on_fit: Called after each fit with its size and method.
        methods: Some of `COMPARED`, in the order of the output; they must include `full Bayes`.
        on_probe: Called before each fit that only measures times, and compiles, with its size and method.
        on_forecast: Called with the seconds that the fits will still take: before the first, and after each size.
        on_size: Called after each size with the comparison of the sizes so far.

    Raises:
        DataError: for an unknown method, or without `full Bayes`.
    """
    check_methods(methods := tuple(dict.fromkeys(methods)))
    forecast = Forecast(experiment.sizes, experiment.repeats, {name: COMPARED[name].most_rows for name in methods})
    numeric, own = "numeric" in experiment.table.blocks, experiment.model is not None
    priors = {name: COMPARED[name].full_prior(numeric, own) for name in methods}
    result, found = Comparison(priors, ()), list[Record]()
    try:
        _probe(experiment, methods, forecast, on_probe)
        for size in experiment.sizes:
            on_forecast(forecast.seconds_left())
            found = []
            for record in _fits(experiment, size, methods, forecast, on_fit):
                found.append(record)  # one by one, so that those before an error remain
            on_size(result := _with_size(result, found))
    except (KeyboardInterrupt, MemoryError, RuntimeError, ValueError) as error:
        some = not result.sizes
        if some:
            found = found[: len(found) // len(methods) * len(methods)]
            if not found:
                raise
            result = _with_size(result, found)
        stopped = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or "out of memory"
        return replace(result, stopped=stopped, some_splits=some)
    return result


def _with_size(result: Comparison, found: Sequence[Record]) -> Comparison:
    records = sorted(found, key=lambda record: result.methods.index(record.method))
    return replace(result, records=(*result.records, *records))


def _probe(
    experiment: Experiment, methods: Sequence[str], forecast: Forecast, on_probe: Callable[[int, str], object]
) -> None:
    """Time each method on few rows, once it is compiled."""
    train, test = experiment.splits[0]
    X_test, _ = experiment.table.rows(test)
    for size in sorted({experiment.sizes[0], min(experiment.sizes[-1], limits.TRIAL_ROWS)}):
        rows = experiment.table.rows(train[:size])
        for name in methods:
            on_probe(size, name)
            _time(experiment, COMPARED[name], rows, X_test)
            started = time.perf_counter()
            _time(experiment, COMPARED[name], rows, X_test)
            forecast.add(size, name, time.perf_counter() - started)


def _fits(
    experiment: Experiment,
    size: int,
    methods: Sequence[str],
    forecast: Forecast,
    on_fit: Callable[[int, str], object],
) -> Iterator[Record]:
    """The fits of one size, split by split: each split's rows are selected once."""
    for repeat, split in enumerate(experiment.splits):
        train, (X_test, y_test) = experiment.table.rows(split.train[:size]), experiment.table.rows(split.test)
        for name in methods:
            started = time.perf_counter()
            if experiment.repeats < limits.FEWEST_TIMES:
                _time(experiment, COMPARED[name], train, X_test)  # compiles, so that the times exclude it
            log_proba, fit_ms, predict_ms = _time(experiment, COMPARED[name], train, X_test)
            counts = metrics.reliability_bins(log_proba, y_test)
            measured = {
                "log_loss": metrics.log_loss(log_proba, y_test),
                "brier": metrics.brier(log_proba, y_test),
                "accuracy": metrics.accuracy(log_proba, y_test),
                "ece": metrics.calibration_error(counts),
                "impossible": metrics.below_floor(log_proba, y_test),
            }
            forecast.add(size, name, time.perf_counter() - started)
            forecast.finish(size, name)
            on_fit(size, name)
            yield Record(repeat, size, name, **measured, fit_ms=fit_ms, predict_ms=predict_ms, bins=counts)


def _time(experiment: Experiment, method: Method, train: tuple[Any, Array], X_test: Any) -> tuple[Array, float, float]:
    """log p(y | x) of the test rows, [T, K], and the milliseconds of the fit and of the prediction."""
    started = time.perf_counter()
    fit = jax.block_until_ready(method.fit(experiment, *train))  # JAX returns before it has computed
    fitted = time.perf_counter()
    log_proba = np.asarray(fit.predict_log_proba(X_test))
    predicted = time.perf_counter()
    return log_proba, 1e3 * (fitted - started), 1e3 * (predicted - fitted)


class Forecast:
    """The seconds of one fit with its prediction, by method: a line in the training size, through the times so far.

    ``methods`` map each to the training size beyond which its time hardly grows, or None.
    """

    def __init__(self, sizes: Sequence[int], repeats: int, methods: Mapping[str, int | None]) -> None:
        self._most = methods
        self._left = {(size, method): repeats for size in sizes for method in methods}
        self._seconds: dict[str, dict[int, list[float]]] = {method: {} for method in methods}

    def add(self, size: int, method: str, seconds: float) -> None:
        """Note the time of one fit."""
        self._seconds[method].setdefault(size, []).append(seconds)

    def finish(self, size: int, method: str) -> None:
        """Note that there is one fit less to do."""
        self._left[size, method] -= 1

    def seconds_left(self) -> float:
        """The seconds that the fits still to do will take."""
        return sum(count * self._of_one(size, method) for (size, method), count in self._left.items() if count)

    def _of_one(self, size: int, method: str) -> float:
        times = {at: float(np.median(seconds)) for at, seconds in self._seconds[method].items()}
        low, high = min(times), max(times)
        slope = (times[high] - times[low]) / (high - low) if high > low else 0.0
        reach = max(high, self._most[method] or size)
        return times[low] + max(slope, 0.0) * (min(size, reach) - low)
