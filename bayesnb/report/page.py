"""Write a comparison as one self-contained HTML page, with styles, script and figures inside."""

import base64
from collections import Counter
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from bayesnb.comparison.compare import METRICS
from bayesnb.comparison.methods import REFERENCE
from bayesnb.inspection.dependence import STRONG
from bayesnb.report.console import FAMILIES, METHOD_LEGEND, PRIOR_LEGEND
from bayesnb.report.plate_diagram import plate_diagram
from bayesnb.report.tables import HEADINGS, bayes_factor, number, plural

UNITS = {
    "log_loss": "nats a test row; low is good",
    "brier": "squared errors of the probabilities, summed over classes; low is good",
    "accuracy": "share of test rows predicted right; high is good",
    "ece": "expected calibration error, 10 bins of the largest predicted probability; low is good",
}
MEANINGS = {
    "MLE": "the parameters under which the training rows are most probable",
    "MAP": "the most probable parameters given the training rows",
    "full Bayes": "the average over all parameters under the exact posterior",
    "learned prior": "full Bayes under the prior under which the training rows are most probable",
    "logistic regression": "scikit-learn's, categories one-hot and numbers standardised",
} | METHOD_LEGEND
PARAMETERS = {"bernoulli": "θ", "categorical": "θ", "normal": "μ, σ²"}
LARGEST_FIXED = 1000.0  # three decimals are useless above it


def page(summary: Mapping[str, Any], figures: Mapping[str, bytes], parameters: str, assumption: str | None) -> str:
    """Return a comparison as HTML.

    Args:
        summary: The result of `bayesnb.report.files.summarise`.
        figures: The content of PNG files, by name.
        parameters: A sentence with the number of parameters.
        assumption: A sentence about the naive assumption, beginning with `warning:` if it fails; None for a single
            column.
    """
    environment = Environment(
        loader=PackageLoader("bayesnb.report"),
        autoescape=True,  # names of columns, classes and files come from the user
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"fixed": _fixed, "minus": _minus, "plural": plural, "breakable": _breakable}
    environment.globals["bayes_factor"] = bayes_factor
    data, sizes, priors = summary["data"], summary["splits"]["sizes"], summary["priors"]
    counts = Counter(column["kind"] for column in data["columns"])
    kinds = {kind: counts[kind] for kind in FAMILIES if counts[kind]}
    drawn = {FAMILIES[kind]: (plural(count, "column"), PARAMETERS[kind]) for kind, count in kinds.items()}
    return environment.get_template("page.html.jinja").render(
        **summary,
        diagram=plate_diagram(data["target"], data["rows"], len(data["classes"]), drawn),
        figures={name: base64.b64encode(content).decode() for name, content in figures.items()},
        parameters=parameters,
        assumption=assumption,
        families=FAMILIES,
        kinds=kinds,
        prior_legend={name: text for name, text in PRIOR_LEGEND.items() if name in ", ".join(priors.values())},
        meanings=MEANINGS,
        reference=REFERENCE,
        strong=STRONG,
        scores=[_scores(summary, metric) for metric in METRICS],
        impossible=_by_size(summary, "impossible_share"),
        ends=sorted({sizes[0], sizes[-1]}),
        winners={size: _winner(summary, size) for size in sizes},
        rows_of={(row["size"], row["method"]): row for row in summary["table"]},
    )


def _scores(summary: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """A metric as a table, with a row for each method and a cell for each training size."""
    values = _by_size(summary, metric)
    best = max if metric == "accuracy" else min
    bests = [best(cells[i]["mean"] for cells in values.values()) for i in range(len(summary["splits"]["sizes"]))]
    rows = {
        method: [
            cell | {"best": cell["mean"] == top, "verdict": _verdict(metric, cell)}
            for cell, top in zip(cells, bests, strict=True)
        ]
        for method, cells in values.items()
    }
    return {"metric": metric, "heading": HEADINGS[metric], "unit": UNITS[metric], "rows": rows}


def _winner(summary: Mapping[str, Any], size: int) -> dict[str, Any]:
    return min((row for row in summary["table"] if row["size"] == size), key=lambda row: row["log_loss"]["mean"])


def _by_size(summary: Mapping[str, Any], field: str) -> dict[str, list[Any]]:
    """For each method, a field of its rows, in order of training size."""
    return {method: [row[field] for row in summary["table"] if row["method"] == method] for method in summary["priors"]}


def _verdict(metric: str, cell: Mapping[str, float | None]) -> str:
    """`better` or `worse` than full Bayes if the paired difference exceeds two standard errors, otherwise empty."""
    difference, error = cell["minus_full_bayes"], cell["minus_full_bayes_standard_error"]
    if difference is None or error is None or abs(difference) <= 2 * error:
        return ""
    return "better" if (difference > 0) == (metric == "accuracy") else "worse"


def _fixed(value: float, sign: str = "") -> str:
    """Format a number with three decimals, so that columns align; large numbers as on the console."""
    text = f"{value:{sign}z,.3f}" if abs(value) < LARGEST_FIXED else number(value, sign)
    return _minus(text)


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _breakable(name: str) -> Markup:
    """Allow line breaks in a long name only after underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))
