"""The console output of `bayesnb compare`, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from bayesnb.comparison.methods import REFERENCE
from bayesnb.comparison.metrics import METRICS
from bayesnb.frames.choices import ASKED
from bayesnb.report.formats import capitalise, plural, probability, tenths, with_error

Summary = Mapping[str, Any]

MOST_LISTED = 12
MOST_STRONGEST = 10
MOST_WEAKEST = 3


def print_data(console: Console, data: Summary) -> None:
    """Print the rows, the classes and a small table of columns; see `summarise_data`."""
    classes = _listing([f"{name} ({count:,})" for name, count in data["classes"].items()], 10)
    columns = data["columns"]
    console.print(
        f"[bold]{escape(data['name'])}[/]: {data['rows']:,} rows, {plural(len(columns), 'feature')}, "
        f"{len(data['classes'])} classes of [bold]{escape(data['target'])}[/]: {escape(classes)}"
    )
    if data["rows_without_target"]:
        _print(console, f"Rows left out because '{data['target']}' is missing: {data['rows_without_target']:,}")
    # columns left out for other reasons get a warning
    silent = [f"{name} ({why})" for name, why in data["left_out"].items() if why == ASKED]
    if silent:
        _print(console, f"Columns left out: {_listing(silent, MOST_LISTED)}")
    if len(columns) <= MOST_LISTED:
        grid = grid_of(["column", "likelihood", "values"], ["missing"])
        for column in columns:
            add_row(grid, column["name"], capitalise(column["kind"]), column["values"], f"{column['missing']:,}")
    else:
        grid = grid_of(["likelihood", "values", "such as"], ["columns", "missing"])
        for kind, about in data["kinds"].items():
            names = ", ".join([column["name"] for column in columns if column["kind"] == kind][:2])
            such_as = f"{names}, ..." if about["columns"] > 2 else names
            add_row(grid, capitalise(kind), about["values"], such_as, f"{about['columns']:,}", f"{about['missing']:,}")
    console.print(grid, "")
    _print(console, data["parameters"], "")


def print_results(console: Console, summary: Summary) -> None:
    """Print all results except the data; see `summarise`."""
    sentences = summary["sentences"]
    num_test = plural(summary["splits"]["test_rows"], "test row")
    scores, differences = _scores(summary)
    console.print(f"[bold]Scores[/] on {num_test}: {sentences['mean']}. Lower is better, except for accuracy.")
    if sentences["test_rows"]:
        _print(console, sentences["test_rows"])
    console.print(scores, "")
    meanings = (
        summary["meanings"]["methods"]
        | summary["meanings"]["priors"]
        | {METRICS[metric].heading: METRICS[metric].unit for metric in ("log_loss", "ece")}
    )
    for name, meaning in meanings.items():
        _print(console, f"{name}: {meaning}", style="dim")
    console.print()
    if sentences["equal"]:
        _print(console, sentences["equal"], "")
    _print(console, sentences["impossible"], "")
    console.print(
        f"[bold]Difference from {REFERENCE}[/] on the same splits. A positive difference is worse, except for accuracy."
    )
    console.print(differences, "")
    console.print("[bold]Milliseconds[/] to fit and to predict the test rows, without compilation (median)")
    console.print(_times(summary), "")
    _print(console, sentences["evidence"], "")
    console.print(
        f"[bold]Does a column depend on '{escape(summary['data']['target'])}'?[/] Posterior probability on the same "
        "rows, at prior odds of 1 to 1"
    )
    console.print(_inclusion(summary["evidence"]["columns"]), "")
    if sentences["overconfidence"]:
        _warn(console, sentences["overconfidence"])
        console.print()
    elif sentences["dependence"]:
        _print(console, sentences["dependence"], "")
    if sentences["nuts"]:
        console.print("[bold]NUTS check[/]")
        _print(console, sentences["nuts"])
        for warning in summary["nuts"]["warnings"]:
            _warn(console, warning)
        console.print()
    elif sentences["no_nuts"]:
        _print(console, sentences["no_nuts"], "")
    console.print("[bold]In short[/]")
    _print(console, " ".join([*(part["claim"] for part in reversed(sentences["finding"])), sentences["next"]]), "")


def _scores(summary: Summary) -> tuple[Grid, Grid]:
    """The scores of each method, and their differences from full Bayes, with a section for each training size."""
    headings = [metric.heading for metric in METRICS.values()]
    scores, differences = grid_of(["method", "prior"], headings), grid_of(["method"], headings)
    for size in summary["splits"]["sizes"]:
        for grid in (scores, differences):
            grid.add_section()
            grid.add_row(f"[bold]n = {size:,}[/]")
        for row in summary["table"]:
            if row["size"] != size:
                continue
            cells = [row[metric] for metric in METRICS]
            means = [with_error(cell["mean"], cell["standard_error"]) for cell in cells]
            pairs = [(cell["minus_full_bayes"], cell["minus_full_bayes_standard_error"]) for cell in cells]
            if row["method"] == REFERENCE:
                scores.add_row(row["method"], row["prior"], *means, style="bold")
            else:
                scores.add_row(row["method"], row["prior"], *means)
                differences.add_row(row["method"], *(with_error(mean, error, "+") for mean, error in pairs))
    return scores, differences


def _times(summary: Summary) -> Grid:
    """The times of each method at the smallest and the largest training size."""
    sizes = summary["splits"]["sizes"]
    ends = sorted({sizes[0], sizes[-1]})
    times = grid_of(["method"], [f"{job}\nn = {size:,}" for size in ends for job in ("fit", "predict")])
    for method in summary["priors"]:
        rows = [row for row in summary["table"] if row["method"] == method and row["size"] in ends]
        times.add_row(method, *(tenths(row[job]) for row in rows for job in ("fit_ms", "predict_ms")))
    return times


def grid_of(words: Sequence[str], numbers: Sequence[str]) -> Grid:
    """An empty table with columns of words, aligned left, and then of numbers, aligned right."""
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for heading in words:
        grid.add_column(heading, overflow="fold")
    for heading in numbers:
        grid.add_column(heading, justify="right", no_wrap=True)
    return grid


def add_row(grid: Grid, *cells: str) -> None:
    """Add a row of plain text."""
    grid.add_row(*map(escape, cells))


def _inclusion(columns: Sequence[Summary]) -> Grid:
    """Columns by their dependence on the class: all, or the ten strongest and the three weakest."""
    grid = grid_of(["column"], ["probability", "log Bayes factor"])
    num_left = len(columns) - MOST_STRONGEST - MOST_WEAKEST
    for place, column in enumerate(columns):
        if num_left > 0 and place == MOST_STRONGEST:
            grid.add_row(f"[dim]... {num_left:,} more ...[/]")
        if num_left <= 0 or not MOST_STRONGEST <= place < len(columns) - MOST_WEAKEST:
            add_row(grid, column["column"], probability(column["probability"]), tenths(column["log_bayes_factor"]))
    return grid


def _print(console: Console, *lines: str, style: str | None = None) -> None:
    """Print plain text without markup, which names may resemble."""
    console.print(*lines, sep="\n", style=style, markup=False)


def _warn(console: Console, text: str) -> None:
    console.print(f"[yellow]warning:[/] {escape(text)}")


def _listing(texts: Sequence[str], most: int) -> str:
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")
