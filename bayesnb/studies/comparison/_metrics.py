"""Scores of predicted class probabilities, in numpy.

Functions take log p(y = k | x), `log_proba` [..., N, K], of one fit or of several at once, and labels `y` [N], integers
0 to K - 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayesnb.tables.frames._values import Array


class Metric(NamedTuple):
    """A metric's name in headings, and its unit."""

    heading: str
    unit: str
    higher_is_better: bool = False


LOG_SMALLEST = float(np.log(np.finfo(np.float32).tiny))  # -87.3
FLOOR_NATS = f"{-LOG_SMALLEST:.1f}"
"""What a row whose true class has the smallest probability that is told apart, e^-87.3, costs in the log loss."""

METRICS = {
    "log_loss": Metric("log loss", f"nats per test row, at most {FLOOR_NATS} for a row"),
    "brier": Metric("Brier", "squared error of the probabilities, summed over classes"),
    "accuracy": Metric("accuracy", "share of correct predictions", higher_is_better=True),
    "ece": Metric("ECE", "expected calibration error, 10 bins of the largest predicted probability"),
}
SET_METRICS = {
    "determinacy": Metric("determinacy", "share of rows whose set has one class", True),
    "single_accuracy": Metric("single accuracy", "accuracy on these rows", True),
    "set_accuracy": Metric("set accuracy", "share of the other rows whose set has the true class", True),
    "set_size": Metric("set size", "mean number of classes in the sets of the other rows"),
    "u65": Metric("u65", "utility of sets: 1 for the true class alone, .65 for it and another", True),
    "u80": Metric("u80", "utility of sets: 1 for the true class alone, .8 for it and another", True),
}
"""Those of sets of classes, ``nb.decide_set``, which need an exact posterior of categories."""

STUDY_METRICS = (
    METRICS
    | {"auc": Metric("AUC", "area under the ROC curve, mean of each class against the rest", True)}
    | SET_METRICS
)
"""Those that a study may have."""

NUM_BINS = 10


BY_ROW: tuple[str, ...] = ("log_loss", "brier", "accuracy")
SETS_BY_ROW: tuple[str, ...] = ("determinacy", "u65", "u80")
"""The metrics that are means over rows, and those of sets that are."""


def losses_by_row(log_proba: Array, y: Array) -> Array:
    """The losses of each row behind the metrics ``BY_ROW``, [3, ..., N].

    - -log p(y_i | x_i), in nats. No row counts more than 87.3, minus the log of float32's smallest normal number: one
      scale for every method, whether its probabilities are zero, too small for float32, or exact logarithms of any
      size. Good (1952), Rational decisions, JRSS B 14.
    - sum_k (p_ik - [y_i = k])^2, over all K classes: with two it is twice the one-column form of scikit-learn's
      `brier_score_loss`. Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather
      Review 78.
    - 1 if the most probable class is not the true one.
    """
    own, errors = np.arange(len(y)), np.exp(log_proba)
    errors[..., own, y] -= 1.0
    nats = -np.maximum(log_proba[..., own, y], LOG_SMALLEST)
    return np.stack([nats, np.square(errors).sum(axis=-1), np.argmax(log_proba, axis=-1) != y])


def log_loss(log_proba: Array, y: Array) -> float:
    """Mean of -log p(y_i | x_i), in nats; 0 is perfect, and uniform predictions have log K."""
    return float(losses_by_row(log_proba, y)[0].mean())


def brier(log_proba: Array, y: Array) -> float:
    """Mean squared error of the probabilities, summed over classes, from 0 to 2."""
    return float(losses_by_row(log_proba, y)[1].mean())


def accuracy(log_proba: Array, y: Array) -> float:
    """Fraction of rows whose most probable class is the true one."""
    return 1.0 - float(losses_by_row(log_proba, y)[2].mean())


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """Counts of rows by confidence: M bins ((m - 1)/M, m/M] of the largest class probability.

    Attributes:
        count: The number of rows in each bin [..., M].
        confidence: The sum of their largest class probabilities [..., M].
        correct: The number of correct predictions among them [..., M].
    """

    count: Array
    confidence: Array
    correct: Array


