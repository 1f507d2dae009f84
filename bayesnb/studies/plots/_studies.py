"""Plots of a study: learning curves of all its sets, and its differences from a reference."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.compute.arrays._typing import Array
from bayesnb.studies.comparison._differences import ALL_SETS, difference_of
from bayesnb.studies.comparison._metrics import STUDY_METRICS
from bayesnb.studies.plots._curves import learning_curve, use_log_scale
from bayesnb.studies.plots._style import legend_below, method_lines, name_lines, shorten

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS, COLUMNS = 30, 4  # of a page of learning curves, at most
NARROW = 18  # letters of a set's name on one line beside the forest
SPARE = 0.5  # of what the means span, above and below them, at most
PANEL = 3.6  # inches, of a picture of one panel: as wide as a phone


def num_pages(study: Any) -> int:
    """How many pages the learning curves of a study fill."""
    return -(-len(study.sets) // PANELS)


def draw_curves(study: Any, metric: str = "log_loss", page: int = 1) -> Figure:
    """A learning curve of each set of a page, in a band that spans the 95 % interval by the design of each size.

    The log loss has a logarithmic scale, as some methods are far worse than the others.
    """
    sets = study.sets[(page - 1) * PANELS : page * PANELS]
    rows = -(-len(sets) // COLUMNS)
    columns = -(-len(sets) // rows)
    figure = _figure(0.6 + 3.4 * columns, 0.5 + 3.0 * rows)
    for place, data_set in enumerate(sets):
        label = STUDY_METRICS[metric].heading if place % columns == 0 else ""
        _curves(figure.add_subplot(rows, columns, place + 1), study, data_set, metric, label)
    legend_below(figure, figure.axes[0], study.methods)
    if num_pages(study) > 1:
        figure.suptitle(f"Page {page} of {num_pages(study)}, {len(study.sets)} sets", fontsize=10)
    return figure


def draw_curve(study: Any, data_set: str, metric: str) -> Figure:
    """The learning curve of one set, without a legend."""
    figure = _figure(PANEL, 2.9)
    _curves(figure.subplots(), study, data_set, metric, STUDY_METRICS[metric].heading)
    return figure


def draw_keys(methods: Sequence[str]) -> dict[str, Figure]:
    """The line of each method, as the legend of curves that are pictures of their own."""
    from matplotlib.lines import Line2D

    figures = {}
    for name, line in method_lines([*methods]).items():
        figures[name] = _figure(0.5, 0.16)
        figures[name].add_artist(Line2D([0.03, 0.5, 0.97], [0.5] * 3, linewidth=1.6, markevery=[1], **line))
    return figures


def _curves(ax: Axes, study: Any, data_set: str, metric: str, label: str) -> None:
    """The curves of all methods on one set; log losses, of which some are far off, have a logarithmic scale."""
    curves = {method: _curve(study, data_set, method, metric) for method in study.methods}
    log_scale = metric == "log_loss"
    learning_curve(ax, study.sizes(data_set), curves, label, log_scale=log_scale)
    ax.set_title(shorten(data_set), fontsize=10, loc="left")
    means = np.array([mean for mean, _ in curves.values()])
    if log_scale := log_scale and bool(np.nanmin(means, initial=np.inf) > 0):
        means = np.log(means)
    room = SPARE * (np.nanmax(means, initial=-np.inf) - np.nanmin(means, initial=np.inf))
    if room > 0:  # bands that are far wider than what the curves span are cut
        ends = np.array([np.nanmin(means) - room, np.nanmax(means) + room])
        low, high = np.exp(ends) if log_scale else ends
        ax.set_ylim(max(low, ax.get_ylim()[0]), min(high, ax.get_ylim()[1]))
        if log_scale:
            use_log_scale(ax)


def _curve(study: Any, data_set: str, method: str, metric: str) -> tuple[Array, Array]:
    """Means and half of their 95 % intervals, by size; NaN without one."""
    found = [difference_of(study, data_set, size, method, None, metric)[0] for size in study.sizes(data_set)]
    means, errors = np.array([(one.mean, one.half) for one in found]).T
    return means, errors


def draw_differences(table: pd.DataFrame, rope: float) -> Figure:
    """A forest of intervals from ``differences`` at one size: a line for each set and method, and the ROPE in grey."""
    methods, sets = ([*dict.fromkeys(table[name])] for name in ("method", "data_set"))
    rows = -(-len(methods) // COLUMNS)
    columns = -(-len(methods) // rows)
    figure = _figure(0.8 + 3.2 * columns, rows * (1.1 + 0.3 * len(sets)))
    for place, method in enumerate(methods):
        ax = figure.add_subplot(rows, columns, place + 1, sharey=figure.axes[0] if place else None)
        _forest(ax, table, method, rope)
        ax.tick_params(labelleft=place % columns == 0)
    return figure


def draw_forest(table: pd.DataFrame, method: str, rope: float) -> Figure:
    """The part of the forest that has one method."""
    figure = _figure(PANEL, 1.1 + 0.26 * table["data_set"].nunique())
    _forest(figure.subplots(), table, method, rope)
    return figure


def _forest(ax: Axes, table: pd.DataFrame, method: str, rope: float) -> None:
    """The differences of a method on each set, and over sets in a larger mark."""
    sets = [*dict.fromkeys(table["data_set"])]
    rows = table[table["method"] == method].set_index("data_set").reindex(sets)
    places = np.arange(len(sets))
    ax.axvspan(-rope, rope, color="0.9", zorder=0)
    ax.axvline(0, color="0.6", linewidth=1, zorder=0)
    marks = [46 if name == ALL_SETS else 22 for name in sets]
    ax.hlines(places, rows["low"], rows["high"], color="#0072B2", linewidth=1.4)  # may lie beside the mean of sets
    ax.scatter(rows["mean"], places, s=marks, marker="D", color="#0072B2", zorder=3)
    for place, (p_better, p_worse) in enumerate(rows[["p_better", "p_worse"]].to_numpy()):
        ax.annotate(
            f"{p_better:.2f} | {p_worse:.2f}" if np.isfinite(p_better) else "",
            (1.02, place),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            va="center",
            annotation_clip=False,
        )
    name_lines(ax, places, ["\n".join(textwrap.wrap(name, NARROW)) for name in sets])
    ax.locator_params(axis="x", nbins=4)
    metric = STUDY_METRICS[table["metric"].iloc[0]]
    better = "right" if metric.higher_is_better else "left"
    ax.set_title(f"{shorten(method)}\nP(better) | P(worse)", fontsize=9, loc="left")
    ax.set_xlabel(
        f"{metric.heading} less that of {shorten(table['reference'].iloc[0])};\n{better} is better", fontsize=8
    )


def _figure(width: float, height: float) -> Figure:
    """A figure that a notebook shows, although pyplot does not know it."""
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            self.savefig(file := BytesIO(), format="png")
            return file.getvalue()

    return Shown(figsize=(width, height), layout="constrained")
