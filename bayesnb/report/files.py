"""Write the files of a comparison: report.html, results.csv, summary.json, and the figures of the report."""

import io
import math
import platform
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from rich.console import Console

from bayesnb.comparison.compare import METRICS, Comparison, Record
from bayesnb.comparison.diagnostics import Evidence, NutsCheck
from bayesnb.comparison.methods import RIVALS
from bayesnb.comparison.metrics import NUM_BINS
from bayesnb.files.tables.csv_cells import line
from bayesnb.files.tables.table import Table
from bayesnb.inspection.dependence import Dependence
from bayesnb.plots import confidence_shares, dependence, learning_curve, reliability
from bayesnb.report.console import parameters, print_dependence
from bayesnb.report.folder import SUMMARY, summary_text
from bayesnb.report.page import page

# the methods drawn in each figure: more lines would overlap
IN_LEARNING_CURVE = ("MLE", "MAP", "full Bayes", "tempered", "feature weights", *RIVALS)
IN_RELIABILITY = ("MLE", "full Bayes", "tempered", "feature weights", *RIVALS)
LEGEND_INCHES = 1.6  # the width of a legend entry
MOST_COLUMNS_DRAWN = 60
FILE_DPI = 150
PAGE_DPI = 110  # enough for the page's width, with small files
LONGEST_NAME = 24
PACKAGES = ("bayesnb", "jax", "numpyro", "numpy", "scikit-learn")


def write_files(
    folder: Path,
    table: Table,
    result: Comparison,
    evidence: Evidence,
    pairs: Dependence | None,
    check: NutsCheck | None,
    seed: int,
    command: str,
) -> tuple[str, ...]:
    """Write the files of a comparison and return their names; a single column has no dependence.png."""
    with (folder / "results.csv").open("w", newline="", encoding="utf-8") as handle:
        handle.write(line(field.name for field in fields(Record)))
        handle.writelines(line(asdict(record).values()) for record in result.records)
    summary = summarise(table, result, evidence, pairs, check, seed, command)
    figures = {
        "learning_curve.png": learning_figure(table, result),
        "reliability.png": reliability_figure(table, result),
    }
    if pairs is not None:
        figures["dependence.png"] = dependence_figure(table, pairs)
    for name, figure in figures.items():
        (folder / name).write_bytes(_png(figure, FILE_DPI))
    assumption = None if pairs is None else _printed(print_dependence, result, pairs)
    shown = {name: _png(figure, PAGE_DPI) for name, figure in figures.items()}
    text = page(summary, shown, parameters(table), assumption)
    (folder / "report.html").write_text(text, encoding="utf-8")
    (folder / SUMMARY).write_text(summary_text(summary, folder), encoding="utf-8")
    return "report.html", "results.csv", SUMMARY, *figures


def summarise(
    table: Table,
    result: Comparison,
    evidence: Evidence,
    pairs: Dependence | None,
    check: NutsCheck | None,
    seed: int,
    command: str,
) -> dict[str, Any]:
    """Everything needed to judge and to repeat the comparison, as plain values for JSON."""
    return {
        "data": {
            "name": table.name,
            "target": table.target,
            "rows": len(table.y),
            "rows_without_target": table.num_unlabelled,
            "classes": dict(
                zip(table.classes, np.bincount(table.y, minlength=len(table.classes)).tolist(), strict=True)
            ),
            "columns": [
                {"name": c.name, "kind": c.kind, "values": c.describe(), "missing": c.missing} for c in table.columns
            ],
            "left_out": dict(table.left_out),
            "warnings": list(table.warnings),
        },
        "splits": {"sizes": list(result.sizes), "repeats": result.repeats, "test_rows": result.num_test, "seed": seed},
        "priors": dict(result.priors),
        "table": [_row(result, size, method) for size in result.sizes for method in result.methods],
        "evidence": {**asdict(evidence), "columns": [column._asdict() for column in evidence.columns]},
        "strongest_pairs": [] if pairs is None else [pair._asdict() for pair in pairs.strongest(10)],
        "nuts": None if check is None else {key: _finite(value) for key, value in asdict(check).items()},
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "command": command,
    }


