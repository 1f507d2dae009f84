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
from bayesnb.inspection.dependence import STRONG
from bayesnb.report.formats import bayes_factor, number, plural

LARGEST_FIXED = 1000.0  # three decimals are useless above it
LONGEST_TARGET = 17  # the number of letters with room in the plate diagram


def render_page(summary: Mapping[str, Any], figures: Mapping[str, bytes]) -> str:
    """A summary as HTML; ``figures`` are PNG files by name."""
    environment = Environment(
        loader=PackageLoader("bayesnb.report"),
        autoescape=True,  # names of columns, classes and files come from the user
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "fixed": _fixed, "minus": _minus, "plural": plural, "breakable": _breakable, "short": _short
    }  # fmt: skip
    sizes = summary["splits"]["sizes"]
    rows = {(row["size"], row["method"]): row for row in summary["table"]}
    return environment.get_template("page.html.jinja").render(
        **summary,
        figures={name: base64.b64encode(content).decode() for name, content in figures.items()},
        bayes_factor=bayes_factor,
        reference=REFERENCE,
        strong=STRONG,
        metrics=METRICS,
        scores={metric: _scores(summary, rows, metric) for metric in METRICS},
        ends=sorted({sizes[0], sizes[-1]}),
        rows_of=rows,
    )


def _scores(summary: Mapping[str, Any], rows: Mapping[Any, Any], metric: str) -> dict[str, list[dict[str, Any]]]:
    """A metric as a table, with a row for each method and a cell for each training size."""
    best = max if METRICS[metric].higher_is_better else min
    cells: dict[str, list[dict[str, Any]]] = {method: [] for method in summary["priors"]}
    for size in summary["splits"]["sizes"]:
        top = best(rows[size, method][metric]["mean"] for method in cells)
        for method, by_size in cells.items():
            cell = rows[size, method][metric]
            by_size.append(cell | {"best": cell["mean"] == top, "verdict": _verdict(metric, cell)})
    return cells


def _verdict(metric: str, cell: Mapping[str, float | None]) -> str:
    """`better` or `worse` than full Bayes if the paired difference exceeds two standard errors, otherwise empty."""
    difference, error = cell["minus_full_bayes"], cell["minus_full_bayes_standard_error"]
    if difference is None or error is None or abs(difference) <= 2 * error:
        return ""
    return "better" if (difference > 0) == METRICS[metric].higher_is_better else "worse"


def _fixed(value: float, sign: str = "") -> str:
    """A number with three decimals, so that columns align; large numbers as on the console."""
    return _minus(f"{value:{sign}z,.3f}" if abs(value) < LARGEST_FIXED else number(value, sign))


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _breakable(name: str) -> Markup:
    """A long name that may break only after underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


def _short(name: str) -> str:
    return name if cell_len(name) <= LONGEST_TARGET else set_cell_size(name, LONGEST_TARGET - 1).rstrip() + "…"
