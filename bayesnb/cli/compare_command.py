"""The command `bayesnb compare`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli.options import override_option, report_errors, seed_option, target_option

if TYPE_CHECKING:
    from rich.console import Console

    from bayesnb.comparison.compare import Comparison
    from bayesnb.comparison.experiment import Experiment


class Sizes(click.ParamType):
    """The parameter type of whole numbers separated by commas."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse numbers such as `20,50,100`."""
        if isinstance(value, tuple):
            return value
        try:
            sizes = tuple(int(part) for part in value.split(",") if part.strip())
        except ValueError:
            self.fail(f"'{value}' is not a list of whole numbers such as 20,50,100", param, ctx)
        return sizes or self.fail("no size is given", param, ctx)


@click.command()
@click.argument("data")
@target_option
@click.option(
    "--sizes", type=Sizes(), metavar="N,N,...", help="Training sizes.  [default: 20,50,100,200,500,... and all]"
)
@click.option("--repeats", type=click.IntRange(min=1), default=20, show_default=True, help="Number of random splits.")
@override_option("bernoulli", "categorical", "normal")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Output folder.  [default: bayesnb-report/NAME]"
)
@seed_option
@click.option("--nuts/--no-nuts", default=True, show_default=True, help="Check the exact posterior with one NUTS run.")
@click.option("--rivals", is_flag=True, help="Add scikit-learn's logistic regression and random forest.")
@report_errors
def compare(
    data: str,
    target: str | None,
    sizes: tuple[int, ...] | None,
    repeats: int,
    overrides: tuple[tuple[str, str], ...],
    out: Path | None,
    seed: int,
    nuts: bool,
    rivals: bool,
) -> None:
    """Compare MLE, MAP, full Bayes and its extensions on DATA at growing training sizes.

    The methods are the plug-in estimates MLE and MAP; the exact posterior (full Bayes); full Bayes with a prior learned
    by maximum evidence; its average over subsets of columns; and its predictions tempered by one power, or by one for
    each column.

    DATA is a CSV file with a header line (missing cells: empty, NA, nan or ?), a Parquet file, or one of iris, wine,
    breast_cancer, digits. Columns with two values become Bernoulli; text, and whole numbers with at most 10 values,
    Categorical; other numbers Normal.

    Files of an earlier comparison in DIR are replaced; other files are never overwritten.

    \b
    Examples:
      bayesnb compare breast_cancer
      bayesnb compare penguins.csv --target species --as year=categorical
      bayesnb compare patients.csv --target outcome --sizes 20,50,100 --no-nuts
      bayesnb compare wine --rivals
    """
    from rich.console import Console
    from rich.padding import Padding

    from bayesnb.files.tables.reading import BUILT_IN, read
    from bayesnb.files.tables.table import make_table

    screen, notes = Console(highlight=False), Console(stderr=True, highlight=False)
    table = make_table(read(data), target, dict(overrides))

    from bayesnb.comparison import first_split
    from bayesnb.comparison.experiment import Experiment
    from bayesnb.comparison.methods import NAIVE_BAYES, RIVALS
    from bayesnb.comparison.splits import choose_sizes
    from bayesnb.report.console import print_data, print_results
    from bayesnb.report.folder import stage, write_files
    from bayesnb.report.summary import Findings, summarise, summarise_data

    experiment = Experiment(table, choose_sizes(table, sizes), repeats, seed)
    out = Path("bayesnb-report") / table.name if out is None else out
    with stage(out, *([] if data in BUILT_IN else [Path(data)])) as folder:
        if target is None and data not in BUILT_IN:
            screen.print(f"No --target is given, so the last column, '{table.target}', is the target", markup=False)
        print_data(screen, summarise_data(experiment))
        for warning in table.warnings:
            notes.print("warning:", warning, style="yellow", markup=False)
        result = _compare(notes, experiment, NAIVE_BAYES + RIVALS if rivals else NAIVE_BAYES)
        check = None
        if nuts:
            notes.print(f"Sampling with NUTS at n = {experiment.sizes[-1]:,} to check the exact posterior ...")
            check = first_split.check_with_nuts(experiment.first, seed, progress_bar=notes.is_terminal)
        evidence = first_split.compute_evidence(experiment.first)
        pairs = first_split.dependent_columns(experiment.first)
        findings = Findings(experiment, result, evidence, pairs, check)
        summary = summarise(findings, shlex.join(["bayesnb", *sys.argv[1:]]))
        print_results(screen, summary)
        names = write_files(folder, findings, summary)
    screen.print("Written to", out, style="bold", soft_wrap=True, markup=False)
    screen.print(Padding(", ".join(names), (0, 0, 0, 2), expand=False))


def _compare(notes: Console, experiment: Experiment, methods: tuple[str, ...]) -> Comparison:
    from rich.progress import Progress

    from bayesnb.comparison.compare import compare

    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as progress:
        total = len(experiment.sizes) * experiment.repeats * len(methods)
        task = progress.add_task("fitting", total=total)

        def advance(size: int, method: str) -> None:
            progress.update(task, advance=1, description=f"n = {size:,}, {method}")

        return compare(experiment, advance, methods)
