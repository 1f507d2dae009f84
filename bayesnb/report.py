"""What `bayesnb compare` prints, as rich tables that fit 80 columns."""

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from bayesnb.compare import METRICS, Comparison, NutsCheck
from bayesnb.dependence import STRONG, Dependence
from bayesnb.methods import METHODS, bayes_model, coincide
from bayesnb.num_parameters import num_parameters
from bayesnb.tables import BLOCKS, NOTHING, ONE_VALUE, Column, Table

HEADINGS = {"log_loss": "log loss", "brier": "Brier", "accuracy": "accuracy", "ece": "ECE"}
MOST_COLUMNS_LISTED = 12
LEAST_OVERCONFIDENCE = 0.01
FAMILIES = {"bernoulli": "Bernoulli", "categorical": "Categorical", "normal": "Normal"}
LEGEND = {
    "Laplace 1": "every count plus one (the mode under Dirichlet(2)), the classes too",
    "Dirichlet 1": "the uniform prior, integrated out exactly",
    "ECE": "expected calibration error, 10 bins of the largest predicted probability",
    "NIG": "normal-inverse-gamma, unit information: one pseudo-row for the mean, two for the variance",
}


def number(value: float, sign: str = "", digits: int | None = None) -> str:
    """Write a number in about five characters: .312, 1.23, 12.3, 178, 574k, 2M; with its sign where `sign` is `+`."""
    size = abs(value)
    if size >= 1e12:
        return f"{value:{sign}.0e}"
    for smallest, unit, suffix in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if size >= smallest:
            return f"{value / unit:{sign}.0f}{suffix}"
    text = f"{value:{sign}z.{_digits(value) if digits is None else digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def bayes_factor(log_value: float) -> str:
    """Write a Bayes factor of any size: 150, 2e+4, 3e+43."""
    return f"{math.exp(log_value):.0f}" if log_value < math.log(1e4) else f"{Decimal(log_value).exp():.0e}"


def with_error(mean: float, error: float, sign: str = "") -> str:
    """Write a mean and its standard error to the same decimal place; the mean alone where there is no error."""
    text = number(mean, sign)
    return text if math.isnan(error) else f"{text} ±{number(error, digits=_digits(mean))}"


def whole(value: int) -> str:
    """Write a whole number of any size: exactly below a million, else 2.1e+30."""
    return f"{value:,}" if value < 1_000_000 else f"{Decimal(value):.1e}"


def print_data(console: Console, table: Table) -> None:
    """Print what the data are: rows, classes, and a small table of columns."""
    counts = np.bincount(table.y, minlength=len(table.classes))
    shares = [f"{name} ({count:,})" for name, count in zip(table.classes, counts.tolist(), strict=True)]
    shown = ", ".join(shares[:10]) + (f" and {len(shares) - 10} more" if len(shares) > 10 else "")
    console.print(
        f"[bold]{escape(table.name)}[/]: {len(table.y):,} rows, {_plural(len(table.columns), 'feature')}, "
        f"{len(shares)} classes of [bold]{escape(table.target)}[/]: {escape(shown)}"
    )
    if table.num_unlabelled:
        console.print(f"Rows dropped because '{escape(table.target)}' is missing: {table.num_unlabelled:,}")
    silent = [(name, reason) for name, reason in table.left_out if reason not in (NOTHING, ONE_VALUE)]
    if silent:  # the rest have a warning
        named = ", ".join(f"{escape(name)} ({reason})" for name, reason in silent[:MOST_COLUMNS_LISTED])
        more = len(silent) - MOST_COLUMNS_LISTED
        console.print(f"Columns left out: {named}" + (f" and {more} more" if more > 0 else ""))
    grid = _grid()
    if len(table.columns) <= MOST_COLUMNS_LISTED:
        for heading, justify in (("column", "left"), ("kind", "left"), ("values", "left"), ("missing", "right")):
            grid.add_column(heading, justify=justify)  # type: ignore[arg-type]
        for column in table.columns:
            grid.add_row(escape(column.name), FAMILIES[column.kind], escape(column.describe()), f"{column.missing:,}")
    else:
        for heading, justify in (
            ("kind", "left"),
            ("columns", "right"),
            ("values", "left"),
            ("missing", "right"),
            ("such as", "left"),
        ):
            grid.add_column(heading, justify=justify)  # type: ignore[arg-type]
        for kind, block in BLOCKS.items():
            columns = table.blocks.get(block, ())
            if columns:
                missing = sum(column.missing for column in columns)
                names = ", ".join(column.name for column in columns[:2]) + (", ..." if len(columns) > 2 else "")
                grid.add_row(FAMILIES[kind], str(len(columns)), _span(columns), f"{missing:,}", escape(names))
    console.print(grid)
    console.print(parameters(table), "\n", sep="")


def parameters(table: Table) -> str:
    """Say how many parameters the naive assumption leaves to learn."""
    count = num_parameters(bayes_model(table), table.X)
    joint = (
        "no table can hold the full joint distribution, for Normal columns take any value"
        if count.full_joint is None
        else f"a table of the full joint distribution would need {whole(count.full_joint)}"
    )
    return f"Naive Bayes has {_plural(count.total, 'free parameter')}; {joint}"


