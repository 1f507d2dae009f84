"""A comparison as one self-contained HTML page, with styles, script and figures inside."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from rich.cells import cell_len, set_cell_size

from bayesnb.comparison.methods import REFERENCE
from bayesnb.comparison.metrics import METRICS
from bayesnb.report.figures import PAGE_DPI
from bayesnb.report.formats import capitalise, number, plural, probability, tenths, with_error
from bayesnb.report.summary import rank

LONGEST_TARGET = 17  # the number of letters with room in the plate diagram
CSS_DPI = 96
PNG_WIDTH = slice(16, 20)  # the bytes of a PNG file that hold its width

TOGETHER = {"kind": "one feature", "values": "", "missing": 0}
"""About columns that are one feature together."""

Summary = Mapping[str, Any]


def render_page(summary: Summary, figures: Mapping[str, bytes]) -> str:
    """A summary as HTML; ``figures`` are PNG files by name."""
    environment = Environment(
        loader=PackageLoader("bayesnb.report"),
        autoescape=True,  # names of columns, classes and files come from the user
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    formats = (number, plural, probability, tenths, capitalise, with_error)
    environment.filters |= {format.__name__: format for format in formats}
    environment.filters |= {"breakable": _breakable, "short": _short}
    sizes = summary["splits"]["sizes"]
    scores = {metric: _scores(summary, metric) for metric in METRICS}
    ends = sorted({sizes[0], sizes[-1]})
    about = {column["name"]: column for column in summary["data"]["columns"]}
    return environment.get_template("page.html.jinja").render(
        **summary,
        figures={name: _figure(content) for name, content in figures.items()},
        reference=REFERENCE,
        metrics=METRICS,
        scores=scores,
        ranking=sorted(summary["priors"], key=lambda method: rank(method, scores["log_loss"][method][-1]["mean"])),
        ends=ends,
        times={method: [row for row in _rows(summary, method) if row["size"] in ends] for method in summary["priors"]},
        columns=[about.get(column["column"], TOGETHER) | column for column in summary["evidence"]["columns"]],
        warning=summary["sentences"]["overconfidence"],
        notes=_notes(summary),
    )


def _rows(summary: Summary, method: str) -> list[dict[str, Any]]:
    """The rows of a method, in order of the training sizes."""
    return [row for row in summary["table"] if row["method"] == method]


def _scores(summary: Summary, metric: str) -> dict[str, list[dict[str, Any]]]:
    """A metric as a table, with a row for each method and a cell for each training size."""
    best = max if METRICS[metric].higher_is_better else min
    cells = {method: [row[metric] for row in _rows(summary, method)] for method in summary["priors"]}
    tops = [best(cell["mean"] for cell in column) for column in zip(*cells.values(), strict=True)]
    return {
        method: [cell | {"best": round(cell["mean"] - top, 6) == 0} for cell, top in zip(row, tops, strict=True)]
        for method, row in cells.items()
    }


def _notes(summary: Summary) -> list[str]:
    """The warnings about the data and the check with NUTS, each of them once; not that the comparison was stopped."""
    nuts = summary["nuts"]
    found = [*summary["data"]["warnings"], *(nuts["warnings"] if nuts else ())]
    return [text for text in dict.fromkeys(found) if text != summary["sentences"]["stopped"]]


def _figure(content: bytes) -> dict[str, Any]:
    """A PNG file in base64, and its width on the page in CSS pixels."""
    width = int.from_bytes(content[PNG_WIDTH]) * CSS_DPI // PAGE_DPI
    return {"content": base64.b64encode(content).decode(), "width": width}


def _breakable(name: str) -> Markup:
    """A long name that may break only after underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


def _short(name: str) -> str:
    return name if cell_len(name) <= LONGEST_TARGET else set_cell_size(name, LONGEST_TARGET - 1).rstrip() + "…"
