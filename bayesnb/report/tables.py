"""The tables that `bayesnb compare` prints, at most 80 columns wide, and their number formats."""

import math
from collections.abc import Mapping
from decimal import Decimal

from rich import box
from rich.console import JustifyMethod
from rich.markup import escape
from rich.table import Table as Grid

from bayesnb.comparison.compare import METRICS, Comparison
from bayesnb.comparison.diagnostics import Evidence, Inclusion
from bayesnb.comparison.methods import REFERENCE

HEADINGS = {"log_loss": "log loss", "brier": "Brier", "accuracy": "accuracy", "ece": "ECE"}
MOST_STRONGEST = 10
MOST_WEAKEST = 3
LONGEST_COLUMN = 40


def number(value: float, sign: str = "", digits: int | None = None) -> str:
    """Format a number in about five characters: .312, 1.23, 12.3, 178, 574k, 2M; signed if `sign` is `+`."""
    size = abs(value)
    if size >= 1e12:
        return f"{value:{sign}.0e}"
    for smallest, unit, suffix in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if size >= smallest:
            return f"{value / unit:{sign}.0f}{suffix}"
    text = f"{value:{sign}z.{_digits(value) if digits is None else digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def bayes_factor(log_value: float) -> str:
    """Format a Bayes factor of any size: 150, 2e+4, 3e+43."""
    return f"{math.exp(log_value):.0f}" if log_value < math.log(1e4) else f"{Decimal(log_value).exp():.0e}"


def with_error(mean: float, error: float, sign: str = "") -> str:
    """Format a mean and its standard error to the same decimal place; the mean alone if the error is NaN."""
    text = number(mean, sign)
    return text if math.isnan(error) else f"{text} ±{number(error, digits=_digits(mean))}"


def whole(value: int) -> str:
    """Format a whole number of any size: exact below a million, otherwise as 2.1e+30."""
    return f"{value:,}" if value < 1_000_000 else f"{Decimal(value):.1e}"


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: 1 row, 2,000 rows."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def headed_grid(columns: Mapping[str, JustifyMethod]) -> Grid:
    """An empty table with these headings, each column aligned as given."""
    grid = empty_grid()
    for heading, justify in columns.items():
        grid.add_column(heading, justify=justify)
    return grid


def empty_grid() -> Grid:
    """An empty table without columns."""
    return Grid(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False, show_edge=False, header_style="bold")


def scores(result: Comparison) -> Grid:
    """A table of the mean and standard error of every metric, with a section for each training size."""
    grid = empty_grid()
    grid.add_column("method", no_wrap=True)
    grid.add_column("prior")
    _add_metrics(grid)
    for size in result.sizes:
        grid.add_row(f"[bold]n = {size:,}[/]")
        for method in result.methods:
            cells = [with_error(*result.mean(size, method, metric)) for metric in METRICS]
            style = "bold" if method == REFERENCE else ""
            grid.add_row(method, result.priors[method], *cells, style=style, end_section=method == result.methods[-1])
    return grid


def differences(result: Comparison) -> Grid:
    """A table of the differences in score between each method and full Bayes."""
    grid = empty_grid()
    grid.add_column("method", no_wrap=True)
    _add_metrics(grid)
    others = [method for method in result.methods if method != REFERENCE]
    for size in result.sizes:
        grid.add_row(f"[bold]n = {size:,}[/]")
        for method in others:
            cells = [with_error(*result.difference(size, method, metric), sign="+") for metric in METRICS]
            grid.add_row(method, *cells, end_section=method == others[-1])
    return grid


def times(result: Comparison) -> Grid:
    """A table of median milliseconds to fit and to predict, at the smallest and the largest training size."""
    grid = empty_grid()
    grid.add_column("method", no_wrap=True)
    sizes = sorted({result.sizes[0], result.sizes[-1]})
    for size in sizes:
        grid.add_column(f"n = {size:,}\nfit", justify="right", min_width=12)
        grid.add_column("\npredict", justify="right", min_width=8)
    for method in result.methods:
        cells = [result.median(size, method, field) for size in sizes for field in ("fit_ms", "predict_ms")]
        grid.add_row(method, *(f"{ms:.1f}" for ms in cells))
    return grid


def inclusion(evidence: Evidence) -> Grid:
    """A table of columns by dependence on the class: all, or the ten strongest and the three weakest."""
    grid = empty_grid()
    grid.add_column("column", no_wrap=True, max_width=LONGEST_COLUMN)
    grid.add_column("probability", justify="right", min_width=13)
    grid.add_column("log Bayes factor", justify="right", min_width=18)
    columns, num_left = evidence.columns, len(evidence.columns) - MOST_STRONGEST - MOST_WEAKEST
    if num_left <= 0:
        _add_columns(grid, columns)
    else:
        _add_columns(grid, columns[:MOST_STRONGEST])
        grid.add_row(f"[dim]... {num_left:,} more ...[/]")
        _add_columns(grid, columns[-MOST_WEAKEST:])
    return grid


def _add_metrics(grid: Grid) -> None:
    for metric in METRICS:
        grid.add_column(HEADINGS[metric], justify="right", no_wrap=True)


def _add_columns(grid: Grid, columns: tuple[Inclusion, ...]) -> None:
    for column, probability, log_bayes_factor in columns:
        grid.add_row(escape(column), f"{probability:.3f}", f"{log_bayes_factor:,.1f}")


def _digits(value: float) -> int:
    size = abs(value)
    return 3 if size < 0.9995 else 2 if size < 9.995 else 1 if size < 99.95 else 0