def print_dependence(console: Console, result: Comparison, pairs: Dependence) -> None:
    """Say how many columns depend on each other, and warn where full Bayes is over-confident for it."""
    size = result.sizes[-1]
    gap, error = result.overconfidence(size, "full Bayes")
    strongest = pairs.strongest(1)[0]
    total = math.comb(len(pairs.names), 2)
    if strongest.log_bayes_factor <= STRONG or not (gap > LEAST_OVERCONFIDENCE and gap > 2 * error):
        strong = sum(pair.log_bayes_factor > STRONG for pair in pairs.strongest(total))
        console.print(
            f"within the classes {strong} of {_plural(total, 'pair')} of columns depend on each other "
            "(dependence.png)\n"
        )
        return
    console.print(
        f"[yellow]warning:[/] do not trust the probabilities: at n = {size:,} full Bayes is on average {number(gap)} "
        f"±{number(error)} more sure than right (reliability.png). The naive assumption fails: within the classes "
        f"'{escape(strongest.first)}' and '{escape(strongest.second)}', the strongest of "
        f"{_plural(total, 'pair')}, share {number(strongest.mutual_information)} nats, with a "
        f"Bayes factor of {bayes_factor(strongest.log_bayes_factor)} for dependence (dependence.png).\n"
    )


def print_results(console: Console, table: Table, result: Comparison) -> None:
    """Print the scores, the paired differences, and the times."""
    noise = f"mean ± standard error of {result.repeats} splits" if result.repeats > 1 else "one split"
    console.print(f"[bold]Scores[/] on {_plural(result.num_test, 'test row')}, {noise}; low is good, but for accuracy")
    console.print(_scores(result))
    used = ", ".join(result.priors.values())
    for name, meaning in LEGEND.items():
        if name in used or name == "ECE":
            console.print(f"[dim]{name}: {meaning}[/]")
    console.print()
    if coincide(table):
        console.print(
            "Every column is counted (Bernoulli or Categorical), so MAP with Laplace 1 and full Bayes coincide: "
            "the exact predictive under Dirichlet(1) is the Laplace-1 estimate.\n"
        )
    console.print(_impossible(result), "\n", sep="")
    console.print(
        "[bold]Difference from full Bayes[/], paired: the same splits; + is more than full Bayes, "
        "which for all but accuracy is worse"
    )
    console.print(_differences(result))
    console.print("[bold]Milliseconds[/] to fit and to predict the test rows, once compiled; median")
    console.print(_times(result))


def print_check(console: Console, check: NutsCheck) -> None:
    """Print how NUTS agreed with the exact posterior."""
    console.print(
        f"[bold]NUTS check[/] at n = {check.size:,}: {check.num_chains} chains, {check.num_draws:,} draws in "
        f"{check.seconds:.1f} s; largest R-hat {check.max_r_hat:.4g}, smallest effective sample size "
        f"{check.min_ess:,.0f}, {check.num_divergences} divergences; its probabilities differ from the exact ones by "
        f"{check.mean_difference:.2g} on average and at most {check.max_difference:.2g} ({check.num_rows:,} test rows)"
    )
    for warning in check.warnings:
        console.print(f"[yellow]warning:[/] {escape(warning)}")
    console.print()


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _digits(value: float) -> int:
    size = abs(value)
    return 3 if size < 0.9995 else 2 if size < 9.995 else 1 if size < 99.95 else 0


def _grid() -> Grid:
    return Grid(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False, header_style="bold")


def _scores(result: Comparison) -> Grid:
    grid = _grid()
    grid.add_column("n", justify="right")
    grid.add_column("method", no_wrap=True)
    grid.add_column("prior")
    for metric in METRICS:
        grid.add_column(HEADINGS[metric], justify="right", no_wrap=True)
    for size in result.sizes:
        for method in METHODS:
            cells = [with_error(*result.mean(size, method, metric)) for metric in METRICS]
            grid.add_row(
                str(size), method, result.priors[method], *cells,
                style="bold" if method == "full Bayes" else "", end_section=method == METHODS[-1],
            )  # fmt: skip
    return grid


def _differences(result: Comparison) -> Grid:
    grid = _grid()
    grid.add_column("n", justify="right")
    grid.add_column("method", no_wrap=True)
    for metric in METRICS:
        grid.add_column(HEADINGS[metric], justify="right", no_wrap=True)
    for size in result.sizes:
        for method in METHODS[:-1]:
            cells = [with_error(*result.difference(size, method, metric), sign="+") for metric in METRICS]
            grid.add_row(str(size), method, *cells, end_section=method == METHODS[-2])
    return grid


def _times(result: Comparison) -> Grid:
    grid = _grid()
    grid.add_column("n", justify="right")
    for method in METHODS:
        grid.add_column(f"{method}\nfit", justify="right")
        grid.add_column("\npredict", justify="right")
    for size in result.sizes:
        times = [result.median(size, method, field) for method in METHODS for field in ("fit_ms", "predict_ms")]
        grid.add_row(str(size), *(f"{ms:.1f}" for ms in times))
    return grid


def _impossible(result: Comparison) -> str:
    """Say which methods called the class of some rows impossible, and how often."""
    parts = []
    for method in METHODS:
        shares = {size: result.mean(size, method, "impossible")[0] for size in result.sizes}
        some = [f"{100 * share:.2g} % at n = {size}" for size, share in shares.items() if share > 0]
        if some:
            parts.append(f"{method} {', '.join(some)}")
    if not parts:
        return "No test row's own class got probability zero."
    return f"Test rows whose own class got probability zero (each counts 87.3 in the log loss): {'; '.join(parts)}"


def _span(columns: Sequence[Column]) -> str:
    if columns[0].kind == "normal":
        low = min(column.span[0] for column in columns if column.span)
        high = max(column.span[1] for column in columns if column.span)
        return f"{low:g} to {high:g}"
    if columns[0].kind == "bernoulli":
        return "two values"
    counts = [len(column.values) for column in columns]
    return f"{min(counts)} to {max(counts)} categories"
