"""Plot a metric against the training size."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.plots.look import tidy
from bayesnb.plots.methods import DODGE, STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, Any]


def learning_curve(
    ax: "Axes",
    sizes: Sequence[int],
    curves: Mapping[str, tuple[Array, Array]],
    ylabel: str,
    log_scale: bool = False,
) -> "Axes":
    """Draw a metric against the training size, one line for each method, with error bars.

    Args:
        ax: The axes to draw on.
        sizes: Training sizes [S].
        curves: For each method, the means [S] and their standard errors [S] (NaN: no error bar).
        ylabel: The metric.
        log_scale: Use a logarithmic scale if all means are positive.
    """
    # draw the largest markers first and smaller ones on top; methods without a style come last
    methods = [name for name in STYLES if name in curves] + [name for name in curves if name not in STYLES]
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
            **STYLES.get(method, {"marker": "."}),
        )
    ax.set_xscale("log")
    ax.set_xticks(list(sizes), labels=_size_labels(sizes))
    ax.set_xticks([], minor=True)
    ax.set_xlabel("training rows")
    ax.set_ylabel(ylabel)
    if log_scale and all(np.min(mean) > 0 for mean, _ in curves.values()):
        _logarithmic(ax)
    return tidy(ax)


def _size_labels(sizes: Sequence[int]) -> list[str]:
    """Label the sizes from right to left; a tick too close to its labelled neighbour gets no label."""
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


def _logarithmic(ax: "Axes") -> None:
    """Use a logarithmic scale with plain numbers, with fewer labels the more decades it spans."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log", nonpositive="clip")
    low, high = ax.get_ylim()
    decades = np.log10(high / low)
    steps = (1, 1.2, 1.5, 2, 3, 4, 5, 6, 8) if decades < 1 else (1, 2, 5) if decades < 2.5 else (1,)
    ax.yaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _loss_label(value)))
    ax.yaxis.set_minor_locator(NullLocator())
