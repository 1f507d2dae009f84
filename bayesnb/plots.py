"""The pictures of a comparison. Each function draws on the axes that it is given and returns them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.dependence import STRONG, Dependence
from bayesnb.metrics import NUM_BINS, ReliabilityBins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, Any]

# colours of Okabe and Ito, which the colour-blind tell apart; marker and line tell them apart in grey
STYLES: dict[str, dict[str, Any]] = {
    "full Bayes": {"color": "#0072B2", "marker": "o", "linestyle": "-", "markersize": 8, "markerfacecolor": "white"},
    "random forest": {"color": "#E69F00", "marker": "P", "linestyle": (0, (6, 1, 1, 1, 1, 1)), "markersize": 6},
    "logistic regression": {"color": "#56B4E9", "marker": "X", "linestyle": (0, (2, 1)), "markersize": 6},
    "tempered": {"color": "#009E73", "marker": "D", "linestyle": "-.", "markersize": 5},
    "feature weights": {"color": "#CC79A7", "marker": "v", "linestyle": (0, (8, 2)), "markersize": 6},
    "MAP": {"color": "#D55E00", "marker": "^", "linestyle": "--", "markersize": 5},
    "MLE": {"color": "#555555", "marker": "s", "linestyle": ":", "markersize": 5},
}
HATCHES = {
    "full Bayes": "", "random forest": "xxxx", "logistic regression": "||||", "tempered": "----",
    "feature weights": "\\\\\\\\", "MAP": "////", "MLE": "....",
}  # fmt: skip
DODGE = 1.025  # the factor from one method to the next: error bars side by side, not on top of each other


def learning_curve(
    ax: "Axes",
    sizes: Sequence[int],
    curves: Mapping[str, tuple[Array, Array]],
    ylabel: str,
    log_scale: bool = False,
) -> "Axes":
    """Draw a metric against the training size, one line for each method, with error bars.

    Args:
        ax: Where to draw.
        sizes: Training sizes [S].
        curves: For each method, the means [S] and their standard errors [S] (NaN: no bar).
        ylabel: The metric.
        log_scale: Use a logarithmic scale; it needs positive means, and stays linear without them.
    """
    methods = [name for name in STYLES if name in curves]  # the largest markers first, the others on top
    for position, method in enumerate(methods):
        mean, error = (np.asarray(values, dtype=float) for values in curves[method])
        ax.errorbar(
            np.asarray(sizes) * DODGE ** ((len(methods) - 1) / 2 - position),
            mean,
            yerr=np.nan_to_num(error),
            label=method,
            capsize=2.5,
            elinewidth=1,
            linewidth=1.6,
            **STYLES[method],
        )
    ax.set_xscale("log")
    ax.set_xticks(list(sizes), labels=_size_labels(sizes))
    ax.set_xticks([], minor=True)
    ax.set_xlabel("training rows")
    ax.set_ylabel(ylabel)
    if log_scale and all(np.min(mean) > 0 for mean, _ in curves.values()):
        _logarithmic(ax)
    return _tidy(ax)


def reliability(ax: "Axes", bins: Mapping[str, Sequence[ReliabilityBins]], lowest: float = 0.0) -> "Axes":
    """Draw how often predictions were right against how sure they were; the diagonal is perfect calibration.

    A point is a bin of the largest class probability, summed over the R splits: x is the mean confidence, y the share
    of right predictions, r = sum_s c_s / sum_s n_s. Its whiskers are two standard errors of that ratio with the splits
    as clusters, sqrt(R / (R - 1) sum_s (c_s - r n_s)^2) / sum_s n_s, since rows of one split go together. Bins with
    fewer than one row a split on average are left out, and no line leads across them.

    Args:
        ax: Where to draw.
        bins: For each method, the counts of each split.
        lowest: The left end of the picture; no confidence is below 1 / K.
    """
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=0)
    for method in [name for name in STYLES if name in bins]:
        confidence, correct, error = _ratios(bins[method])
        ends = np.stack([np.minimum(2 * error, correct), np.minimum(2 * error, 1 - correct)])  # a share stays in [0, 1]
        ax.errorbar(
            confidence, correct, yerr=ends, label=method, capsize=2, elinewidth=1, linewidth=1.4, **STYLES[method]
        )
    ax.set_xlim(lowest, 1.02)
    ax.set_ylim(0, 1.03)
    ax.set_ylabel("share predicted right")
    return _tidy(ax)


def confidence_shares(ax: "Axes", bins: Mapping[str, Sequence[ReliabilityBins]]) -> "Axes":
    """Draw the share of test rows in each bin of the largest class probability, methods side by side.

    Args:
        ax: Where to draw.
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
    return _tidy(ax)


