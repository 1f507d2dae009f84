"""The console output of `bayesnb compare`, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.comparison._methods import REFERENCE
from bayesnb.studies.comparison._metrics import METRICS
from bayesnb.studies.report._summary import Summary, capitalise, plural, tenths, with_error
from bayesnb.tables.frames._choices import ASKED


def print_data(console: Console, data: Summary) -> None:
    """Print the rows, the classes and a small table of columns; see `summarise_data`."""
    classes = _listing([f"{name} ({count:,})" for name, count in data["classes"].items()], 10)
    columns = data["columns"]
    lines = [
        f"[bold]{escape(data['name'])}[/]: {data['rows']:,} rows, {plural(len(columns), 'feature')}, "
        f"{len(data['classes'])} classes of [bold]{escape(data['target'])}[/]: {escape(classes)}"
    ]
    if data["rows_without_target"]:
        lines.append(f"Rows left out because '{escape(data['target'])}' is missing: {data['rows_without_target']:,}")
    # columns left out for other reasons get a warning
    if silent := [f"{name} ({why})" for name, why in data["left_out"].items() if why == ASKED]:
        lines.append(f"Columns left out: {escape(_listing(silent, limits.MOST_LISTED))}")
    if len(columns) <= limits.MOST_LISTED:
        rows = [[c["name"], capitalise(c["kind"]), c["values"], f"{c['missing']:,}"] for c in columns]
        grid = _grid(["column", "likelihood", "values"], ["missing"], rows)
    else:
        rows = []
        for kind, about in data["kinds"].items():
            names = ", ".join([column["name"] for column in columns if column["kind"] == kind][:2])
            such_as = f"{names}, ..." if about["columns"] > 2 else names
            rows.append([capitalise(kind), about["values"], such_as, f"{about['columns']:,}", f"{about['missing']:,}"])
        grid = _grid(["likelihood", "values", "such as"], ["columns", "missing"], rows)
    console.print(*lines, grid, "", escape(data["parameters"]), "", sep="\n")


def print_results(console: Console, summary: Summary) -> None:
    """Print all results except the data; see `summarise`."""
    says = {name: text and escape(text) for name, text in summary["sentences"].items() if not isinstance(text, list)}
    num_test = plural(summary["splits"]["test_rows"], "test row")
    metrics, differences = _metric_grids(summary)
    units = {METRICS[metric].heading: METRICS[metric].unit for metric in ("log_loss", "ece")}
    meanings = summary["meanings"]["methods"] | summary["meanings"]["priors"] | units
    parts: list[Any] = [
        f"[bold]Metrics[/] on {num_test}: {says['mean']}. Lower is better, except for accuracy.",
        *(says[name] for name in ("intervals", "test_rows") if says[name]),
        metrics,
        "",
        *(f"[dim]{escape(name)}: {escape(meaning)}[/]" for name, meaning in meanings.items()),
        "",
        *([says["equal"], ""] if says["equal"] else []),
        says["impossible"],
        "",
        *([says["robustness"], ""] if says["robustness"] else []),
        f"[bold]Difference from {REFERENCE}[/] on the same splits. "
        "A positive difference is worse, except for accuracy. report.html has those from the best method too.",
        differences,
        "",
        "[bold]Milliseconds[/] to fit and to predict the test rows, without compilation (median)",
        _times(summary),
        "",
        says["evidence"],
        "",
        f"[bold]Does a column depend on '{escape(summary['data']['target'])}'?[/] Posterior probability on the same "
        "rows, at prior odds of 1 to 1",
        _inclusion(summary["evidence"]["columns"]),
        "",
    ]
    if says["overconfidence"]:
        parts += [f"[yellow]warning:[/] {says['overconfidence']}", ""]
    elif says["dependence"]:
        parts += [says["dependence"], ""]
    if says["nuts"]:
        warnings = [f"[yellow]warning:[/] {escape(warning)}" for warning in summary["nuts"]["warnings"]]
        parts += ["[bold]NUTS check[/]", says["nuts"], *warnings, ""]
    elif says["no_nuts"]:
        parts += [says["no_nuts"], ""]
    claims = [escape(part["claim"]) for part in reversed(summary["sentences"]["finding"])]
    console.print(*parts, "[bold]In short[/]", " ".join([*claims, says["next"]]), "", sep="\n")


def _metric_grids(summary: Summary) -> tuple[Grid, Grid]:
    """The metrics of each method, and their differences from full Bayes, with a section for each training size."""
    headings = [metric.heading for metric in METRICS.values()]
    metrics, differences = _grid(["method", "prior"], headings), _grid(["method"], headings)
    for size in summary["splits"]["sizes"]:
        for grid in (metrics, differences):
            grid.add_section()
            grid.add_row(f"[bold]n = {size:,}[/]")
        for row in (row for row in summary["table"] if row["size"] == size):
            cells = [row[metric] for metric in METRICS]
            means = [with_error(cell["mean"], cell["half_interval"]) for cell in cells]
            own = row["method"] == REFERENCE
            metrics.add_row(row["method"], row["prior"], *means, style="bold" if own else None)
            pairs = [(cell["minus_full_bayes"], cell["minus_full_bayes_half_interval"]) for cell in cells]
            if not own:
                differences.add_row(row["method"], *(with_error(mean, error, "+") for mean, error in pairs))
    return metrics, differences


def _times(summary: Summary) -> Grid:
    sizes = summary["splits"]["sizes"]
    ends = sorted({sizes[0], sizes[-1]})
    by_method = {m: [r for r in summary["table"] if r["method"] == m and r["size"] in ends] for m in summary["priors"]}
    lines = [
        [method, *(tenths(row[job]) for row in rows for job in ("fit_ms", "predict_ms"))]
        for method, rows in by_method.items()
    ]
    return _grid(["method"], [f"{job}\nn = {size:,}" for size in ends for job in ("fit", "predict")], lines)


def _inclusion(columns: Sequence[Summary]) -> Grid:
    """Columns by their dependence on the class: all, or the ten strongest and the three weakest."""
    rows = [[c["column"], f"{c['probability']:.3f}", tenths(c["log_bayes_factor"])] for c in columns]
    num_left = len(rows) - limits.MOST_STRONGEST - limits.MOST_WEAKEST
    if num_left > 0:
        rows[limits.MOST_STRONGEST : -limits.MOST_WEAKEST] = [[f"... {num_left:,} more ..."]]
    return _grid(["column"], ["probability", "log Bayes factor"], rows)


def _grid(words: Sequence[str], numbers: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> Grid:
    """A table of plain text with columns of words, aligned left, and then of numbers, aligned right."""
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for heading in words:
        grid.add_column(heading, overflow="fold")
    for heading in numbers:
        grid.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        grid.add_row(*map(escape, row))
    return grid


def _listing(texts: Sequence[str], most: int) -> str:
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")
