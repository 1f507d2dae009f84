"""MLE, MAP and full Bayes side by side: the same random splits of one table, at growing training sizes."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from bayesnb.dependence import Dependence, dependence
from bayesnb.fit import fit_posterior
from bayesnb.methods import Fitter, bayes_model, fitters, priors
from bayesnb.metrics import (
    ReliabilityBins,
    accuracy,
    brier,
    calibration_error,
    impossible_share,
    log_loss,
    mean_and_error,
    reliability_bins,
)
from bayesnb.nuts import fit_nuts
from bayesnb.reading import DataError
from bayesnb.splits import Split, growing_sizes, num_test_rows, stratified_split
from bayesnb.tables import Table

Array = np.ndarray[Any, Any]

METRICS = ("log_loss", "brier", "accuracy", "ece")
MOST_CHECKED_ROWS = 500
MOST_PAIRED_ROWS = 2000  # as many tell strong pairs from weak ones, in a fraction of a second
CHECK_SAMPLES = 500  # a chain, and as many to adapt: enough for a check, and most of the time is compilation anyway


@dataclass(frozen=True)
class Record:
    """One method fitted once: training size, split, scores on the test rows, and milliseconds."""

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
        sizes: Training sizes, growing.
        repeats: How many splits, R.
        seed: What the splits were drawn from.
        num_test: Rows in each test set.
        priors: For each method, its prior in a few words.
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

    def values(self, size: int, method: str, field: str) -> Array:
        """Return one field of the records of a size and a method, split by split [R]."""
        return np.array([getattr(r, field) for r in self.records if r.size == size and r.method == method])

    def mean(self, size: int, method: str, metric: str) -> tuple[float, float]:
        """Mean and standard error of a metric over the splits."""
        return mean_and_error(self.values(size, method, metric))

    def difference(self, size: int, method: str, metric: str) -> tuple[float, float]:
        """Mean and standard error of (method - full Bayes), paired: both saw the same rows of each split."""
        return mean_and_error(self.values(size, method, metric) - self.values(size, "full Bayes", metric))

    def overconfidence(self, size: int, method: str) -> tuple[float, float]:
        """Mean and standard error over the splits of (mean of the largest probabilities - accuracy)."""
        splits = self.bins[size, method]
        return mean_and_error(np.array([(s.confidence.sum() - s.correct.sum()) / s.count.sum() for s in splits]))

    def median(self, size: int, method: str, field: str) -> float:
        """Median of a field over the splits; for times, which have long tails."""
        return float(np.median(self.values(size, method, field)))


@dataclass(frozen=True)
class NutsCheck:
    """NUTS against the exact posterior on one training set.

    Attributes:
        size: Training rows.
        num_rows: Test rows on which the probabilities were compared.
        max_difference: Largest absolute difference of a class probability from the exact one.
        mean_difference: Mean absolute difference.
        max_r_hat: Largest split R-hat of any parameter.
        min_ess: Smallest effective sample size of any parameter.
        num_divergences: Divergent transitions.
        num_draws: Draws, all chains together.
        num_chains: Chains.
        seconds: Wall time, compilation included.
        warnings: What the sampler had to say.
    """

    size: int
    num_rows: int
    max_difference: float
    mean_difference: float
    max_r_hat: float
    min_ess: float
    num_divergences: int
    num_draws: int
    num_chains: int
    seconds: float
    warnings: tuple[str, ...]


def choose_sizes(table: Table, sizes: Sequence[int] | None = None) -> tuple[int, ...]:
    """Check the training sizes asked for, or choose them.

    Raises:
        DataError: A size is below 2 or above the rows that are left when the test rows are held out.
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
    table: Table, sizes: Sequence[int], repeats: int, seed: int, on_fit: Callable[[int, str], None] | None = None
) -> Comparison:
    """Fit every method at every size on every split, and score it on the split's test rows.

    Args:
        table: The data.
        sizes: Training sizes, as `choose_sizes` returns them.
        repeats: How many random splits.
        seed: Split r is drawn from (seed, r), so that more repeats keep the splits of fewer.
        on_fit: Called after each fit with its size and method.
    """
    methods = fitters(table)
    splits = make_splits(table, repeats, seed)
    records: list[Record] = []
    bins: dict[tuple[int, str], tuple[ReliabilityBins, ...]] = {}
    for size in sizes:
        for method, fitter in methods.items():
            counted = []
            for repeat, split in enumerate(splits):
                train, test = table.rows(split.train[:size]), table.rows(split.test)
                if repeat == 0:
                    _timed(fitter, train, test[0])  # compiles; the times below are those of a program that is warm
                log_proba, fit_ms, predict_ms = _timed(fitter, train, test[0])
                counted.append(reliability_bins(log_proba, test[1]))
                records.append(_score(repeat, size, method, log_proba, test[1], counted[-1], fit_ms, predict_ms))
                if on_fit is not None:
                    on_fit(size, method)
            bins[size, method] = tuple(counted)
    num_test = num_test_rows(len(table.y))
    return Comparison(tuple(sizes), repeats, seed, num_test, priors(table), tuple(records), bins)