def dependence(ax: "Axes", pairs: Dependence, strong: float = STRONG) -> "Axes":
    """Draw what the columns of each pair tell about each other given the class, below the diagonal of a matrix.

    The darker, the more nats; a dot marks the pairs whose log Bayes factor for dependence is above ``strong``. Shades
    go with the square root of the nats, for pairs differ by orders of magnitude.

    Args:
        ax: Where to draw.
        pairs: What `bayesnb.dependence` found for D columns.
        strong: The log Bayes factor above which a pair gets its dot; the default is 150 to 1.
    """
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import PowerNorm

    size = len(pairs.names)
    below = np.tri(size, k=-1, dtype=bool)
    nats = np.ma.masked_array(pairs.mutual_information, ~below)
    norm = PowerNorm(0.5, 0.0, max(float(nats.max()), 1e-3))
    edges = np.where(below, "0.85", "none").ravel()
    shades = ax.pcolormesh(nats, cmap="Greys", norm=norm, edgecolors=edges, linewidth=0.4)
    rows, columns = (below & (pairs.log_bayes_factor > strong)).nonzero()
    colours = np.where(norm(pairs.mutual_information[rows, columns]) > 0.5, "white", "black")
    middles, width = np.stack([columns, rows], axis=1) + 0.5, min(0.3, 0.03 * size)
    ax.add_collection(
        EllipseCollection(width, width, 0, units="x", offsets=middles, offset_transform=ax.transData, color=colours)
    )
    ax.set(xlim=(0, size - 1), ylim=(size, 1), aspect="equal")
    names = [name.replace("$", r"\$") for name in pairs.names]  # a dollar sign would begin a formula
    fontsize = float(np.clip(240 / size, 6, 9))
    ax.set_xticks(np.arange(size - 1) + 0.5, names[:-1], rotation=90, fontsize=fontsize)
    ax.set_yticks(np.arange(1, size) + 0.5, names[1:], fontsize=fontsize)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"dot: log Bayes factor above {strong:g}", fontsize=9)
    ax.figure.colorbar(shades, ax=ax, label="nats", shrink=0.6)
    return ax


def _ratios(splits: Sequence[ReliabilityBins]) -> tuple[Array, Array, Array]:
    """Mean confidence, share right and its standard error of each bin; NaN, a gap, where a bin has too few rows."""
    count = np.stack([split.count for split in splits])
    correct = np.stack([split.correct for split in splits])
    total = count.sum(axis=0)
    total = np.where(total >= len(splits), total, np.nan)
    ratio = correct.sum(axis=0) / total
    residual = correct - ratio * count
    spread = np.sum(residual**2, axis=0) * len(splits) / max(len(splits) - 1, 1)
    confidence = np.sum([split.confidence for split in splits], axis=0) / total
    return confidence, ratio, np.sqrt(spread) / total


def _size_labels(sizes: Sequence[int]) -> list[str]:
    """Label the sizes, from the right; one that stands too near the next keeps its tick and goes without."""
    near = 0.085 * np.log10(sizes[-1] / sizes[0])
    labels: list[str] = []
    last = np.inf
    for size in reversed(sizes):
        shown = last - np.log10(size) >= near
        last = np.log10(size) if shown else last
        thousands = size % 1000 == 0 or size >= 10_000
        labels.append("" if not shown else f"{size / 1000:.3g}k" if thousands else str(size))
    return labels[::-1]


def _loss_label(value: float) -> str:
    power = np.log10(value)
    return f"$10^{{{round(power)}}}$" if abs(power) > 3.5 and power == round(power) else f"{value:g}"


def _tidy(ax: "Axes") -> "Axes":
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _logarithmic(ax: "Axes") -> None:
    """Use a logarithmic scale with plain numbers, and as many of them as the decades leave room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log", nonpositive="clip")
    low, high = ax.get_ylim()
    decades = np.log10(high / low)
    steps = (1, 1.2, 1.5, 2, 3, 4, 5, 6, 8) if decades < 1 else (1, 2, 5) if decades < 2.5 else (1,)
    ax.yaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _loss_label(value)))
    ax.yaxis.set_minor_locator(NullLocator())
