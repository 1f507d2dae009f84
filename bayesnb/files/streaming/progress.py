"""A progress bar on stderr, if that is a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Progress:
    """Shows the number of rows counted, and the fraction of ``total`` if that is known."""

    def __init__(self, total: float | None, *, wanted: bool) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        console = Console(stderr=True, highlight=False)
        self._bar = Bar(console=console, transient=True, disable=not (wanted and console.is_terminal))
        self._task = self._bar.add_task("reading", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, done: float, rows: int) -> None:
        """Show ``rows`` counted and ``done`` of the total."""
        self._bar.update(self._task, completed=done, description=f"{rows:,} rows")
