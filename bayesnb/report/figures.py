"""The figures of a comparison's report."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from bayesnb.comparison.compare import Comparison
from bayesnb.comparison.metrics import NUM_BINS
from bayesnb.inspection.dependence import Dependence
from bayesnb.plots import STYLES, confidence_shares, dependence, learning_curve, reliability
from bayesnb.report.summary import Findings

Summary = Mapping[str, Any]

LEGEND_INCHES = 1.6  # the width of a legend entry
MOST_COLUMNS_DRAWN = 40
FILE_DPI = 150
PAGE_DPI = 144  # 1.5 pixels for each of the page's 96
LONGEST_NAME = 24


def draw_figures(findings: Findings, summary: Summary) -> dict[str, Figure]:
    """The figures by file name; a single column has no dependence."""
    figures = {
        "learning_curve.png": learning_figure(summary),
        "reliability.png": reliability_figure(summary, findings.result),
    }
    if findings.pairs is not None:
        figures["dependence.png"] = dependence_figure(summary, findings.pairs)
    return figures


def png(figure: Figure, dpi: int) -> bytes:
    """The content of a PNG file."""
    content = io.BytesIO()
    figure.savefig(content, dpi=dpi)
    return content.getvalue()


def learning_figure(summary: Summary) -> Figure:
    """Log loss above accuracy, against the training size; narrow, so that the letters stay legible on a phone."""
    figure = _figure(5.2, 6.4)
    axes = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    sizes, methods = summary["splits"]["sizes"], [method for method in summary["priors"] if method in STYLES]
    panels = (("log_loss", "log loss (nats)", True), ("accuracy", "accuracy", False))
    for ax, (metric, ylabel, log_scale) in zip(axes, panels, strict=True):
        scores = {m: [row[metric] for row in summary["table"] if row["method"] == m] for m in methods}
        curves = {
            method: tuple(np.array([[s["mean"], s["standard_error"]] for s in by_size], float).T)
            for method, by_size in scores.items()
        }
        learning_curve(ax, sizes, curves, ylabel, log_scale=log_scale).label_outer()
    title = f"{summary['sentences']['mean']}, {summary['splits']['test_rows']:,} test rows"
    figure.suptitle(f"{summary['data']['name']}\n{title}", fontsize=9)
    _legend(figure, axes[0], methods)
    return figure


def reliability_figure(summary: Summary, result: Comparison) -> Figure:
    """The reliability diagrams of the smallest and the largest training size."""
    sizes = sorted({summary["splits"]["sizes"][0], summary["splits"]["sizes"][-1]})
    methods = [method for method in summary["priors"] if method in STYLES and method != "MAP"]  # one line fewer
    figure = _figure(0.8 + 4.2 * len(sizes), 5.6)
    axes = figure.subplots(2, len(sizes), sharex=True, sharey="row", squeeze=False, height_ratios=[3, 1])
    lowest = math.floor(NUM_BINS / len(summary["data"]["classes"])) / NUM_BINS
    for (above, below), size in zip(axes.T, sizes, strict=True):
        by_method = {method: [record.bins for record in result.of(size, method)] for method in methods}
        reliability(above, by_method, lowest)
        confidence_shares(below, by_method)
        above.set_title(f"{size:,} training rows", fontsize=10)
        above.label_outer()
        below.label_outer()
    figure.suptitle(f"{summary['data']['name']}: calibration on the test rows, ± 2 standard errors", fontsize=11)
    _legend(figure, axes[0, 0], methods)
    return figure


def dependence_figure(summary: Summary, pairs: Dependence) -> Figure:
    """The dependence of all columns, or if there are too many, of those with the strongest pairs."""
    strongest = np.argsort(-pairs.log_bayes_factor.max(axis=1), kind="stable")[:MOST_COLUMNS_DRAWN]
    part = pairs.among(np.sort(strongest))
    half = LONGEST_NAME // 2  # names may differ at either end
    short = [name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[1 - half :]}" for name in part.names]
    side = max(2.5, 0.18 * len(short))
    figure = _figure(side + 2.8, side + 2.2)
    dependence(figure.subplots(), replace(part, names=tuple(short)))
    which = "pairs" if len(short) == len(pairs.names) else f"the {len(short)} most dependent"
    data = summary["data"]
    figure.suptitle(f"{data['name']}: {which} of {len(pairs.names)} columns given '{data['target']}'", fontsize=11)
    return figure


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.05))
    FigureCanvasAgg(figure)  # needs no display, and leaves pyplot's global state alone
    return figure


def _legend(figure: Figure, ax: Any, methods: Iterable[str]) -> None:
    handles, labels = ax.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    num_rows = math.ceil(LEGEND_INCHES * len(by_label) / figure.get_figwidth())
    figure.legend(
        [by_label[method] for method in methods],
        list(methods),
        loc="outside lower center",
        ncols=math.ceil(len(by_label) / num_rows),
        frameon=False,
    )
