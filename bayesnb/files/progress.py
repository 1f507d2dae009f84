"""The progress of reading, shown as a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[float, int], None]
"""Called with the progress, in the unit of the total, and the number of rows read so far."""


@contextmanager
def progress(total: float | None, *, wanted: bool) -> Iterator[Advance]:
    """Show a progress bar on stderr if that is a terminal, and yield the function that advances it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, highlight=False)
    with Progress(console=console, transient=True, disable=not (wanted and console.is_terminal)) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda done, rows: bar.update(task, completed=done, description=f"{rows:,} rows")
