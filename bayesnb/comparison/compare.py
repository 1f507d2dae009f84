"""The scores of the methods on the same random splits of one table, at growing training sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from bayesnb.comparison.experiment import Experiment
from bayesnb.comparison.methods import COMPARED, NAIVE_BAYES, REFERENCE, Method
from bayesnb.comparison.metrics import (
    ReliabilityBins,
    accuracy,
    brier,
    calibration_error,
    impossible_share,
    log_loss,
    mean_and_error,
    reliability_bins,
)
from bayesnb.frames.series import Array


@dataclass(frozen=True)
class Record:
    """One fit of one method: training size, split, scores on the test rows, and times in milliseconds."""

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


@dataclass(frozen=True, eq=False)
class Comparison:
    """All fits of one comparison.

    Attributes:
        sizes: Training sizes, in increasing order.
        priors: A short description of each method's prior, in order of the methods.
        records: One for each size, method and split.
        bins: For each (size, method), the reliability counts of each split.
    """

    sizes: tuple[int, ...]
    priors: Mapping[str, str]
    records: tuple[Record, ...]
    bins: Mapping[tuple[int, str], tuple[ReliabilityBins, ...]]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared, in order."""
        return tuple(self.priors)

    def values(self, size: int, method: str, field: str) -> Array:
        """One field of the records of a size and a method, for each of the R splits [R]."""
        return np.array([getattr(r, field) for r in self.records if r.size == size and r.method == method])

    def mean(self, size: int, method: str, metric: str) -> tuple[float, float]:
        """Mean and standard error of a metric over the splits."""
        return mean_and_error(self.values(size, method, metric))

    def difference(self, size: int, method: str, metric: str) -> tuple[float, float]:
        """Mean and standard error of (method - full Bayes), paired: both saw the same rows of each split."""
        return mean_and_error(self.values(size, method, metric) - self.values(size, REFERENCE, metric))

    def overconfidence(self, size: int, method: str) -> tuple[float, float]:
        """Mean and standard error over the splits of (mean of the largest probabilities - accuracy)."""
        splits = self.bins[size, method]
        return mean_and_error(np.array([(s.confidence.sum() - s.correct.sum()) / s.count.sum() for s in splits]))

    def median(self, size: int, method: str, field: str) -> float:
        """Median of a field over the splits; used for times, which have long tails."""
        return float(np.median(self.values(size, method, field)))


def compare(
    experiment: Experiment,
    on_fit: Callable[[int, str], None] | None = None,
    methods: Sequence[str] = NAIVE_BAYES,
) -> Comparison:
    """The fits of every method at every size on every split, scored on the split's test rows.

    Args:
        experiment: The data, the training sizes, the splits and the models.
        on_fit: Called after each fit with its size and method.
        methods: Some of `COMPARED`, in the order of the output; they must include `full Bayes`.
    """
    table = experiment.table
    records: list[Record] = []
    bins: dict[tuple[int, str], tuple[ReliabilityBins, ...]] = {}
    for size in experiment.sizes:
        for name in methods:
            counts = []
            for repeat, split in enumerate(experiment.splits):
                train, (X_test, y_test) = table.rows(split.train[:size]), table.rows(split.test)
                if repeat == 0:
                    _time(experiment, COMPARED[name], train, X_test)  # compiles, so that the times exclude it
                log_proba, fit_ms, predict_ms = _time(experiment, COMPARED[name], train, X_test)
                counts.append(reliability_bins(log_proba, y_test))
                records.append(
                    Record(
                        repeat=repeat,
                        size=size,
                        method=name,
                        log_loss=log_loss(log_proba, y_test),
                        brier=brier(log_proba, y_test),
                        accuracy=accuracy(log_proba, y_test),
                        ece=calibration_error(counts[-1]),
                        impossible=impossible_share(log_proba, y_test),
                        fit_ms=fit_ms,
                        predict_ms=predict_ms,
                    )
                )
                if on_fit is not None:
                    on_fit(size, name)
            bins[size, name] = tuple(counts)
    priors = {name: COMPARED[name].full_prior("numeric" in table.blocks) for name in methods}
    return Comparison(experiment.sizes, priors, tuple(records), bins)


def _time(experiment: Experiment, method: Method, train: tuple[Any, Array], X_test: Any) -> tuple[Array, float, float]:
    """log p(y | x) of the test rows, [T, K], and the milliseconds of the fit and of the prediction."""
    started = time.perf_counter()
    fit = jax.block_until_ready(method.fit(experiment, *train))  # JAX returns before it has computed
    fitted = time.perf_counter()
    log_proba = np.asarray(fit.predict_log_proba(X_test))
    predicted = time.perf_counter()
    return log_proba, 1e3 * (fitted - started), 1e3 * (predicted - fitted)
