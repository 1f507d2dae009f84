"""How far long work has come: a progress bar on a terminal, and messages of the logger `bayesnb`, which has no handler.

``logging.basicConfig(level="INFO")`` shows them: the rows so far, their rate, and what is read again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from bayesnb.compute.arrays import _limits as limits

Advance = Callable[[float, int], None]
"""Called with the progress, in the unit of the total, and the number of rows read so far."""

logger = logging.getLogger("bayesnb")


@contextmanager
def progress(
    work: str, total: float | None, *, wanted: bool, unit: str = "rows", remaining: Callable[[], str] | None = None
) -> Iterator[Advance]:
    """Show a progress bar on stderr if that is a terminal, log the progress, and yield the function that advances both.

    Args:
        work: What is done, such as `counting 'clicks.csv'`.
        total: The last value of the progress; None if it is unknown.
        wanted: Whether to show a progress bar.
        unit: What is counted instead of rows.
        remaining: Says what is left, in place of the time by the rate so far.
    """
    begun = last = told = time.monotonic()
    rows, left = 0, ""

    def say(how: str) -> None:
        passed = max(time.monotonic() - begun, 1e-9)
        logger.info(f"{work}: {rows:,} {unit} in {passed:.1f} s, {rows / passed:,.0f} {unit}/s{how}")

    def advance(done: float, now: int) -> None:
        nonlocal rows, last, told, left
        rows = now
        if remaining and not bar.disable and time.monotonic() - told >= 1.0:  # it may take as long as a row
            told, left = time.monotonic(), remaining()
        bar.set_description_str(f"{rows:,} {unit}{left}", refresh=False)
        bar.update(done - bar.n)
        if time.monotonic() - last >= limits.LOG_SECONDS:
            last = time.monotonic()
            say(f", {done / total:.0%}" if total and done else "")  # a stream has no end yet

    form = "{desc} {bar}{percentage:4.0f}%" + ("" if remaining else " {remaining}") if total else "{desc} {elapsed}"
    how = {"miniters": 0, "leave": False, "bar_format": form, "disable": None if wanted else True}
    with tqdm(desc=work, total=total, **how) as bar:
        try:
            yield advance
        except BaseException:
            say("; stopped")
            raise
        finally:
            bar.refresh()
        say("; done")
