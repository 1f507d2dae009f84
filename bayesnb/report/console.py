"""The console output of `bayesnb compare`, at most 80 columns wide, and of `bayesnb explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from bayesnb.comparison.methods import REFERENCE
from bayesnb.comparison.metrics import METRICS
from bayesnb.frames.choices import ASKED
from bayesnb.frames.classes import number_of_class
from bayesnb.frames.series import DataError, label
from bayesnb.inspection.explain import explain, has_word_terms
from bayesnb.report.formats import capitalise, plural, probability, tenths, with_error
from bayesnb.results.classifier import Posterior
from bayesnb.sklearn.estimator import NaiveBayesClassifier

Summary = Mapping[str, Any]

MOST_LISTED = 12
MOST_STRONGEST = 10
MOST_WEAKEST = 3
MOST_PARTS = 20


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


def print_explanation(classifier: NaiveBayesClassifier, row: Any, against: str | None, seed: int) -> None:
    """Print the contributions of the class prior and of each column to the log odds of the top class over another.

    The frame ``row`` has one row. The other class is ``against``, by default the second most probable one.

    Raises:
        DataError: if there is no such class, or the model's predictions are not sums over columns.
    """
    cells = row[classifier.schema_.names]
    proba = classifier.predict_proba(cells)[0]
    order = np.argsort(-proba, kind="stable")
    best = int(order[0])
    other = int(order[1]) if against is None else number_of_class(against, classifier.classes_)
    if other == best:
        raise DataError(f"'{against}' is the most probable class of this row: give another class for --against")
    key = jax.random.key(seed) if isinstance(classifier.fit_, Posterior) else None
    try:
        explanation = explain(classifier, cells, against=other, key=key)
    except ValueError as error:
        raise DataError(str(error)) from error
    first, second = (label(classifier.classes_[k]) for k in (best, other))
    console = Console(highlight=False)
    console.print(
        f"[bold]{escape(first)}[/] with probability {proba[best]:.4g}, against {escape(second)} with {proba[other]:.4g}"
    )
    table = grid_of(["column", "value"], ["nats", "90 % interval"])
    model = classifier.fit_.model
    one_part = model.single and model.families["x"].one_feature and not has_word_terms(model.families["x"])
    for part in explanation.parts(0, MOST_PARTS, of=best):
        value = ""
        if part.name in cells and not one_part:
            cell = cells[part.name].iloc[0]
            value = "missing" if cell is None or cell != cell else label(cell)
        # the contribution of the row length does not depend on the parameters, so its interval is empty
        interval = "" if np.isnan(part.low) or part.low == part.high else f"{part.low:+.2f} to {part.high:+.2f}"
        add_row(table, part.name, value, f"{part.log_odds:+.3f}", interval)
    table.add_section()
    add_row(table, f"log odds of {first}", "", f"{explanation.log_odds[0, best]:+.3f}", "")
    console.print(table)