def learning_figure(table: Table, result: Comparison) -> Figure:
    """Draw log loss and accuracy against the training size, side by side."""
    figure = _figure(9.0, 4.2)
    axes = figure.subplots(1, 2)
    panels = (("log_loss", "log loss (nats)", True), ("accuracy", "accuracy", False))
    for ax, (metric, ylabel, log_scale) in zip(axes, panels, strict=True):
        curves = {
            method: tuple(np.array([result.mean(size, method, metric) for size in result.sizes]).T)
            for method in _drawn(result, IN_LEARNING_CURVE)
        }
        learning_curve(ax, result.sizes, curves, ylabel, log_scale=log_scale)
    noise = f"mean ± standard error of {result.repeats} splits" if result.repeats > 1 else "one split"
    figure.suptitle(f"{table.name}: {noise}, {result.num_test:,} test rows", fontsize=11)
    _legend(figure, axes[0], result)
    return figure


def reliability_figure(table: Table, result: Comparison) -> Figure:
    """Draw the reliability diagrams of the smallest and the largest training size."""
    sizes = sorted({result.sizes[0], result.sizes[-1]})
    figure = _figure(0.8 + 4.2 * len(sizes), 5.6)
    axes = figure.subplots(2, len(sizes), sharex=True, sharey="row", squeeze=False, height_ratios=[3, 1])
    lowest = math.floor(NUM_BINS / len(table.classes)) / NUM_BINS
    for (above, below), size in zip(axes.T, sizes, strict=True):
        bins = {method: result.bins[size, method] for method in _drawn(result, IN_RELIABILITY)}
        reliability(above, bins, lowest)
        confidence_shares(below, bins)
        above.set_title(f"{size:,} training rows", fontsize=10)
        above.label_outer()
        below.label_outer()
    figure.suptitle(f"{table.name}: calibration on the test rows, ± 2 standard errors", fontsize=11)
    _legend(figure, axes[0, 0], result)
    return figure


def dependence_figure(table: Table, pairs: Dependence) -> Figure:
    """Draw the dependence of all columns, or if there are too many, of those with the strongest pairs."""
    strongest = np.argsort(-pairs.log_bayes_factor.max(axis=1), kind="stable")[:MOST_COLUMNS_DRAWN]
    drawn = pairs.among(np.sort(strongest))
    short = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in drawn.names]
    side = max(2.5, 0.18 * len(short))
    figure = _figure(side + 2.8, side + 2.2)
    dependence(figure.subplots(), replace(drawn, names=tuple(short)))
    which = "pairs" if len(drawn.names) == len(pairs.names) else f"the {len(drawn.names)} most dependent"
    figure.suptitle(f"{table.name}: {which} of {len(pairs.names)} columns given '{table.target}'", fontsize=11)
    return figure


def _printed(function: Callable[..., None], *args: Any) -> str:
    """The console output of a function as one line of plain text."""
    lines = io.StringIO()
    function(Console(file=lines, width=100_000, color_system=None), *args)
    return " ".join(lines.getvalue().split())


def _png(figure: Figure, dpi: int) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, dpi=dpi)
    return content.getvalue()


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.05))
    FigureCanvasAgg(figure)  # needs no display, and does not touch pyplot's global state
    return figure


def _drawn(result: Comparison, names: tuple[str, ...]) -> list[str]:
    return [method for method in result.methods if method in names]


def _legend(figure: Figure, ax: Any, result: Comparison) -> None:
    handles, labels = ax.get_legend_handles_labels()
    order = [labels.index(method) for method in result.methods if method in labels]
    num_rows = math.ceil(LEGEND_INCHES * len(order) / figure.get_figwidth())
    figure.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="outside lower center",
        ncols=math.ceil(len(order) / num_rows),
        frameon=False,
    )


def _row(result: Comparison, size: int, method: str) -> dict[str, Any]:
    row: dict[str, Any] = {"size": size, "method": method, "prior": result.priors[method]}
    for metric in METRICS:
        mean, error = result.mean(size, method, metric)
        difference, paired = result.difference(size, method, metric)
        row[metric] = {
            "mean": mean,
            "standard_error": _finite(error),
            "minus_full_bayes": difference,
            "minus_full_bayes_standard_error": _finite(paired),
        }
    row["impossible_share"] = result.mean(size, method, "impossible")[0]
    row["fit_ms"] = result.median(size, method, "fit_ms")
    row["predict_ms"] = result.median(size, method, "predict_ms")
    return row


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # not installed
        return None
