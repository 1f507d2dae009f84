"""The probable edges of a forest of dependence, between features on a circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.plots.style import AGAINST, FOR, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_WAY = 2.0 / 3.0
"""An edge has an arrowhead if its likelier direction has this share of its probability."""

APART = 0.04
"""The room between a feature and the lines at it; the circle has radius 1."""

MOST_LEVEL = 12
"""Names of so many features find room on level lines; those of more point away from the circle."""


def draw_edges(ax: Axes, edge_probs: Array, names: Sequence[str], least: float) -> Axes:
    """Draw edges of either direction with a probability of ``least`` in all, and the features that have any.

    Lines are as wide and dark as the edge is probable, dashed below even odds; features that belong together stand next
    to each other.
    """
    either = edge_probs + edge_probs.T
    shown = (either >= least).any(axis=1)
    order = _neighbours_first(either)
    order = order[shown[order]]
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / max(len(order), 1)
    place = dict(zip(order.tolist(), np.stack([np.cos(angle), np.sin(angle)], axis=1), strict=True))
    for i, j in zip(*np.nonzero(np.triu(either >= least, 1)), strict=True):
        _draw_edge(ax, place[i], place[j], edge_probs[i, j], edge_probs[j, i])
    level = len(order) <= MOST_LEVEL
    fontsize = float(np.clip(300 / max(len(order), 1), 5, 9))
    for at, feature in zip(angle, order.tolist(), strict=True):
        x, y = place[feature]
        ax.plot(x, y, marker="o", markersize=5, color="black", zorder=3)
        side = "left" if x >= -1e-9 else "right"
        turn = 0.0 if level else np.degrees(at) + (0 if side == "left" else 180)
        if level and abs(x) < 0.1:  # above or below the circle
            side = "center"
        ax.text(
            1.08 * x, (1.12 if level else 1.08) * y, shorten(names[feature]), rotation=turn, rotation_mode="anchor",
            fontsize=fontsize, ha=side, va="center",
        )  # fmt: skip
    ax.set(xlim=(-2.0, 2.0), ylim=(-1.3, 1.3) if level else (-2.0, 2.0), aspect="equal")
    ax.axis("off")
    left = len(names) - len(order)
    rest = f"; features without any: {left}" if left else ""
    ax.set_title(f"edges with probability ≥ {least:g}{rest}", fontsize=9, pad=18)
    return ax


def _draw_edge(ax: Axes, start: Array, end: Array, forward: float, backward: float) -> None:
    probability = forward + backward
    if backward > forward:
        start, end, forward = end, start, backward
    one_way, step = forward >= ONE_WAY * probability, (end - start) * APART / np.hypot(*(end - start))
    style = {
        "arrowstyle": "-|>" if one_way else "-", "linewidth": 0.5 + 2.0 * probability, "mutation_scale": 7,
        "color": FOR if probability >= 0.5 else AGAINST, "alpha": 0.3 + 0.7 * min(probability, 1.0),
        "linestyle": "-" if probability >= 0.5 else "--", "shrinkA": 0, "shrinkB": 0,
    }  # fmt: skip
    ax.annotate("", xy=tuple(end - step), xytext=tuple(start + step), arrowprops=style)


def _neighbours_first(either: Array) -> Array:
    """An order of the features in which each is followed by those that it belongs to, the likeliest first."""
    left, order = set(range(len(either))), []
    strongest = np.argsort(-either.max(axis=1, initial=0.0), kind="stable").tolist()
    while left:
        waiting = [next(feature for feature in strongest if feature in left)]
        while waiting:
            feature = waiting.pop()
            if feature in left:
                left.remove(feature)
                order.append(feature)
                nearest = np.argsort(either[feature], kind="stable")  # the last is taken first
                waiting += [other for other in nearest.tolist() if other in left and either[feature, other] >= 0.5]
    return np.array(order, int)
