"""A plot of what decisions cost: the cost curve of two classes (Drummond and Holte 2006)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.arrays.typing import ArrayLike, LabelsLike
from bayesnb.plots.style import class_colour, class_line, shorten, tidy
from bayesnb.results.decisions import decide

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 201
"""The number of operating conditions."""


def cost_curve(ax: Axes, proba: ArrayLike, y: LabelsLike, *, envelope: bool = True) -> Axes:
    """Draw the expected cost of the decisions of ``nb.decide`` against what the errors cost.

    To miss class 1, whose share of the rows is p, costs w; to take class 0 for it costs 1 - w:

        x = p w / (p w + (1 - p) (1 - w)),   cost(x) = x miss rate + (1 - x) false alarm rate

    The cost is a share of the largest one, where every decision is wrong. Grey lines are the decisions that look at no
    row: always 0 costs x, always 1 costs 1 - x. Faint lines are the lowest cost of any threshold, found on these rows:
    a curve far above its own comes from probabilities that are not calibrated. Drummond and Holte, Cost curves: an
    improved method for visualizing classifier performance (2006).

    Args:
        proba: p(y = k | x) of two classes, [N, 2], or a dict of them by name, such as those of several fits.
        y: The labels [N], 0 or 1, both of which must occur.
        envelope: Draw the lowest cost of any threshold.

    Raises:
        ValueError: if there are not two classes, or probabilities and labels do not fit.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> ax = nb.plots.cost_curve(Figure().subplots(), [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [0, 0, 1])
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('share of the costs that is for misses of class 1', 'expected cost, a share of the largest')
    """
    curves = proba if isinstance(proba, Mapping) else {"": proba}
    y = np.asarray(y)
    if y.ndim != 1 or {*np.unique(y).tolist()} != {0, 1}:
        raise ValueError(f"y must be labels [N], 0 and 1, both of which occur, got {np.unique(y).tolist()}")
    x = np.linspace(0.0, 1.0, POINTS)
    ax.plot(x, np.minimum(x, 1.0 - x), color="0.6", linewidth=1, zorder=0)
    for position, (name, given) in enumerate(curves.items()):
        table = np.asarray(given, float)
        if table.shape != (len(y), 2):
            raise ValueError(f"proba must be probabilities [N, 2], a row for each label, got shape {table.shape}")
        line = {**class_line(position), "marker": ""}
        ax.plot(x, _costs_of_decisions(table, y, x), label=shorten(name) or None, linewidth=1.8, **line)
        if envelope:
            ax.plot(x, _lowest(table[:, 1], y, x), color=class_colour(position), linewidth=0.8, alpha=0.6)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("share of the costs that is for misses of class 1")
    ax.set_ylabel("expected cost, a share of the largest")
    return tidy(ax)


def _costs_of_decisions(proba: Array, y: Array, x: Array) -> Array:
    """The costs of the decisions of least expected cost."""
    share = (y == 1).mean()
    miss, alarm = x / share, (1.0 - x) / (1.0 - share)
    found = np.empty(len(x))
    for place, (of_miss, of_alarm) in enumerate(zip(miss, alarm, strict=True)):
        label = decide(proba, [[0.0, of_alarm], [of_miss, 0.0]]).labels
        found[place] = np.where(y == 1, of_miss * (label == 0), of_alarm * (label == 1)).mean()
    return found


def _lowest(score: Array, y: Array, x: Array) -> Array:
    """The lowest costs of any threshold on the probability of class 1."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)  # rows of one score are on one side
    hits, alarms = (np.append(0, np.cumsum(y[order] == k)[last]) / (y == k).sum() for k in (1, 0))
    return np.array([(one * (1.0 - hits) + (1.0 - one) * alarms).min() for one in x])
