"""A comparison as one self-contained HTML page, with styles, script and figures inside."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from rich.cells import cell_len, set_cell_size

from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.storage._whole_file import whole_file
from bayesnb.inspection._dependence import Dependence
from bayesnb.studies.comparison._methods import REFERENCE
from bayesnb.studies.comparison._metrics import METRICS, NUM_BINS
from bayesnb.studies.plots._curves import confidence_shares, learning_curve, reliability, use_log_scale
from bayesnb.studies.plots._features import dependence
from bayesnb.studies.plots._style import COLOURS, STYLES, legend_below, name_lines
from bayesnb.studies.report._comparison import Comparison, numbers_of, rank
from bayesnb.studies.report._glossary import anchor, linked, read_words
from bayesnb.studies.report._summary import Findings, Summary, capitalise, number, plural, tenths, with_error
from bayesnb.tables.files.sources._csv import line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def write_report(folder: Path, findings: Findings, summary: Summary) -> tuple[str, ...]:
    """Write the page of a comparison, its pictures and its numbers, and return the names of the files."""
    result, figures = findings.result, draw_figures(findings, summary)
    rows = [
        {"repeat": repeat, "size": size, "method": method, **numbers_of(cell)}
        for size in result.sizes
        for method in result.methods
        for repeat, cell in enumerate(result.cells(size, method))
    ]
    texts = {
        "report.html": render_page(summary, {name: png(figure, PAGE_DPI) for name, figure in figures.items()}),
        "results.csv": "".join([line(rows[0]), *(line(row.values()) for row in rows)]),
        "summary.json": json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False) + "\n",
    }
    contents = {name: text.encode() for name, text in texts.items()}
    contents |= {name: png(figure, 150) for name, figure in figures.items()}
    for name, content in contents.items():
        with whole_file(folder / name) as handle:
            handle.write(content)
    return (*contents,)


PNG_WIDTH = slice(16, 20)  # the bytes of a PNG file that hold its width

TOGETHER = {"kind": "one feature", "values": "", "missing": 0}
"""About columns that are one feature together."""


def templates() -> Environment:
    """The templates of pages, with the formats of their numbers and names."""
    environment = Environment(
        loader=PackageLoader("bayesnb.studies.report"),
        autoescape=True,  # names of columns, classes and files come from the user
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    formats = (number, plural, tenths, capitalise, with_error)
    environment.filters |= {format.__name__: format for format in formats}
    environment.filters |= {"breakable": _breakable, "short": _short, "linked": linked, "anchor": anchor}
    return environment


def render_page(summary: Summary, figures: Mapping[str, bytes]) -> str:
    """A summary as HTML; ``figures`` are PNG files by name."""
    sizes = summary["splits"]["sizes"]
    tables = {metric: _metric_table(summary, metric) for metric in METRICS}
    ends = sorted({sizes[0], sizes[-1]})
    about = {column["name"]: column for column in summary["data"]["columns"]}
    return (
        templates()
        .get_template("page.html.jinja")
        .render(
            **summary,
            figures={name: embed(content) for name, content in figures.items()},
            reference=REFERENCE,
            references={"full_bayes": REFERENCE, "best": summary["table"][-1]["log_loss"]["best"]},
            undrawn=[method for method in summary["priors"] if method not in STYLES],
            metrics=METRICS,
            tables=tables,
            ranking=sorted(summary["priors"], key=lambda method: rank(method, tables["log_loss"][method][-1]["mean"])),
            ends=ends,
            times={
                method: [row for row in _rows(summary, method) if row["size"] in ends] for method in summary["priors"]
            },
            columns=[about.get(column["column"], TOGETHER) | column for column in summary["evidence"]["columns"]],
            warning=summary["sentences"]["overconfidence"],
            notes=_notes(summary),
            words=read_words(),
        )
    )


def _rows(summary: Summary, method: str) -> list[dict[str, Any]]:
    return [row for row in summary["table"] if row["method"] == method]


def _metric_table(summary: Summary, metric: str) -> dict[str, list[dict[str, Any]]]:
    """A metric as a table, with a row for each method and a cell for each training size."""
    best = max if METRICS[metric].higher_is_better else min
    cells = {method: [row[metric] for row in _rows(summary, method)] for method in summary["priors"]}
    tops = [best(cell["mean"] for cell in column) for column in zip(*cells.values(), strict=True)]
    return {
        method: [cell | {"bold": round(cell["mean"] - top, 6) == 0} for cell, top in zip(row, tops, strict=True)]
        for method, row in cells.items()
    }


def _notes(summary: Summary) -> list[str]:
    """The warnings about the data and the check with NUTS, each of them once; not that the comparison was stopped."""
    nuts = summary["nuts"]
    found = [*summary["data"]["warnings"], *(nuts["warnings"] if nuts else ())]
    return [text for text in dict.fromkeys(found) if text != summary["sentences"]["stopped"]]


def embed(content: bytes) -> dict[str, Any]:
    """A PNG file in base64, and its width on the page in CSS pixels."""
    width = int.from_bytes(content[PNG_WIDTH]) * 96 // PAGE_DPI
    return {"content": base64.b64encode(content).decode(), "width": width}


def _breakable(name: str) -> Markup:
    """A long name that may break only after underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


