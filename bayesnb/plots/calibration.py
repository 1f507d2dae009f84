"""Calibration plots: predicted probabilities against observed frequencies."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.comparison.metrics import NUM_BINS, ReliabilityBins
from bayesnb.plots.look import tidy
from bayesnb.plots.methods import HATCHES, STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, Any]


def reliability(ax: "Axes", bins: Mapping[str, Sequence[ReliabilityBins]], lowest: float = 0.0) -> "Axes":
    """Draw accuracy against confidence (a reliability diagram); the diagonal is perfect calibration.

    A point is a bin of the largest class probability, summed over the R splits: x is the mean confidence, y the
    fraction of correct predictions, r = sum_s c_s / sum_s n_s. Its whiskers are two standard errors of that ratio with
    splits as clusters, sqrt(R / (R - 1) sum_s (c_s - r n_s)^2) / sum_s n_s, since rows of one split are dependent. Bins
    with fewer than one row per split on average are left out, and lines are broken there.

    Args:
        ax: The axes to draw on.
        bins: For each method, the counts of each split.
        lowest: The left end of the x axis; no confidence is below 1 / K.
    """
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=0)
    for method in [name for name in STYLES if name in bins]:
        confidence, correct, error = _ratios(bins[method])
        ends = np.stack([np.minimum(2 * error, correct), np.minimum(2 * error, 1 - correct)])  # stay in [0, 1]
        ax.errorbar(
            confidence, correct, yerr=ends, label=method, capsize=2, elinewidth=1, linewidth=1.4, **STYLES[method]
        )
    ax.set_xlim(lowest, 1.02)
    ax.set_ylim(0, 1.03)
    ax.set_ylabel("share predicted right")
    return tidy(ax)


def confidence_shares(ax: "Axes", bins: Mapping[str, Sequence[ReliabilityBins]]) -> "Axes":
    """Draw the fraction of test rows in each bin of the largest class probability, methods side by side.

    Args:
        ax: The axes to draw on.
        bins: For each method, the counts of each split.
    """
    methods = [name for name in reversed(STYLES) if name in bins]
    width = 0.8 / NUM_BINS / len(methods)
    centres = (np.arange(NUM_BINS) + 0.5) / NUM_BINS
    for position, method in enumerate(methods):
        count = np.sum([split.count for split in bins[method]], axis=0)
        offset = (position - (len(methods) - 1) / 2) * width
        style = {"color": STYLES[method]["color"], "hatch": HATCHES[method], "edgecolor": "white", "linewidth": 0}
        ax.bar(centres + offset, count / count.sum(), width, **style)
    ax.set_xlabel("largest predicted probability")
    ax.set_ylabel("share of rows")
    return tidy(ax)


def _ratios(splits: Sequence[ReliabilityBins]) -> tuple[Array, Array, Array]:
    """Mean confidence, accuracy and its standard error for each bin; NaN (a gap) if a bin has too few rows."""
    count = np.stack([split.count for split in splits])
    correct = np.stack([split.correct for split in splits])
    total = count.sum(axis=0)
    total = np.where(total >= len(splits), total, np.nan)
    ratio = correct.sum(axis=0) / total
    residual = correct - ratio * count
    spread = np.sum(residual**2, axis=0) * len(splits) / max(len(splits) - 1, 1)
    confidence = np.sum([split.confidence for split in splits], axis=0) / total
    return confidence, ratio, np.sqrt(spread) / total
