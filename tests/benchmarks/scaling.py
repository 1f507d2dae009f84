"""Cost against size: to fit is to take O(N K D) at most, and to predict a row O(K D).

N, K and D grow in turn while the others rest; the exponent is the slope of log seconds on log size, by least squares.
Seconds are the processor's, of all threads together: on a shared machine the clock's would measure the neighbours.
With integer labels a fit reads each cell once whatever the number of classes, so its exponent in K is near 0.
Exponents below 1 elsewhere say that overhead still counts at the smaller sizes.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from rich.table import Table

import bayesnb as nb
from tests.benchmarks.workloads import normal

MODEL = nb.NaiveBayes(nb.Normal())
REST = {"N": 20_000, "K": 10, "D": 200}
STEPS = (0.5, 1, 2, 4, 8)
MEANING = {"N": "rows N", "K": "classes K", "D": "columns D"}
ENOUGH = 3.0
"""Seconds after which a job is not timed again."""

LOOKS = {"fit": ("o", "-"), "predict, MLE": ("s", "--"), "predict, exact": ("^", ":")}


class Curve(NamedTuple):
    """Processor seconds of one job where one size grows."""

    grows: str
    job: str
    sizes: list[int]
    seconds: list[float]

    @property
    def exponent(self) -> float:
        """The slope of log seconds on log size."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])


def report(quick: bool, rounds: int, out: Path) -> Table:
    """Every curve with its exponent as a table; the picture goes to ``out``. ``quick`` has a tenth of the rows."""
    rest = {**REST, "N": REST["N"] // (10 if quick else 1)}
    grown = {name: [{**rest, name: int(step * rest[name])} for step in STEPS] for name in rest}
    waiting = track([size for sizes in grown.values() for size in sizes], console=Console(stderr=True), transient=True)
    taken = {tuple(size.values()): _seconds(size, rounds) for size in waiting}
    curves = [
        Curve(name, job, [size[name] for size in sizes], [taken[tuple(size.values())][job] for size in sizes])
        for name, sizes in grown.items()
        for job in LOOKS
    ]
    _draw(curves, rest).savefig(out, dpi=120)
    return _table(curves, rest)


def _seconds(size: dict[str, int], rounds: int) -> dict[str, float]:
    """The shortest time of each job, warm: what disturbs a measurement only adds to it."""
    X, y = normal(size["N"], size["D"], size["K"])
    mle, exact = nb.fit_mle(MODEL, X, y), nb.fit_posterior(MODEL, X, y)
    jobs: list[Callable[[], object]] = [
        lambda: nb.fit_mle(MODEL, X, y),
        lambda: mle.predict_log_proba(X),
        lambda: exact.predict_log_proba(X),
    ]
    return {name: _shortest(job, rounds) for name, job in zip(LOOKS, jobs, strict=True)}


def _shortest(job: Callable[[], object], rounds: int) -> float:
    job()
    times: list[float] = []
    while not times or (len(times) < rounds and sum(times) < ENOUGH):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def _table(curves: list[Curve], rest: dict[str, int]) -> Table:
    fixed = ", ".join(f"{name} = {value:,}" for name, value in rest.items())
    table = Table(title=f"Normal features, processor milliseconds where one size grows; the others rest at {fixed}")
    for heading in ("grows", "job"):
        table.add_column(heading)
    for heading in (*(f"x {step:g}" for step in STEPS), "exponent"):
        table.add_column(heading, justify="right")
    for curve in curves:
        times = (f"{1e3 * seconds:.1f}" for seconds in curve.seconds)
        table.add_row(MEANING[curve.grows], curve.job, *times, f"{curve.exponent:.2f}")
    return table


def _draw(curves: list[Curve], rest: dict[str, int]) -> Figure:
    """A panel for each size that grows, on log axes; beside each curve a grey line of slope 1 from where it starts."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    for ax, name in zip(figure.subplots(1, len(rest), sharey=True), rest, strict=True):
        for curve in (c for c in curves if c.grows == name):
            marker, line = LOOKS[curve.job]
            straight = [curve.seconds[0] * size / curve.sizes[0] for size in curve.sizes]
            ax.plot(curve.sizes, straight, color="lightgrey", zorder=0)
            label = f"{curve.job}: exponent {curve.exponent:.2f}"
            ax.plot(curve.sizes, curve.seconds, marker=marker, linestyle=line, color="black", label=label)
        others = ", ".join(f"{other} = {value:,}" for other, value in rest.items() if other != name)
        ax.set(xscale="log", yscale="log", xlabel=MEANING[name], title=others)
        ax.set_xticks(curve.sizes, [f"{size:,}" for size in curve.sizes])
        ax.minorticks_off()
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)
    figure.axes[0].set_ylabel("processor seconds")
    return figure