def _short(name: str) -> str:
    most = limits.TARGET_LENGTH
    return name if cell_len(name) <= most else set_cell_size(name, most - 1).rstrip() + "…"


PAGE_DPI = 144  # 1.5 pixels for each of the page's 96
FAR = 3.0  # times the upper quartile: curves and intervals that reach beyond are cut, so that the others stay apart


def draw_figures(findings: Findings, summary: Summary) -> dict[str, Figure]:
    """The figures by file name; a single column has no dependence."""
    figures = {
        "learning_curve.png": learning_figure(summary, findings.result),
        "differences.png": differences_figure(summary, findings.result),
        "reliability.png": reliability_figure(summary, findings.result),
    }
    if findings.pairs is not None:
        figures["dependence.png"] = dependence_figure(summary, findings.pairs)
    return figures


def png(figure: Figure, dpi: int) -> bytes:
    """The content of a PNG file, of 256 colours, which takes a third of the bytes."""
    from PIL import Image

    drawn, content = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=dpi)
    Image.open(drawn).convert("RGB").quantize(256).save(content, "PNG", optimize=True, dpi=(dpi, dpi))
    return content.getvalue()


def learning_figure(summary: Summary, result: Comparison) -> Figure:
    """Log loss above accuracy, against the training size; narrow, so that the letters stay legible on a phone."""
    figure = _figure(5.2, 6.4)
    axes = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    sizes, best = summary["splits"]["sizes"], result.best(result.sizes[-1])
    methods = [method for method in summary["priors"] if method in STYLES or method == best]
    banded = [*dict.fromkeys((REFERENCE, best))]  # more would hide each other
    panels = (("log_loss", "log loss (nats)", True), ("accuracy", "accuracy", False))
    for ax, (metric, ylabel, log_scale) in zip(axes, panels, strict=True):
        means = {method: np.array([result.mean(size, method, metric) for size in sizes]) for method in methods}
        curves = {m: (table[:, 0], np.where(m in banded, table[:, 1], np.nan)) for m, table in means.items()}
        learning_curve(ax, sizes, curves, ylabel, log_scale=log_scale).label_outer()
    losses = {method: [result.mean(size, method, "log_loss")[0] for size in sizes] for method in methods}
    limit = FAR * np.quantile([*losses.values()], 0.75) or np.inf
    beyond = [method for method, own in losses.items() if max(own) > limit]
    if beyond:
        axes[0].set_ylim(top=limit)
        use_log_scale(axes[0])
    mean = f"mean of {plural(result.repeats, 'split')}, {plural(summary['splits']['test_rows'], 'test row')}"
    bands = f"\nbands: 95 % interval of {' and '.join(banded)}" if result.repeats > 1 else ""
    far = f"\nlog loss beyond the picture: {', '.join(beyond)}" if beyond else ""
    figure.suptitle(f"{summary['data']['name']}: {mean}{bands}{far}", fontsize=9)
    legend_below(figure, axes[0], methods)
    return figure


def differences_figure(summary: Summary, result: Comparison) -> Figure:
    """Differences in log loss from full Bayes, and from the best, at the smallest and the largest training size."""
    sizes = sorted({result.sizes[0], result.sizes[-1]})
    methods = sorted(result.methods, key=lambda method: rank(method, result.mean(sizes[-1], method, "log_loss")[0]))
    figure = _figure(1.4 + 4.2 * len(sizes), 1.6 + 0.5 * len(methods))
    for size, column in zip(sizes, figure.subplots(2, len(sizes), squeeze=False).T, strict=True):
        for reference, ax in zip((REFERENCE, result.best(size)), column, strict=True):
            found = {m: result.difference(size, m, "log_loss", reference) for m in methods}
            _draw_intervals(ax, found, reference)
            ax.set_title(f"{size:,} training rows: log loss minus that of {reference}", fontsize=9, loc="left")
            if size != sizes[0]:
                ax.tick_params(labelleft=False)
    intervals = "; 95 % intervals, filled where 0 is outside" if result.repeats > 1 else ""
    figure.suptitle(f"{summary['data']['name']}: left of 0 is better{intervals}", fontsize=11)
    return figure


