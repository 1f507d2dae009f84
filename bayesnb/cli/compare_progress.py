"""What `bayesnb compare` tells while it works: a bar in a terminal, lines in a log; and how it is stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from bayesnb.comparison.experiment import Experiment

PAUSE = 5.0
"""Seconds between the lines in a log, and the shortest time that is worth a forecast."""


SHORT_PAUSE = 1.0
"""Seconds after a line before a fit that compiles is announced."""


class Watcher:
    """Shows fits as they are done, and forecasts of the time that is left."""

    def __init__(self, show: Callable[[str], None], step: Callable[[str], None], total: int, clock: Any) -> None:
        self._show, self._step, self._total, self._clock = show, step, total, clock
        self._done, self._start = 0, clock()
        self._last, self._left, self._at = self._start, 0.0, self._start

    def prepare(self, size: int, method: str) -> None:
        """A fit that is only timed begins; compilation may make it long."""
        if self._clock() - self._last >= SHORT_PAUSE:
            self._say(f"compiling and timing the methods: {method} at n = {size:,} ...")

    def advance(self, size: int, method: str) -> None:
        """One fit is done."""
        self._done += 1
        self._step(f"n = {size:,}, {method}")
        now = self._clock()
        if now - self._last >= PAUSE:
            left = max(self._left - (now - self._at), 0.0)
            self._say(f"n = {size:,}, {method}: {self._done:,} of {self._total:,} fits; about {_words(left)} left")

    def foretell(self, seconds: float) -> None:
        """The fits to come will take so many seconds."""
        first, self._left, self._at = not self._done, seconds, self._clock()
        if first and seconds >= PAUSE:
            self._say(f"The {self._total:,} fits will take about {_words(seconds)}; Ctrl-C ends with a report")

    def _say(self, text: str) -> None:
        self._last = self._clock()
        self._show(f"{_words(self._last - self._start)}: {text}")


@contextmanager
def watch(notes: Console, experiment: Experiment, methods: tuple[str, ...]) -> Iterator[Watcher]:
    """A watcher that advances a bar in a terminal, and prints lines elsewhere; a forecast is printed in both."""
    from rich.progress import Progress

    total = len(experiment.sizes) * experiment.repeats * len(methods)
    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("fitting", total=total)

        def show(text: str) -> None:
            notes.print(text, markup=False, soft_wrap=True)

        def step(text: str) -> None:
            progress.update(task, advance=1, description=text)

        yield Watcher(show, step, total, time.monotonic)


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


def _words(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
