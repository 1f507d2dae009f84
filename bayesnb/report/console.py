"""The console output of `bayesnb compare`, at most 80 columns wide."""

import math
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape

from bayesnb.comparison.compare import Comparison
from bayesnb.comparison.diagnostics import Evidence, NutsCheck
from bayesnb.comparison.methods import CURES, REFERENCE, bayes_model, coincide
from bayesnb.files.tables.summaries import NOTHING, ONE_VALUE
from bayesnb.files.tables.table import Table
from bayesnb.frames.columns import BLOCKS, Column
from bayesnb.inspection.dependence import STRONG, Dependence
from bayesnb.inspection.num_parameters import num_parameters
from bayesnb.report.tables import (
    bayes_factor,
    differences,
    headed_grid,
    inclusion,
    number,
    plural,
    scores,
    times,
    whole,
)

MOST_COLUMNS_LISTED = 12
LEAST_OVERCONFIDENCE = 0.01
FAMILIES = {"bernoulli": "Bernoulli", "categorical": "Categorical", "normal": "Normal"}
PRIOR_LEGEND = {
    "Laplace 1": "every count plus one (the mode under Dirichlet(2)), the classes too",
    "Dirichlet 1": "the uniform prior, integrated out exactly",
    "NIG": "normal-inverse-gamma, unit information: one pseudo-row for the mean, two for the variance",
    "learned": "the prior under which the training rows are most probable",
    "L2, C = 1": "scikit-learn's default penalty",
}
METHOD_LEGEND = {
    "averaged": "the exact average over all subsets of columns that may depend on the class",
    "tempered": "one power on all columns' likelihoods, learned on exact leave-one-out predictions",
    "feature weights": "the same with a power for each column",
    "random forest": "300 trees",
}


def print_data(console: Console, table: Table) -> None:
    """Print a summary of the data: rows, classes, and a small table of columns."""
    counts = np.bincount(table.y, minlength=len(table.classes))
    shares = [f"{name} ({count:,})" for name, count in zip(table.classes, counts.tolist(), strict=True)]
    shown = ", ".join(shares[:10]) + (f" and {len(shares) - 10} more" if len(shares) > 10 else "")
    console.print(
        f"[bold]{escape(table.name)}[/]: {len(table.y):,} rows, {plural(len(table.columns), 'feature')}, "
        f"{len(shares)} classes of [bold]{escape(table.target)}[/]: {escape(shown)}"
    )
    if table.num_unlabelled:
        console.print(f"Rows dropped because '{escape(table.target)}' is missing: {table.num_unlabelled:,}")
    silent = [(name, reason) for name, reason in table.left_out if reason not in (NOTHING, ONE_VALUE)]
    if silent:  # the others get a warning
        named = ", ".join(f"{escape(name)} ({reason})" for name, reason in silent[:MOST_COLUMNS_LISTED])
        more = len(silent) - MOST_COLUMNS_LISTED
        console.print(f"Columns left out: {named}" + (f" and {more} more" if more > 0 else ""))
    if len(table.columns) <= MOST_COLUMNS_LISTED:
        grid = headed_grid({"column": "left", "kind": "left", "values": "left", "missing": "right"})
        for column in table.columns:
            grid.add_row(escape(column.name), FAMILIES[column.kind], escape(column.describe()), f"{column.missing:,}")
    else:
        grid = headed_grid(
            {"kind": "left", "columns": "right", "values": "left", "missing": "right", "such as": "left"}
        )
        for kind, block in BLOCKS.items():
            columns = table.blocks.get(block, ())
            if columns:
                missing = sum(column.missing for column in columns)
                names = ", ".join(column.name for column in columns[:2]) + (", ..." if len(columns) > 2 else "")
                grid.add_row(FAMILIES[kind], str(len(columns)), _span(columns), f"{missing:,}", escape(names))
    console.print(grid, "")
    console.print(parameters(table), "\n", sep="")


def parameters(table: Table) -> str:
    """A sentence with the number of parameters under the naive assumption and without it."""
    count = num_parameters(bayes_model(table), table.X)
    joint = (
        "no table can hold the full joint distribution, for Normal columns take any value"
        if count.full_joint is None
        else f"a table of the full joint distribution would need {whole(count.full_joint)}"
    )
    return f"Naive Bayes has {plural(count.total, 'free parameter')}; {joint}"


