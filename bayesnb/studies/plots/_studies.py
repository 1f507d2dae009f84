"""Plots of a study: learning curves of all its sets, and its differences from a reference."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.compute.arrays._typing import Array
from bayesnb.studies.comparison._differences import ALL_SETS, difference_of
from bayesnb.studies.comparison._metrics import STUDY_METRICS
from bayesnb.studies.plots._curves import learning_curve
from bayesnb.studies.plots._style import name_lines, shorten

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAR = 4.0  # times the worst of the others: a method that is so much worse at some size is drawn above a break
SHARE = 0.24  # of the height, above the break
PANELS, COLUMNS = 30, 4  # of a page of learning curves, at most


def num_pages(study: Any) -> int:
    """How many pages the learning curves of a study fill."""
    return -(-len(study.sets) // PANELS)


def draw_curves(study: Any, metric: str = "log_loss", page: int = 1) -> Figure:
    """A learning curve of each set of a page, with standard errors by the design of each size.

    Where a method is far worse than all others, the axis is broken, and marked: what is above has a scale of its own.
    """
    sets = study.sets[(page - 1) * PANELS : page * PANELS]
    rows = -(-len(sets) // COLUMNS)
    columns = -(-len(sets) // rows)
    figure = _figure(0.6 + 3.4 * columns, 0.5 + 3.0 * rows)
    for place, data_set in enumerate(sets):
        ax = figure.add_subplot(rows, columns, place + 1)
        curves = {method: _curve(study, data_set, method, metric) for method in study.methods}
        label = STUDY_METRICS[metric].heading if place % columns == 0 else ""
        learning_curve(ax, study.sizes(data_set), curves, label)
        ax.set_title(shorten(data_set), fontsize=10, loc="left")
        if not STUDY_METRICS[metric].higher_is_better:
            break_axis(ax, curves)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False)
    if num_pages(study) > 1:
        figure.suptitle(f"Page {page} of {num_pages(study)}, {len(study.sets)} sets", fontsize=10)
    return figure


def _curve(study: Any, data_set: str, method: str, metric: str) -> tuple[Array, Array]:
    """Means and their standard errors, by size; NaN without one."""
    found = [difference_of(study, data_set, size, method, None, metric)[0] for size in study.sizes(data_set)]
    means, errors = np.array([(one.mean, one.error) for one in found]).T
    return means, errors


def break_axis(ax: Axes, curves: Mapping[str, tuple[Array, Array]]) -> None:
    """Break the vertical axis where some method is far above all others, and mark the break at both ends."""
    worst = {name: np.nanmax(mean) for name, (mean, _) in curves.items() if np.isfinite(mean).any()}
    order = np.sort([*worst.values()])
    gaps = np.flatnonzero(order[1:] > FAR * order[:-1])
    if not len(gaps) or order[0] <= 0:
        return
    near, far = order[gaps[0]], order[-1]
    ends = [mean - np.nan_to_num(error) for mean, error in curves.values() if np.isfinite(mean).any()]
    lowest = min(np.nanmin(end) for end in ends)
    span = near - lowest or near  # one method at one size has no span
    low, limit = max(lowest - 0.08 * span, 0.0), near + 0.12 * span
    height, top = limit - low, far * 1.15
    gap, scale = 0.06 * height, SHARE / (1 - SHARE) * height / np.log(top / limit)

    def forward(y: Array) -> Array:
        y = np.asarray(y, float)
        return np.where(y <= limit, y, limit + gap + scale * np.log(np.maximum(y, limit) / limit))

    def inverse(z: Array) -> Array:
        z = np.asarray(z, float)
        return np.where(z <= limit, z, limit * np.exp(np.maximum(z - limit - gap, 0.0) / scale))

    from matplotlib.ticker import MaxNLocator

    ticks = [tick for tick in MaxNLocator(5).tick_values(low, limit) if low <= tick <= limit]
    steps = [digit * 10.0**power for power in range(-3, 6) for digit in (1, 2, 5)]
    above = [step for step in steps if limit * 1.2 < step < top]
    above = above if len(above) < 4 else above[:: -(-len(above) // 3)]
    ax.set_yscale("function", functions=(forward, inverse))
    ax.set_ylim(low, top)
    ax.set_yticks([*ticks, *above], [f"{tick:g}" for tick in (*np.round(ticks, 6), *above)])
    # a white band where the axis is broken, with a stroke at each edge of it
    edges = (np.array([limit, limit + gap]) - low) / (forward(top) - low)
    on_axes: dict[str, Any] = {"transform": ax.transAxes, "clip_on": False}
    ax.fill_between([-0.02, 1.02], *edges, color="white", linewidth=0, zorder=5, **on_axes)
    for y in edges:
        ax.plot([-0.02, 0.02], [y - 0.012, y + 0.012], color="0.3", linewidth=1, zorder=6, **on_axes)


def draw_differences(table: pd.DataFrame, rope: float) -> Figure:
    """A forest of intervals from ``differences`` at one size: a line for each set and method, and the ROPE in grey."""
    methods = [*dict.fromkeys(table["method"])]
    sets = [*dict.fromkeys(table["data_set"])]
    figure = _figure(0.8 + 3.2 * len(methods), 1.1 + 0.3 * len(sets))
    metric = STUDY_METRICS[table["metric"].iloc[0]]
    better = "right" if metric.higher_is_better else "left"
    for ax, method in zip(figure.subplots(1, len(methods), sharey=True, squeeze=False).flat, methods, strict=True):
        rows = table[table["method"] == method].set_index("data_set").reindex(sets)
        places = np.arange(len(sets))
        ax.axvspan(-rope, rope, color="0.9", zorder=0)
        ax.axvline(0, color="0.6", linewidth=1, zorder=0)
        weights = [name == ALL_SETS for name in sets]
        ax.hlines(places, rows["low"], rows["high"], color="#0072B2", linewidth=1.4)  # may lie beside the mean of sets
        ax.scatter(rows["mean"], places, s=[46 if w else 22 for w in weights], marker="D", color="#0072B2", zorder=3)
        for place, (p_better, p_worse) in enumerate(rows[["p_better", "p_worse"]].to_numpy()):
            ax.annotate(
                f"{p_better:.2f} | {p_worse:.2f}",
                (1.02, place),
                xycoords=("axes fraction", "data"),
                fontsize=7,
                va="center",
                annotation_clip=False,
            )
        name_lines(ax, places, sets)
        ax.set_title(f"{shorten(method)}\nP(better) | P(worse)", fontsize=9, loc="left")
        ax.set_xlabel(
            f"{metric.heading} less that of {shorten(table['reference'].iloc[0])};\n{better} is better", fontsize=8
        )
    return figure


def _figure(width: float, height: float) -> Figure:
    """A figure that a notebook shows, although pyplot does not know it."""
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            self.savefig(file := BytesIO(), format="png")
            return file.getvalue()

    return Shown(figsize=(width, height), layout="constrained")