def make_splits(table: Table, repeats: int, seed: int) -> list[Split]:
    """Draw the splits of a comparison."""
    return [stratified_split(table.y, np.random.default_rng([seed, repeat])) for repeat in range(repeats)]


def check_with_nuts(
    table: Table, size: int, seed: int, num_samples: int = CHECK_SAMPLES, progress_bar: bool = False
) -> NutsCheck:
    """Draw from the posterior of the first split by NUTS and compare its predictions with the exact ones.

    At most 500 test rows are compared: averaging thousands of draws over tens of thousands of rows would take longer
    than the sampling, and shows nothing more. With many columns a few draws dominate the average of a row's joint
    density: the largest difference is then Monte Carlo noise even for a perfect sampler, and the mean tells more.
    """
    split = make_splits(table, 1, seed)[0]
    X, y = table.rows(split.train[:size])
    X_test, _ = table.rows(split.test[:MOST_CHECKED_ROWS])
    model = bayes_model(table)
    exact = fit_posterior(model, X, y).predict_proba(X_test)
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draws = fit_nuts(
            model,
            X,
            y,
            key=jax.random.key(seed),
            num_samples=num_samples,
            num_warmup=num_samples,
            progress_bar=progress_bar,
        )
        sampled = draws.predict_proba(X_test)
    seconds = time.perf_counter() - started
    return NutsCheck(
        size=size,
        num_rows=len(exact),
        max_difference=float(np.max(np.abs(sampled - exact))),
        mean_difference=float(np.mean(np.abs(sampled - exact))),
        max_r_hat=float(draws.max_r_hat),
        min_ess=float(draws.min_ess),
        num_divergences=int(draws.num_divergences),
        num_draws=num_samples * int(draws.num_chains),
        num_chains=int(draws.num_chains),
        seconds=seconds,
        warnings=tuple(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning))),
    )


def dependent_columns(table: Table, size: int, seed: int) -> Dependence | None:
    """Test the naive assumption on the first training set, at most 2,000 rows of it; None for a single column."""
    if len(table.columns) < 2:
        return None
    split = make_splits(table, 1, seed)[0]
    X, y = table.rows(split.train[: min(size, MOST_PAIRED_ROWS)])
    return replace(dependence(X, y, model=bayes_model(table)), names=tuple(str(c.name) for c in table.columns))


def _timed(fitter: Fitter, train: tuple[Any, Array], X_test: Any) -> tuple[Array, float, float]:
    """Fit and predict; return log p(y | x) [T, K] and the milliseconds of each."""
    started = time.perf_counter()
    fit = jax.block_until_ready(fitter(*train))  # JAX answers before it has computed
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
