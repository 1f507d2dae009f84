"""Compare methods on the same random splits of one table, at growing training sizes."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from bayesnb.comparison.methods import METHODS, REFERENCE, Fitter, fitters, priors
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
from bayesnb.comparison.splits import Split, growing_sizes, num_test_rows, stratified_split
from bayesnb.files.tables.table import Table
from bayesnb.frames.series import DataError

Array = np.ndarray[Any, Any]

METRICS = ("log_loss", "brier", "accuracy", "ece")


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
        repeats: The number of splits, R.
        seed: The random seed of the splits.
        num_test: The number of rows in each test set.
        priors: A short description of each method's prior, in order of the methods.
        records: One for each size, method and split.
        bins: For each (size, method), the reliability counts of each split.
    """

    sizes: tuple[int, ...]
    repeats: int
    seed: int
    num_test: int
    priors: Mapping[str, str]
    records: tuple[Record, ...]
    bins: Mapping[tuple[int, str], tuple[ReliabilityBins, ...]]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared, in order."""
        return tuple(self.priors)

    def values(self, size: int, method: str, field: str) -> Array:
        """Return one field of the records of a size and a method, split by split [R]."""
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


def choose_sizes(table: Table, sizes: Sequence[int] | None = None) -> tuple[int, ...]:
    """Check the given training sizes, or choose them.

    Raises:
        DataError: if a size is below 2, or above the number of rows left after holding out the test rows.
    """
    num_train = len(table.y) - num_test_rows(len(table.y))
    if sizes is None:
        return growing_sizes(num_train, len(table.classes))
    if max(sizes) > num_train:
        raise DataError(
            f"a training size of {max(sizes):,} is more than the {num_train:,} rows there are to learn from "
            f"(70 % of {len(table.y):,}; the rest is for testing)"
        )
    if min(sizes) < 2:
        raise DataError(f"a training size of {min(sizes)} is too small; the smallest is 2")
    return tuple(sorted(set(sizes)))


def compare(
    table: Table,
    sizes: Sequence[int],
    repeats: int,
    seed: int,
    on_fit: Callable[[int, str], None] | None = None,
    methods: Sequence[str] = METHODS,
) -> Comparison:
    """Fit every method at every size on every split, and score it on the split's test rows.

    Args:
        table: The data.
        sizes: Training sizes, as `choose_sizes` returns them.
        repeats: The number of random splits.
        seed: Split r is drawn with the seed (seed, r), so that more repeats keep the earlier splits.
        on_fit: Called after each fit with its size and method.
        methods: Some of `METHODS` and `RIVALS`, in the order of the output; they must include `full Bayes`.
    """
    fits = fitters(table, seed)
    splits = make_splits(table, repeats, seed)
    records: list[Record] = []
    bins: dict[tuple[int, str], tuple[ReliabilityBins, ...]] = {}
    for size in sizes:
        for method in methods:
            counted = []
            for repeat, split in enumerate(splits):
                train, test = table.rows(split.train[:size]), table.rows(split.test)
                if repeat == 0:
                    _timed(fits[method], train, test[0])  # compiles, so that the times below exclude compilation
                log_proba, fit_ms, predict_ms = _timed(fits[method], train, test[0])
                counted.append(reliability_bins(log_proba, test[1]))
                records.append(_score(repeat, size, method, log_proba, test[1], counted[-1], fit_ms, predict_ms))
                if on_fit is not None:
                    on_fit(size, method)
            bins[size, method] = tuple(counted)
    num_test, named = num_test_rows(len(table.y)), priors(table)
    used = {method: named[method] for method in methods}
    return Comparison(tuple(sizes), repeats, seed, num_test, used, tuple(records), bins)


def make_splits(table: Table, repeats: int, seed: int) -> list[Split]:
    """Draw the splits of a comparison."""
    return [stratified_split(table.y, np.random.default_rng([seed, repeat])) for repeat in range(repeats)]


def _timed(fitter: Fitter, train: tuple[Any, Array], X_test: Any) -> tuple[Array, float, float]:
    """Fit and predict; return log p(y | x) [T, K] and the milliseconds of each."""
    started = time.perf_counter()
    fit = jax.block_until_ready(fitter(*train))  # JAX returns before it has computed
    fitted = time.perf_counter()
    log_proba = np.asarray(fit.predict_log_proba(X_test))
    predicted = time.perf_counter()
    return log_proba, 1e3 * (fitted - started), 1e3 * (predicted - fitted)


def _score(
    repeat: int,
    size: int,
    method: str,
    log_proba: Array,
    y: Array,
    bins: ReliabilityBins,
    fit_ms: float,
    predict_ms: float,
) -> Record:
    return Record(
        repeat=repeat,
        size=size,
        method=method,
        log_loss=log_loss(log_proba, y),
        brier=brier(log_proba, y),
        accuracy=accuracy(log_proba, y),
        ece=calibration_error(bins),
        impossible=impossible_share(log_proba, y),
        fit_ms=fit_ms,
        predict_ms=predict_ms,
    )
