"""Times every workload, ours and the rival's in turn, and prints medians and their ratio."""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from statistics import median

import jax
import numpy as np
import sklearn
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.benchmarks.workloads import Workload, workloads


def seconds(job: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def read_seconds(num_bytes: int) -> float:
    """One read of so many bytes from memory, the floor of every fit."""
    x = np.ones(num_bytes // 8)
    return min(seconds(x.sum) for _ in range(5))


def measure(workload: Workload, rounds: int) -> tuple[float, float, float]:
    """Median seconds of the rival and of ours, warm and interleaved, and the seconds of our first call."""
    cold = seconds(workload.ours)
    workload.rival()
    pairs = [(seconds(workload.rival), seconds(workload.ours)) for _ in range(rounds)]
    rival, ours = (median(times) for times in zip(*pairs, strict=True))
    return rival, ours, cold


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--only", default="", help="workloads whose name holds this text")
    parser.add_argument("--rounds", type=int, default=7, help="rounds a workload; the median counts")
    options = parser.parse_args()

    table = Table(title="against scikit-learn, numpy in and numpy out, warm")
    table.add_column("workload")
    for heading in ("scikit-learn ms", "bayesnb ms", "ratio", "reads of X", "first call ms"):
        table.add_column(heading, justify="right")
    chosen = [w for w in workloads(options.quick) if options.only in w.name]
    for workload in track(chosen, console=Console(stderr=True), transient=True):
        rival, ours, cold = measure(workload, options.rounds)
        reads = ours / read_seconds(workload.bytes_read)
        cells = (f"{1e3 * rival:.1f}", f"{1e3 * ours:.1f}", f"{rival / ours:.1f}", f"{reads:.1f}", f"{1e3 * cold:.0f}")
        table.add_row(workload.name, *cells)
    console = Console()
    console.print(table)
    versions = f"scikit-learn {sklearn.__version__}, jax {jax.__version__}, numpy {np.__version__}"
    console.print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {versions}")


if __name__ == "__main__":
    main()
