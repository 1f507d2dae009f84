"""Times every workload, ours and the rival's in turn, and prints medians and their ratio; or cost against size.

Compile time against the number of classes, and against the number of rows, have options of their own.
"""

import argparse
import math
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import jax
import numpy as np
import pandas as pd
import scipy
import sklearn
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.benchmarks import (
    classes,
    estimators,
    forests,
    full_bayes,
    histograms,
    layouts,
    others,
    row_counts,
    scaling,
    serving,
    speed,
    streams,
)
from tests.benchmarks.workloads import Jobs, contests

SETTLE = 0.1
"""Seconds before each timing: BLAS's threads keep a core busy for some time after the call that they were for."""

SHORT = 0.1
"""Seconds of a timing at least; what takes less is called several times in a row."""


def seconds(job: Callable[[], object], calls: int = 1) -> float:
    """Wall time of a call, the mean of some in a row."""
    time.sleep(SETTLE)
    start = time.perf_counter()
    for _ in range(calls):
        job()
    return (time.perf_counter() - start) / calls


def read_seconds(num_bytes: int) -> float:
    """One read of so many bytes from memory, the floor of every fit."""
    x = np.ones(num_bytes // 8)
    return min(seconds(x.sum) for _ in range(5))


def measure(jobs: Jobs, rounds: int) -> tuple[float, float, float]:
    """Median seconds of the rival and of ours, warm and interleaved, and the seconds of our first call.

    A rival with a single round is not warmed up: that would double minutes. Without a rival its seconds are NaN.
    """
    cold = seconds(jobs.ours)
    rival = jobs.rival or (lambda: None)
    turns = (rival, jobs.ours)
    calls = [_calls(job) if rounds > 1 else 1 for job in turns]
    pairs = [[seconds(*turn) for turn in zip(turns, calls, strict=True)] for _ in range(rounds)]
    theirs, ours = (median(times) for times in zip(*pairs, strict=True))
    return theirs if jobs.rival else math.nan, ours, cold


def _calls(job: Callable[[], object]) -> int:
    """How many calls fill a timing: one alone, after a rest, takes several times as long as those in a row."""
    few = math.ceil(SHORT / seconds(job))
    return math.ceil(SHORT / seconds(job, few)) if few > 1 else 1


def compare(quick: bool, only: str, rounds: int) -> pd.DataFrame:
    """A row for each workload whose name matches ``only``; times in milliseconds."""
    every = [w for contest in contests(quick) for w in contest.workloads()]
    every += [
        *speed.workloads(quick),
        *estimators.workloads(quick),
        *full_bayes.workloads(quick),
        *forests.workloads(quick),
        *histograms.workloads(quick),
        *others.workloads(quick),
        *layouts.workloads(quick),
        *serving.workloads(quick),
        *streams.workloads(quick),
    ]
    rows = []
    for workload in track([w for w in every if re.search(only, w.name)], console=Console(stderr=True), transient=True):
        jobs = workload.prepare()
        rival, ours, cold = measure(jobs, min(rounds, workload.most_rounds or rounds))
        rows.append(
            {
                "workload": workload.name,
                "N x D x K": workload.size,
                "rival": workload.rival,
                "rival ms": 1e3 * rival,
                "bayesnb ms": 1e3 * ours,
                "ratio": rival / ours,
                "goal": workload.goal,
                "reads of X": ours / read_seconds(jobs.bytes_read),
                "first call ms": 1e3 * cold,
            }
        )
    return pd.DataFrame(rows)


def table_of(figures: pd.DataFrame) -> Table:
    """The figures for a reader."""
    table = Table(title="numpy in and numpy out, warm")
    for name in figures:
        table.add_column(name, justify="right" if name.endswith(("ms", "ratio", "goal", "X")) else "left")
    for row in figures.itertuples(index=False):
        table.add_row(*(_text(cell) for cell in row))
    return table


def markdown(figures: pd.DataFrame) -> str:
    """The figures as a table of a page."""
    sides = ("---:" if figures[name].dtype == float else "---" for name in figures)
    rows = (map(_text, row) for row in figures.itertuples(index=False))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (figures.columns, sides, *rows))


def _text(cell: str | float) -> str:
    if isinstance(cell, str):
        return cell
    return "" if math.isnan(cell) else f"{cell:.3g}" if cell < 10 else f"{cell:,.0f}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--only", default="", help="workloads whose name matches this regular expression")
    parser.add_argument("--rounds", type=int, default=7, help="rounds a workload; the median counts")
    parser.add_argument("--out", type=Path, metavar="OUT", help="write the figures there too, CSV or (.md) Markdown")
    parser.add_argument("--scaling", type=Path, metavar="OUT.png", help="time ours at growing sizes instead, and draw")
    parser.add_argument("--classes", action="store_true", help="time compilation at few and many classes instead")
    parser.add_argument("--row-counts", action="store_true", help="count compilations at many numbers of rows instead")
    options = parser.parse_args()

    console = Console()
    if not console.is_terminal:
        console.width = 140  # a file has no edge
    if options.scaling:
        console.print(scaling.report(options.quick, options.rounds, options.scaling))
    elif options.classes:
        console.print(classes.report(options.only, options.rounds))
    elif options.row_counts:
        console.print(row_counts.report(options.only, options.rounds))
    else:
        figures = compare(options.quick, options.only, options.rounds)
        console.print(table_of(figures))
        if options.out:
            write = markdown if options.out.suffix == ".md" else pd.DataFrame.to_csv
            options.out.write_text(write(figures), encoding="utf-8")
    versions = f"scikit-learn {sklearn.__version__}, scipy {scipy.__version__}, jax {jax.__version__}"
    machine = f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    console.print(f"{machine}, {versions}, numpy {np.__version__}")


if __name__ == "__main__":
    main()