def _draw_intervals(ax: Axes, found: Mapping[str, tuple[float, float]], reference: str) -> None:
    """A line for each method, with its numbers on the right."""
    means, halves = np.array([*found.values()]).T
    lows, highs = means + np.outer([-1.0, 1.0], np.nan_to_num(halves))
    extents = np.maximum(-lows, highs)
    limit = min(FAR * np.quantile(extents, 0.75) or np.inf, extents.max()) or 1.0
    style: dict[str, Any] = {"color": COLOURS[0], "clip_on": False}
    ax.axvline(0.0, color="0.6", linewidth=1, zorder=0)
    for y, (method, (mean, half)) in enumerate(found.items()):
        clear = abs(mean) > half
        ax.hlines(y, *np.clip([lows[y], highs[y]], -limit, limit), linewidth=1.6 + clear, **style)
        marks = {"D": (mean, abs(mean) <= limit), "<": (-limit, lows[y] < -limit), ">": (limit, highs[y] > limit)}
        for marker, x in ((marker, x) for marker, (x, shown) in marks.items() if shown):
            fill = "white" if marker == "D" and not clear else COLOURS[0]
            ax.plot(x, y, marker=marker, markersize=5, markerfacecolor=fill, **style)
        text = "reference" if method == reference else with_error(mean, half, "+")
        ax.annotate(text, (1.03, y), xycoords=("axes fraction", "data"), fontsize=8, va="center", annotation_clip=False)
    ax.set_xlim(-1.05 * limit, 1.05 * limit)
    ax.locator_params(axis="x", nbins=6)
    name_lines(ax, np.arange(len(found)), [*found])


def reliability_figure(summary: Summary, result: Comparison) -> Figure:
    """The reliability diagrams of the smallest and the largest training size."""
    sizes = sorted({summary["splits"]["sizes"][0], summary["splits"]["sizes"][-1]})
    methods = [method for method in summary["priors"] if method in STYLES and method != "MAP"]  # one line fewer
    whiskers = [*dict.fromkeys((REFERENCE, result.best(sizes[-1], among=methods)))]
    figure = _figure(0.8 + 4.2 * len(sizes), 5.8)
    axes = figure.subplots(2, len(sizes), sharex=True, sharey="row", squeeze=False, height_ratios=[3, 1])
    lowest = math.floor(NUM_BINS / len(summary["data"]["classes"])) / NUM_BINS
    for (above, below), size in zip(axes.T, sizes, strict=True):
        by_method = {method: result.bins(size, method) for method in methods}
        reliability(above, by_method, lowest, whiskers)
        confidence_shares(below, by_method)
        above.set_title(f"{size:,} training rows", fontsize=10)
        above.label_outer()
        below.label_outer()
    title = f"{summary['data']['name']}: calibration on the test rows"
    figure.suptitle(f"{title}\nwhiskers: ± 2 standard errors over splits of {' and '.join(whiskers)}", fontsize=10)
    legend_below(figure, axes[0, 0], methods)
    return figure


def dependence_figure(summary: Summary, pairs: Dependence) -> Figure:
    """The dependence of all columns, or if there are too many, of those with the strongest pairs."""
    strongest = np.argsort(-pairs.log_bayes_factor.max(axis=1), kind="stable")[: limits.MOST_DRAWN]
    part = pairs.among(np.sort(strongest))
    half = limits.COLUMN_LENGTH // 2  # names may differ at either end
    short = [name if len(name) <= limits.COLUMN_LENGTH else f"{name[:half]}…{name[1 - half :]}" for name in part.names]
    side = max(2.5, 0.18 * len(short))
    figure = _figure(side + 2.8, side + 2.2)
    dependence(figure.subplots(), replace(part, names=tuple(short)))
    which = "pairs" if len(short) == len(pairs.names) else f"the {len(short)} most dependent"
    data = summary["data"]
    figure.suptitle(f"{data['name']}: {which} of {len(pairs.names)} columns given '{data['target']}'", fontsize=11)
    return figure


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure  # which looks for a folder to keep its fonts in
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.05))
