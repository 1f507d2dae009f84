"""The command `bayesnb compare`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli.options import override_option, seed_option, sentences, target_option

if TYPE_CHECKING:
    from rich.console import Console

    from bayesnb.comparison.compare import Comparison
    from bayesnb.comparison.diagnostics import NutsCheck
    from bayesnb.files.tables.table import Table


class Sizes(click.ParamType):
    """The parameter type of whole numbers separated by commas."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `20,50,100`."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(part) for part in value.split(",") if part.strip()) or self.fail(
                "no size is given", param, ctx
            )
        except ValueError:
            self.fail(f"'{value}' is not a list of whole numbers such as 20,50,100", param, ctx)


@click.command()
@click.argument("data")
@target_option
@click.option(
    "--sizes", type=Sizes(), metavar="N,N,...", help="Training sizes.  [default: 20,50,100,200,500,... and all]"
)
@click.option("--repeats", type=click.IntRange(min=1), default=20, show_default=True, help="How many random splits.")
@override_option("bernoulli", "categorical", "normal")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Where to write.  [default: bayesnb-report/NAME]"
)
@seed_option
@click.option("--nuts/--no-nuts", default=True, show_default=True, help="Check the exact posterior with one NUTS run.")
@click.option("--rivals", is_flag=True, help="Add scikit-learn's logistic regression and random forest.")
@sentences
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
    """Compare MLE, MAP, full Bayes and what builds on it on DATA at growing training sizes.

    Rows: the plug-ins MLE and MAP, the exact posterior (full Bayes), its prior learned by evidence, its average over
    subsets of columns, and its predictions tempered by one power or a weight for each column.

    DATA is a CSV file with a header line (missing cells: empty, NA, nan or ?), a Parquet file, or one of iris, wine,
    breast_cancer, digits. Columns with two values become Bernoulli; text, and whole numbers with at most 10 values,
    Categorical; other numbers Normal.

    DIR may hold the files of an earlier comparison, which are replaced; other files of the same names are refused.

    \b
    Examples:
      bayesnb compare breast_cancer
      bayesnb compare penguins.csv --target species --as year=categorical
      bayesnb compare patients.csv --target outcome --sizes 20,50,100 --no-nuts
      bayesnb compare wine --rivals
    """
    _compare(data, target, sizes, repeats, dict(overrides), out, seed, nuts, rivals)


def _compare(
    data: str,
    target: str | None,
    sizes: tuple[int, ...] | None,
    repeats: int,
    overrides: dict[str, str],
    out: Path | None,
    seed: int,
    nuts: bool,
    rivals: bool,
) -> None:
    from rich.console import Console
    from rich.padding import Padding

    from bayesnb.files.tables.reading import BUILT_IN, read
    from bayesnb.files.tables.table import make_table

    screen, notes = Console(highlight=False), Console(stderr=True, highlight=False)
    source = read(data)
    table = make_table(source, target, overrides)

    from bayesnb.comparison.compare import choose_sizes
    from bayesnb.comparison.diagnostics import dependent_columns, weigh_evidence
    from bayesnb.comparison.methods import METHODS, RIVALS
    from bayesnb.report import console, files
    from bayesnb.report.folder import staged

    chosen = choose_sizes(table, sizes)
    out = Path("bayesnb-report") / table.name if out is None else out
    with staged(out, *([] if data in BUILT_IN else [Path(data)])) as folder:
        if target is None and data not in BUILT_IN:
            screen.print(f"No --target is given: the last column, '{table.target}', is taken", markup=False)
        console.print_data(screen, table)
        _warn(notes, table.warnings)
        methods = METHODS + RIVALS if rivals else METHODS
        result, check = _run(notes, table, chosen, repeats, seed, methods, nuts)
        console.print_results(screen, table, result)
        evidence = weigh_evidence(table, chosen[-1], seed)
        console.print_evidence(screen, table, evidence)
        pairs = dependent_columns(table, chosen[-1], seed)
        if pairs is not None:
            console.print_dependence(screen, result, pairs)
        if check is not None:
            console.print_check(screen, check)
        names = files.write_files(folder, table, result, evidence, pairs, check, seed, _command_line())
    screen.print("Written to", out, style="bold", soft_wrap=True, markup=False)
    screen.print(Padding(", ".join(names), (0, 0, 0, 2), expand=False))


def _run(
    notes: Console,
    table: Table,
    sizes: tuple[int, ...],
    repeats: int,
    seed: int,
    methods: tuple[str, ...],
    nuts: bool,
) -> tuple[Comparison, NutsCheck | None]:
    """Run the comparison and the check, with progress on stderr."""
    from rich.progress import Progress

    from bayesnb.comparison.compare import compare
    from bayesnb.comparison.diagnostics import check_with_nuts

    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("fitting", total=len(sizes) * repeats * len(methods))

        def advance(size: int, method: str) -> None:
            progress.update(task, advance=1, description=f"n = {size:,}, {method}")

        result = compare(table, sizes, repeats, seed, advance, methods)
    if not nuts:
        return result, None
    notes.print(f"Sampling with NUTS at n = {sizes[-1]:,}, to check the exact posterior ...")
    return result, check_with_nuts(table, sizes[-1], seed, progress_bar=notes.is_terminal)


def _warn(notes: Console, warnings: Iterable[str]) -> None:
    for warning in warnings:
        notes.print("warning:", warning, style="yellow", markup=False)


def _command_line() -> str:
    return shlex.join(["bayesnb", *sys.argv[1:]])