def reliability_bins(log_proba: Array, y: Array, bins: int = NUM_BINS) -> ReliabilityBins:
    """Counts of rows and of correct predictions, and sums of confidence, in bins of the largest class probability.

    Args:
        log_proba: log p(y = k | x) [N, K], or [..., N, K] of several fits.
        y: Labels [N], 0 to K - 1.
        bins: M, their number.

    Returns:
        ``count``, ``confidence`` and ``correct`` [..., M], as ``plots.reliability`` takes one for each split.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> nb.plots.reliability_bins(np.log([[0.9, 0.1], [0.35, 0.65]]), np.array([0, 0])).correct.tolist()[6:]
        [0.0, 0.0, 1.0, 0.0]
    """
    confidence = np.exp(np.max(log_proba, axis=-1))
    correct = np.argmax(log_proba, axis=-1) == y
    index, fits = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1), confidence.shape[:-1]
    index += bins * np.arange(math.prod(fits)).reshape(*fits, 1)

    def total(weights: Array | None) -> Array:
        found = np.bincount(index.ravel(), weights, minlength=bins * math.prod(fits))
        return found.reshape(*fits, bins)

    return ReliabilityBins(total(None), total(confidence.ravel()), total(correct.ravel().astype(float)))


def calibration_error(bins: ReliabilityBins) -> Array:
    """Expected calibration error [...]: sum_m (n_m / N) |accuracy_m - confidence_m|.

    It is 0 if in every bin the fraction of correct predictions equals the mean confidence. Guo, Pleiss, Sun, Weinberger
    (2017), On calibration of modern neural networks, ICML.
    """
    return np.sum(np.abs(bins.correct - bins.confidence), axis=-1) / np.sum(bins.count, axis=-1)


def auc(proba: Array, y: Array) -> Array:
    """[...]: the mean over classes of the area under the ROC curve, each class against the rest; every class has rows.

    It is the probability that a row of the class has a larger probability of it than another row, ties counted half.
    Hanley and McNeil (1982), The meaning and use of the area under a receiver operating characteristic curve.
    """
    areas = []
    for k in range(proba.shape[-1]):
        rest, own = (np.sort(proba[..., which, k]) for which in (y != k, y == k))
        pairs = zip(rest.reshape(-1, rest.shape[-1]), own.reshape(-1, own.shape[-1]), strict=True)
        wins = [np.searchsorted(r, o).sum() + np.searchsorted(r, o, "right").sum() for r, o in pairs]
        areas.append(np.reshape(wins, proba.shape[:-2]) / (2 * rest.shape[-1] * own.shape[-1]))
    return np.mean(areas, axis=0)


def set_scores(sets: Array, y: Array) -> dict[str, float]:
    """The ``SET_METRICS`` of sets of classes, [N, K], booleans; NaN for the mean of no row."""
    one, hits = sets.sum(axis=1) == 1, sets[np.arange(len(y)), y]
    _, u65, u80 = 1.0 - set_losses_by_row(sets, y)
    means = one, hits[one], hits[~one], sets.sum(axis=1)[~one], u65, u80
    return {name: float(part.mean()) if part.size else np.nan for name, part in zip(SET_METRICS, means, strict=True)}


def set_losses_by_row(sets: Array, y: Array) -> Array:
    """One minus the part of each row in the metrics ``SETS_BY_ROW``, [3, N], of sets [N, K].

    The discounted accuracy is z = 1/|set| if the set has the true class, and else 0; the utilities are

        u65 = 1.6 z - 0.6 z^2,    u80 = 2.2 z - 1.2 z^2

    Corani and Zaffalon, JNCC2: the Java implementation of naive credal classifier 2 (2008); Zaffalon, Corani and Maua,
    Evaluating credal classifiers by utility-discounted predictive accuracy (2012).
    """
    sizes = sets.sum(axis=1)
    z = sets[np.arange(len(y)), y] / sizes
    return 1.0 - np.stack([sizes == 1, 1.6 * z - 0.6 * z**2, 2.2 * z - 1.2 * z**2])
