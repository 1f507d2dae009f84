"""The command `bayesnb experiment`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bayesnb.studies.cli._compare_command import (
    console,
    ends_like_ctrl_c,
    goes_on,
    parse_parts,
    parse_sizes,
    say_reading,
)
from bayesnb.studies.cli._options import Number, Whole, load_program, reading_options, report_errors, seed_option


def parse_groups(given: str) -> tuple[str, str]:
    """Parse `NAME=COLUMN`."""
    name, equals, column = given.partition("=")
    if not (name and equals and column):
        raise click.BadParameter(f"'{given}' is not NAME=COLUMN, such as visits=patient for visits.csv")
    return name, column


@click.command()
@click.argument("data", nargs=-1, required=True)
@click.option(
    "--methods", type=parse_parts, default="MLE,MAP,full Bayes,default", show_default=True, metavar="NAME,NAME,...",
    help="Methods, by their names in `bayesnb compare`.",
)  # fmt: skip
@click.option(
    "--model", "places", multiple=True, metavar="FILE[:FUNCTION]",
    help="One more method: full Bayes of the NumPyro program in this Python file, which runs; may be repeated.",
)  # fmt: skip
@click.option("--sizes", type=parse_sizes, metavar="N,N,...", help="Training sizes.  [default: 16,23,32,45,64,...]")
@click.option("--splits", type=Whole(min=1), default=30, show_default=True, help="Number of random splits.")
@click.option(
    "--metrics", type=parse_parts, default="log_loss,accuracy,brier", show_default=True, metavar="NAME,NAME,...",
    help="Some of log_loss, accuracy, brier, ece, auc; and, for tables of categories, of the classes that no other "
    "dominates determinacy, single_accuracy, set_accuracy, set_size, u65, u80. Pictures and tables show the first.",
)  # fmt: skip
@click.option(
    "--pseudo-rows", "s", type=Number(min=0), default=1.0, show_default=True,
    help="How many rows more, of any content, classes must stand to dominate others.",
)  # fmt: skip
@click.option("--reference", metavar="NAME", help="The method that others are compared with.  [default: the best]")
@click.option("--rope", type=Number(min=0), default=0.01, show_default=True, help="Equal up to so much.")
@click.option(
    "--groups", type=parse_groups, multiple=True, metavar="NAME=COLUMN",
    help="The column of the set NAME that has the group of each row, such as a patient: a group trains or tests as a "
    "whole; may be repeated.",
)  # fmt: skip
@click.option(
    "--timeout", type=Number(min=0, min_open=True), metavar="SECONDS",
    help="The time after which a fit of scikit-learn is ended, and recorded as failed.",
)  # fmt: skip
@click.option("--resplit", is_flag=True, help="Draw test rows anew in each split.")
@seed_option
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("bayesnb-report/experiment"), show_default=True,
    metavar="DIR", help="The folder of cells and report; run again, only cells that are not in it run.",
)  # fmt: skip
@reading_options
@report_errors
def experiment(
    data: tuple[str, ...],
    methods: tuple[str, ...],
    places: tuple[str, ...],
    sizes: tuple[int, ...] | None,
    splits: int,
    metrics: tuple[str, ...],
    s: float,
    reference: str | None,
    rope: float,
    groups: tuple[tuple[str, str], ...],
    timeout: float | None,
    resplit: bool,
    seed: int,
    out: Path,
    reading: Any,
) -> None:
    """Compare methods on several tables at growing training sizes, as nb.experiment does.

    DATA are CSV or Parquet files, each with its column of classes after a colon, or some of iris, wine, breast_cancer,
    digits. Every method is scored on the same splits. The report says which method is best where and whether that is
    settled, with mean scores, learning curves, and differences from one method by set and over sets, whose intervals
    allow for shared rows.

    Every cell is kept in DIR as soon as it has run: Ctrl-C, or a machine that fails, costs the cells in flight, and the
    same command goes on.

    \b
    Examples:
      bayesnb experiment iris wine breast_cancer
      bayesnb experiment adult.csv:income bank.csv:y --sizes 16,64,256 --out runs/paper
      bayesnb experiment iris --methods 'full Bayes,tempered' --metrics accuracy --reference 'full Bayes'
    """
    from bayesnb.studies.comparison._asked import check_folder, check_groups, check_metrics, check_sizes, names_of
    from bayesnb.studies.comparison._methods import COMPARED, require_method
    from bayesnb.tables.files.sources._places import BUILT_IN, require_column, require_data, split_target
    from bayesnb.tables.frames._values import READING, DataError, closest

    declared, sets = READING.declare(reading), dict(zip(names_of(data), map(split_target, data), strict=True))
    check_groups([name for name, _ in groups], [*sets])
    for name, (file, target) in sets.items():
        require_data(file)
        for column in filter(None, [target, dict(groups).get(name)]):
            require_column(file, column, declared.sep)
    check_metrics(metrics)
    check_sizes(sizes)
    check_folder(out)
    for method in methods:
        require_method(method)
    chosen = [*methods, *map(load_program, places)]
    names = [*methods, *(str(getattr(program, "__name__", "")) for program in chosen[len(methods) :])]
    if not names:
        raise DataError(f"no method is given: name some of {', '.join(COMPARED)}")
    if reference not in (None, *names):
        near = closest(str(reference), names)
        raise DataError(f"the reference '{reference}' is none of the methods {', '.join(names)}{near}")

    from bayesnb.studies.report._run_study import experiment as run
    from bayesnb.studies.report._study_page import write_study
    from bayesnb.tables.files.sources._paths import open_data

    screen, notes = console(), console(stderr=True)
    for file, target in sets.values():
        if target is None and file not in BUILT_IN:
            last = open_data(file, declared).names[-1]
            screen.print(f"'{file}' has no :COLUMN, so its last, '{last}', is the target", markup=False, soft_wrap=True)
        say_reading(notes, file)
    try:
        with ends_like_ctrl_c():
            how: Any = {"design": "resplit" if resplit else "crossed", "s": s, **reading}
            study = run([*data], chosen, sizes, splits, metrics, seed, dict(groups), timeout, out, **how)
            written = write_study(study, out, reference or "best", rope)
    except KeyboardInterrupt:
        goes_on(notes, out)
    screen.print(study.scores(metrics[0]).to_string(float_format="{:.4f}".format), markup=False, soft_wrap=True)
    failed = study.failures()["key"].nunique()
    if failed:
        screen.print(f"{failed} cells have no value: report.html says why", markup=False)
    screen.print(f"Written to {out}: {', '.join(written)}", markup=False, soft_wrap=True)
    if study.journal.broken is not None:
        raise DataError(f"cells could not be written: {study.journal.broken}; run the command again with another --out")
