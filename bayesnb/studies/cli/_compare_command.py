"""The command `bayesnb compare`."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.cli._options import (
    Whole,
    override_option,
    reading_options,
    report_errors,
    seed_option,
    target_option,
)

if TYPE_CHECKING:
    from rich.console import Console

    from bayesnb.studies.comparison._journal import Journal
    from bayesnb.studies.comparison._run import Plan
    from bayesnb.studies.comparison._scored_cells import Place
    from bayesnb.studies.comparison._telling import Tell
    from bayesnb.studies.report._summary import Findings


def parse_parts(given: str) -> tuple[str, ...]:
    """Parse names such as `MLE,full Bayes`."""
    return tuple(part.strip() for part in given.split(",") if part.strip())


def parse_sizes(given: str) -> tuple[int, ...]:
    """Parse numbers such as `20,50,100`."""
    try:
        return tuple(map(int, parse_parts(given)))
    except ValueError as error:
        raise click.BadParameter(f"'{given}' is not a list of whole numbers such as 20,50,100") from error


def refuse_program(_: Any, option: click.Parameter, given: str | None) -> None:
    """Say what does the work of an option that has left."""
    if given is not None:
        raise click.UsageError(
            f"{option.opts[0]} has left compare: 'bayesnb experiment DATA --model FILE' scores a program beside other "
            "methods, and nb.experiment fits all methods to the model that nb.from_numpyro makes of it"
        )


@click.command()
@click.argument("data")
@target_option
@click.option(
    "--sizes", type=parse_sizes, metavar="N,N,...",
    help="Training sizes.  [default: 20,50,100,200,500,...,10000,100000,... and all]",
)  # fmt: skip
@click.option(
    "--repeats", type=Whole(min=1), metavar="N",
    help="Number of random splits.  [default: 20; for more than 50,000 rows fewer, at least 3]",
)  # fmt: skip
@click.option(
    "--test-rows", type=Whole(min=1), default=limits.MOST_SCORED, show_default=True, metavar="N",
    help="The most rows to score in each split, of the 30 % that are held out.",
)  # fmt: skip
@click.option(
    "--methods", type=parse_parts, metavar="NAME,NAME,...",
    help="Methods, by the names in the output, such as 'MLE,full Bayes,tempered'.  [default: all but the rivals]",
)  # fmt: skip
@override_option("bernoulli", "categorical", "normal")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Output folder.  [default: bayesnb-report/NAME]"
)
@seed_option
@click.option(
    "--nuts/--no-nuts", default=None,
    help="Check the exact posterior with one NUTS run.  [default: if there are 4 fits or more for each free parameter]",
)  # fmt: skip
@click.option("--model", hidden=True, expose_value=False, callback=refuse_program)
@click.option("--model-arg", hidden=True, expose_value=False, callback=refuse_program)
@click.option(
    "--robustness", is_flag=True,
    help="Of a table of categories, say how many rows more, of any content, would change decisions of full Bayes; with "
    "determinacy, u65 and u80.",
)  # fmt: skip
@click.option("--rivals", is_flag=True, help="Add scikit-learn's logistic regression and random forest.")
@reading_options
@report_errors
def compare(
    data: str,
    target: str | None,
    sizes: tuple[int, ...] | None,
    repeats: int | None,
    test_rows: int,
    methods: tuple[str, ...] | None,
    overrides: tuple[tuple[str, str], ...],
    out: Path | None,
    seed: int,
    nuts: bool | None,
    robustness: bool,
    rivals: bool,
    reading: Any,
) -> None:
    """Compare MLE, MAP, full Bayes and its extensions on DATA at growing training sizes.

    The methods are the plug-in estimates MLE and MAP; the exact posterior (full Bayes); full Bayes with a prior learned
    from the rows; its average over subsets of columns; its predictions tempered by one power, or by one for each
    column; and the default of NaiveBayesClassifier, which sees numbers in three ways, learns a power of each, flags
    missing cells where that helps, and averages with models in which columns depend on each other.

    DATA is a CSV file with a header line (missing cells: empty, NA, nan, ? and more), a Parquet file, or one of iris,
    wine, breast_cancer, digits. Zeros and ones become Bernoulli; text, and whole numbers with at most 10 values that
    occur three times on average, Categorical; other numbers Normal. Columns that differ in every row, such as names and
    row numbers, dates, and columns with one value are left out.

    It is `bayesnb experiment` for one table, with a longer report. Every cell is kept in DIR as soon as it has run.
    Ctrl-C, or a signal to terminate, ends the comparison with a report of the splits that are complete, and the same
    command goes on. DIR must be new, empty, or of an earlier comparison of this table.

    \b
    Examples:
      bayesnb compare breast_cancer
      bayesnb compare penguins.csv --target species --as year=categorical
      bayesnb compare patients.csv --target outcome --sizes 20,50,100 --no-nuts
      bayesnb compare wine --rivals
    """
    from bayesnb.studies.comparison._asked import check_folder, check_sizes
    from bayesnb.studies.comparison._methods import NAIVE_BAYES, RIVALS, check_methods
    from bayesnb.tables.files.sources._places import BUILT_IN, require_column, require_data
    from bayesnb.tables.frames._values import READING

    require_data(data)
    declared = READING.declare(reading)
    if target is not None:
        require_column(data, target, declared.sep)
    check_sizes(sizes)
    if out is not None:
        check_folder(out)
    chosen = (NAIVE_BAYES if methods is None else methods) + tuple(name for name in RIVALS if rivals)
    check_methods(chosen)
    import numpy as np
    from rich.padding import Padding

    from bayesnb.compute.arrays._user_warnings import warn
    from bayesnb.tables.files._description import describe, read_table
    from bayesnb.tables.files.sources._paths import open_data
    from bayesnb.tables.frames._inferred import in_compare

    screen, notes = console(), console(stderr=True)
    say_reading(notes, data)
    table = read_table(describe(open_data(data, declared), target, dict(overrides), how=in_compare))

    from bayesnb.core.results._pseudo_rows import require_categories
    from bayesnb.studies.comparison._data_sets import DataSet
    from bayesnb.studies.comparison._designs import default_repeats
    from bayesnb.studies.comparison._metrics import METRICS
    from bayesnb.studies.report._comparison import plan_comparison
    from bayesnb.studies.report._console import print_data, print_results
    from bayesnb.studies.report._page import write_report
    from bayesnb.studies.report._run_study import open_study
    from bayesnb.studies.report._summary import summarise, summarise_data

    repeats = default_repeats(len(table.y)) if repeats is None else repeats
    rows = DataSet(table.name, table, None, table.X, np.arange(len(table.y)), seed=seed)
    if robustness:
        require_categories(rows.bayes)
    plan = plan_comparison(rows, sizes, repeats, chosen, test_rows)
    out = Path("bayesnb-report") / table.name if out is None else out
    try:
        with ends_like_ctrl_c(), open_study(plan, [*METRICS], out) as journal:
            if target is None and data not in BUILT_IN:
                screen.print(f"No --target is given, so the last column, '{table.target}', is the target", markup=False)
            print_data(screen, summarise_data(rows))
            for warning in table.warnings:
                warn(warning)
            findings = _find(notes, plan, journal, nuts, robust=robustness)
            with finishes_first(notes):
                summary = summarise(findings, shlex.join(["bayesnb", *sys.argv[1:]]))
                written = write_report(out, findings, summary)
        print_results(screen, summary)
    except KeyboardInterrupt:
        goes_on(notes, out)
    screen.print("Written to", out, style="bold", soft_wrap=True, markup=False)
    screen.print(Padding(", ".join(written), (0, 0, 0, 2), expand=False))
    if findings.result.stopped is not None:
        notes.print(f"bayesnb: {summary['sentences']['stopped']}", markup=False, soft_wrap=True)
        sys.exit(130 if findings.result.stopped == "interrupted" else 2)


def say_reading(notes: Console, data: str) -> None:
    """Say that a file is read, if that takes more than a second."""
    if Path(data).is_file() and Path(data).stat().st_size > limits.LARGE_FILE_BYTES:
        notes.print(f"Reading {data} ...", markup=False)


def _find(notes: Console, plan: Plan, journal: Journal, nuts: bool | None, *, robust: bool) -> Findings:
    """All results of the comparison, or of the splits before it was stopped."""
    from bayesnb.studies.comparison import _first_split as first_split
    from bayesnb.studies.comparison._telling import telling
    from bayesnb.studies.report._comparison import compare
    from bayesnb.studies.report._summary import Findings

    due = [place for place, key in plan.keys.items() if key not in journal]
    with telling(due, len(plan.keys)) as tell:
        result = compare(plan, journal, _tell_first_numbers(tell, due, notes, plan, journal))
    data, split = result.data, result.first
    with finishes_first(notes):
        if result.stopped is not None:
            planned = len(plan.sets[data.name][1].nested)
            notes.print(f"Stopping: writing a report of {result.repeats} of {planned} splits ...")
        evidence = first_split.compute_evidence(data, split)
        pairs = first_split.dependent_columns(data, split)
        robustness = first_split.say_robustness(data, split) if robust else None
    skipped, check = None, None
    if result.stopped is not None and nuts is not False:
        skipped = "There is no check with NUTS, because the comparison was stopped."
    elif nuts is None:
        skipped = first_split.too_long_for_nuts(data, len(result.study.keys))
    if skipped is None and nuts is not False:
        notes.print(f"Sampling with NUTS at n = {len(split.train):,} to check the exact posterior ...")
        try:
            check = first_split.check_with_nuts(data, split, progress_bar=notes.is_terminal)
        except KeyboardInterrupt:  # the comparison itself is complete
            skipped = "The check with NUTS was interrupted."
        else:
            check = check if nuts else replace(check, warnings=())  # they are for those who asked for the check
    return Findings(result, evidence, pairs, check, skipped, robustness)


def _tell_first_numbers(tell: Tell, due: Sequence[Place], notes: Console, plan: Plan, journal: Journal) -> Tell:
    """Also print the numbers of the first split as soon as all its cells have run."""
    from tqdm import tqdm

    left = sum(place.split == 0 for place in due)

    def call(place: Place, seconds: float) -> None:
        nonlocal left
        tell(place, seconds)
        left -= place.split == 0
        if place.split == 0 and not left:
            with tqdm.external_write_mode(sys.stderr):  # above the progress bar
                notes.print(_first_numbers(plan, journal), markup=False, soft_wrap=True)

    return call


def _first_numbers(plan: Plan, journal: Journal) -> str:
    """The log loss of each method on the first split, which is known long before the others are."""
    first = {place: key for place, key in plan.keys.items() if place.split == 0}
    size = max(place.size for place in first)
    losses = {place.method: journal[key].values["log_loss"] for place, key in first.items() if place.size == size}
    found = ", ".join(f"{method} {loss:.3f}" for method, loss in losses.items())
    return f"The first split, log loss at n = {size:,}: {found}"


def goes_on(notes: Console, out: Path) -> NoReturn:
    """End a command that was stopped."""
    notes.print(f"\nbayesnb: stopped; the same command goes on with the cells in '{out}'", markup=False, soft_wrap=True)
    sys.exit(130)


def ends_like_ctrl_c() -> AbstractContextManager[None]:
    """A signal to terminate, as batch systems and `timeout` send it, raises KeyboardInterrupt."""
    return _handled(signal.default_int_handler, [signal.SIGTERM])


def finishes_first(notes: Console) -> AbstractContextManager[None]:
    """The first Ctrl-C or signal to terminate says that the report is being written; the second gives it up."""

    def note(number: int, _: Any) -> None:
        signal.signal(number, signal.default_int_handler)
        notes.print("The report is being written; Ctrl-C once more gives it up")

    both = signal.SIGINT, signal.SIGTERM
    return _handled(note, [number for number in both if signal.getsignal(number) is signal.default_int_handler])


@contextmanager
def _handled(handler: Callable[..., Any], numbers: Sequence[int]) -> Iterator[None]:
    """These signals are handled so, where they can be: in the main thread."""
    held = numbers if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, handler) for number in held}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def console(*, stderr: bool = False) -> Console:
    """A console that falls silent where nobody reads it any more, as Ctrl-C ends the other programs of a pipe too."""
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())  # what Python still holds goes there

    return Patient(stderr=stderr, highlight=False)
