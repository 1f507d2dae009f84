"""What is told of cells while they run: by a bar on a terminal, by lines where stderr is a file or a pipe."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.comparison._forecast import Forecast, in_words
from bayesnb.studies.comparison._scored_cells import Place
from bayesnb.tables.files._progress import progress

Tell = Callable[[Place, float], None]
"""Called after each cell with its place and its seconds."""


@contextmanager
def telling(due: Sequence[Place], planned: int, clock: Callable[[], float] = time.monotonic) -> Iterator[Tell]:
    """Tell of the cells that are due, of all that are planned; yield what is called after each.

    The lines are one at the start, one after a cell if the last is ``limits.PAUSE`` seconds old, and one at the end.
    """
    forecast, begun, done = Forecast(due), clock(), 0
    last = begun

    def say(line: str) -> None:
        if due and not sys.stderr.isatty():
            _print(line)

    def tell(place: Place, seconds: float) -> None:
        nonlocal done, last
        forecast.add(place, seconds)
        done, now = done + 1, clock()
        advance(done, done)
        if now - last >= limits.PAUSE:
            last = now
            where = f"{place.data_set}, n = {place.size:,}, {place.method}"
            say(f"{in_words(now - begun)}: {where}: {done:,} of {len(due):,} cells{forecast.words()}")

    say(f"Cells to run: {len(due):,}" + (f" of {planned:,}; the others have run before" if len(due) < planned else ""))
    with progress("running cells", len(due), wanted=True, unit="cells", remaining=forecast.words) as advance:
        try:
            yield tell
        finally:
            say(f"{in_words(clock() - begun)}: {done:,} of {len(due):,} cells have run")


def _print(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)
    except BrokenPipeError:  # nobody reads it any more: the study goes on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