def print_dependence(console: Console, result: Comparison, pairs: Dependence) -> None:
    """Print how many pairs of columns are dependent, and warn if full Bayes is over-confident because of it."""
    size = result.sizes[-1]
    gap, error = result.overconfidence(size, "full Bayes")
    strongest = pairs.strongest(1)[0]
    total = math.comb(len(pairs.names), 2)
    if strongest.log_bayes_factor <= STRONG or not (gap > LEAST_OVERCONFIDENCE and gap > 2 * error):
        strong = sum(pair.log_bayes_factor > STRONG for pair in pairs.strongest(total))
        console.print(
            f"within the classes {strong} of {plural(total, 'pair')} of columns depend on each other (dependence.png)\n"
        )
        return
    console.print(
        f"[yellow]warning:[/] do not trust the probabilities: at n = {size:,} full Bayes is on average {number(gap)} "
        f"±{number(error)} more sure than right (reliability.png). The naive assumption fails: within the classes "
        f"'{escape(strongest.first)}' and '{escape(strongest.second)}', the strongest of "
        f"{plural(total, 'pair')}, share {number(strongest.mutual_information)} nats, with a "
        f"Bayes factor of {bayes_factor(strongest.log_bayes_factor)} for dependence (dependence.png).{_cure(result)}\n"
    )


def _cure(result: Comparison) -> str:
    """A sentence that names the methods with lower calibration error."""
    size = result.sizes[-1]
    error = {method: result.mean(size, method, "ece")[0] for method in result.methods}
    better = [f"{number(error[method])} in '{method}'" for method in CURES if error.get(method, 1.0) < error[REFERENCE]]
    if not better:
        return ""
    return f" The cure: the calibration error of {number(error[REFERENCE])} falls to {' and '.join(better)}."


def print_evidence(console: Console, table: Table, evidence: Evidence) -> None:
    """Print the evidence of the priors, and the columns' probabilities of depending on the class."""
    gain = evidence.learned_prior - evidence.full_bayes
    console.print(
        f"[bold]Log evidence[/], log p(X, y), of the first split's {evidence.size:,} training rows: full Bayes "
        f"{evidence.full_bayes:,.1f}, learned prior {evidence.learned_prior:,.1f} ({gain:+,.1f})\n"
    )
    console.print(
        f"[bold]Does a column depend on '{escape(table.target)}'?[/] The posterior probability on the same rows, "
        "at odds of 1 to 1 before them"
    )
    console.print(inclusion(evidence), "")


def print_results(console: Console, table: Table, result: Comparison) -> None:
    """Print the scores, the paired differences, and the times."""
    noise = f"mean ± standard error of {result.repeats} splits" if result.repeats > 1 else "one split"
    console.print(f"[bold]Scores[/] on {plural(result.num_test, 'test row')}, {noise}; low is good, but for accuracy")
    console.print(scores(result), "")
    used = ", ".join(result.priors.values())
    meanings = {name: meaning for name, meaning in PRIOR_LEGEND.items() if name in used}
    meanings |= {method: METHOD_LEGEND[method] for method in result.methods if method in METHOD_LEGEND}
    meanings["ECE"] = "expected calibration error, 10 bins of the largest predicted probability"
    for name, meaning in meanings.items():
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
    console.print(differences(result), "")
    console.print("[bold]Milliseconds[/] to fit and to predict the test rows, once compiled; median")
    console.print(times(result), "")


def print_check(console: Console, check: NutsCheck) -> None:
    """Print how well NUTS agrees with the exact posterior."""
    console.print(
        f"[bold]NUTS check[/] at n = {check.size:,}: {check.num_chains} chains, {check.num_draws:,} draws in "
        f"{check.seconds:.1f} s; largest R-hat {check.max_r_hat:.4g}, smallest effective sample size "
        f"{check.min_ess:,.0f}, {check.num_divergences} divergences; its probabilities differ from the exact ones by "
        f"{check.mean_difference:.2g} on average and at most {check.max_difference:.2g} ({check.num_rows:,} test rows)"
    )
    for warning in check.warnings:
        console.print(f"[yellow]warning:[/] {escape(warning)}")
    console.print()


def _impossible(result: Comparison) -> str:
    """A sentence that names the methods that gave true classes probability zero, and how often."""
    parts = []
    for method in result.methods:
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
